"""A small post office that delivers by carrier pigeon."""
