-- Whether the database is sound.

-- name: ahead_of_clock_s
-- How far the newest time that anything was written with lies after the database's own; 0 if it does not.
SELECT max(0, coalesce(max(at_s), 0) - unixepoch('now')) AS ahead_s
FROM (SELECT max(unixepoch(timestamp)) AS at_s FROM orchestration_messages
      UNION ALL SELECT max(unixepoch(at)) FROM history
      UNION ALL SELECT max(unixepoch(last_heartbeat)) FROM orchestration_tasks);
