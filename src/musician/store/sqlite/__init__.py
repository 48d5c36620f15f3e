"""The embedded store: one SQLite file per repository, through apsw."""
