-- The subagents of clients' sessions: each belongs to the claim it was begun under, for its life (D34, D41).

-- name: begin_subagent
INSERT INTO subagents (agent_id, task_id, claim_epoch, session_id, kind)
VALUES (:agent_id, :task_id, :claim_epoch, :session_id, :kind)
ON CONFLICT (agent_id, task_id) DO UPDATE
SET claim_epoch = excluded.claim_epoch, session_id = excluded.session_id, ended_at = NULL;

-- name: end_subagent
UPDATE subagents SET ended_at = datetime('now') WHERE agent_id = :agent_id AND ended_at IS NULL;

-- name: running_subagents
SELECT agent_id, kind FROM subagents
WHERE task_id = :task_id AND claim_epoch = :claim_epoch AND ended_at IS NULL ORDER BY number;
