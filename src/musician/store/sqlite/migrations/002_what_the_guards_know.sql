-- Version 1 to 2: the answers to the first audit.
-- What the guards must know stands in the database (D40).

CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;
