-- Sessions (one row per claim) and their processes.

-- name: count_sessions
SELECT count(*) AS n FROM sessions WHERE task_id = :task_id;

-- name: session
SELECT * FROM sessions WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: own_epoch
-- The newest claim a session has made of a task.
SELECT claim_epoch FROM sessions WHERE task_id = :task_id AND session_id = :session_id
ORDER BY claim_epoch DESC LIMIT 1;

-- name: tasks_of_session
-- Every task a session has claimed, the latest claim first.
SELECT task_id FROM sessions WHERE session_id = :session_id GROUP BY task_id ORDER BY max(started_at) DESC, task_id;

-- name: sessions_of_task
SELECT * FROM sessions WHERE task_id = :task_id ORDER BY claim_epoch;

-- name: describe_session
UPDATE sessions SET agent = :agent WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: end_session
-- The reason a session ended; the first one said stays.
UPDATE sessions
SET ended_at = coalesce(ended_at, datetime('now')), exit_reason = coalesce(exit_reason, :exit_reason),
    context_pct = coalesce(:context_pct, context_pct)
WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: end_older_sessions
-- Those that did not end by themselves.
UPDATE sessions SET ended_at = datetime('now'), exit_reason = coalesce(exit_reason, :exit_reason)
WHERE task_id = :task_id AND claim_epoch < :claim_epoch AND ended_at IS NULL;

-- name: measure_context
UPDATE sessions SET context_pct = :context_pct WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: record_process
INSERT INTO processes (task_id, claim_epoch, role, pid, pgid, started_at_s, boot_id, host)
VALUES (:task_id, :claim_epoch, :role, :pid, :pgid, :started_at_s, :boot_id, :host)
ON CONFLICT (task_id, claim_epoch, role) DO UPDATE
SET pid = excluded.pid, pgid = excluded.pgid, started_at_s = excluded.started_at_s,
    boot_id = excluded.boot_id, host = excluded.host;

-- name: processes_of_task
-- The newest claim's first.
SELECT * FROM processes WHERE task_id = :task_id ORDER BY claim_epoch DESC, role;
