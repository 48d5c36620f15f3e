-- The clients that run sessions somebody opened by hand.

-- name: client
SELECT * FROM clients WHERE session_id = :session_id;

-- name: meet_client
-- Met again, it is the same session in whatever process runs it now; what ended it then has been resumed.
INSERT INTO clients (session_id, pid, pgid, started_at_s, boot_id, host, attended, hosted, transcript_path, source)
VALUES (:session_id, :pid, :pgid, :started_at_s, :boot_id, :host, :attended, :hosted, :transcript_path, :source)
ON CONFLICT (session_id) DO UPDATE
SET pid = excluded.pid, pgid = excluded.pgid, started_at_s = excluded.started_at_s, boot_id = excluded.boot_id,
    host = excluded.host, attended = excluded.attended, hosted = excluded.hosted,
    transcript_path = coalesce(excluded.transcript_path, transcript_path), source = coalesce(excluded.source, source),
    ended_at = NULL, end_reason = NULL;

-- name: end_client
UPDATE clients SET ended_at = datetime('now'), end_reason = :end_reason
WHERE session_id = :session_id AND ended_at IS NULL;

-- name: warn_client
UPDATE clients SET warned_pct = :pct WHERE session_id = :session_id;

-- name: clients_of_process
-- The sessions that a pid has run, the one that claimed last first; the caller compares the whole identity.
SELECT * FROM clients c WHERE pid = :pid AND session_id <> :but AND successor IS NULL
ORDER BY (SELECT max(place) FROM claims_in_order o WHERE o.session_id = c.session_id) DESC, session_id;

-- name: succeed_client
UPDATE clients SET successor = :successor WHERE session_id = :session_id;

-- name: add_session
-- A claim that goes on under another session id, within the process that made it.
INSERT INTO sessions (task_id, claim_epoch, session_id, number, agent, context_pct)
SELECT task_id, claim_epoch + 1, :session_id, 1 + (SELECT count(*) FROM sessions WHERE task_id = :task_id), agent, NULL
FROM sessions WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: rebind
-- The same claim under the session id its process has now; whoever names the old one is refused from here on (D2).
UPDATE orchestration_tasks
SET session_id = :successor, claim_epoch = claim_epoch + 1, worked_by = :worked_by, last_heartbeat = datetime('now')
WHERE task_id = :task_id AND session_id = :session_id AND claim_epoch = :claim_epoch AND state IN (/*ACTIVE*/);

-- name: conductor_session
SELECT session_id, since, told FROM conductor_sessions;

-- name: conduct
INSERT INTO conductor_sessions (id, session_id) VALUES (1, :session_id)
ON CONFLICT (id) DO UPDATE SET session_id = excluded.session_id, since = datetime('now');

-- name: conduct_no_more
DELETE FROM conductor_sessions WHERE session_id = :session_id;

-- name: tell_conductor
UPDATE conductor_sessions SET told = :told WHERE session_id = :session_id;
