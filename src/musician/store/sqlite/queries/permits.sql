-- What the conductor has granted of what a musician never does by itself, and how a claim has ended (D21).

-- name: grant_act
INSERT INTO grants (task_id, act, message_id) VALUES (:task_id, :act, :message_id)
ON CONFLICT (task_id, act) DO UPDATE
SET message_id = excluded.message_id, granted_at = datetime('now'), revoked_by = NULL;

-- name: revoke_act
UPDATE grants SET revoked_by = :message_id WHERE task_id = :task_id AND act = :act AND revoked_by IS NULL;

-- name: grants_of_task
SELECT act FROM grants WHERE task_id = :task_id AND revoked_by IS NULL ORDER BY act;

-- name: urgent_unacknowledged
-- What stops whatever is under way until it has been read.
SELECT m.* FROM orchestration_messages m
WHERE m.task_id = :task_id AND m.from_session = 'task-00' AND m.message_type = 'emergency'
  AND m.id NOT IN (SELECT message_id FROM settled WHERE task_id = :task_id)
  AND m.id > coalesce((SELECT max(message_id) FROM receipts
                       WHERE task_id = :task_id AND acknowledged_at IS NOT NULL), 0)
ORDER BY m.id LIMIT :most;

-- name: ended_by_owner
-- Whether a claim was ended by its own terminal write, and not taken from it.
SELECT 1 FROM history
WHERE task_id = :task_id AND claim_epoch = :claim_epoch AND to_state IN ('exited', 'complete') LIMIT 1;
