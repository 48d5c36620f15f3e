-- Clients' sessions that have not ended for good: each may go on under another id of its process (B05).
SELECT 1 FROM clients WHERE successor IS NULL AND (ended_at IS NULL OR end_reason = 'clear') LIMIT ?1;
