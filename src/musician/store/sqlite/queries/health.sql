-- Whether the database is sound.

-- name: quick_check
-- One row "ok", or a row for each fault (the first 100).
PRAGMA quick_check(100);

-- name: clock
-- The database's time, and the newest time anything was written with.
SELECT unixepoch('now') AS now_s,
       (SELECT max(unixepoch(timestamp)) FROM orchestration_messages) AS newest_message_s,
       (SELECT max(unixepoch(at)) FROM history) AS newest_change_s,
       (SELECT max(unixepoch(last_heartbeat)) FROM orchestration_tasks) AS newest_heartbeat_s;
