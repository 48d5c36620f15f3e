-- Messages and what became of them.

-- name: send
INSERT INTO orchestration_messages (task_id, from_session, message_type, message)
VALUES (:task_id, :from_session, :message_type, :message);

-- name: store_fields
INSERT INTO message_fields (message_id, fields) VALUES (:message_id, :fields);

-- name: message
SELECT * FROM orchestration_messages WHERE id = :id;

-- name: messages_of_task
-- The newest :most of a task, oldest first.
SELECT * FROM (SELECT * FROM orchestration_messages WHERE task_id = :task_id ORDER BY id DESC LIMIT :most)
ORDER BY id;

-- name: count_messages
SELECT count(*) AS n FROM orchestration_messages WHERE task_id = :task_id;

-- name: receipts_of_task
-- What has become of the newest :most messages of the conductor's to a task. Unread as in "unread"; the epoch is the
-- claim's that an order was written for (D37).
SELECT m.id AS message_id, r.delivered_at, r.acknowledged_at, r.claim_epoch AS delivered_epoch,
       m.id NOT IN (SELECT message_id FROM settled WHERE task_id = :task_id)
       AND m.id > coalesce((SELECT max(message_id) FROM receipts
                            WHERE task_id = :task_id AND acknowledged_at IS NOT NULL), 0) AS is_unread,
       o.claim_epoch AS ordered_epoch
FROM orchestration_messages m
LEFT JOIN receipts r ON r.task_id = m.task_id AND r.message_id = m.id
LEFT JOIN orders o ON o.message_id = m.id
WHERE m.task_id = :task_id AND m.from_session = 'task-00'
ORDER BY m.id DESC LIMIT :most;

-- name: unread
-- What the conductor said after the last message this task acknowledged, counted by id (D12); what was ordered of a
-- claim that has ended is nobody's any more (D37).
SELECT * FROM orchestration_messages
WHERE task_id = :task_id AND from_session = 'task-00'
  AND id NOT IN (SELECT message_id FROM settled WHERE task_id = :task_id)
  AND id > coalesce((SELECT max(message_id) FROM receipts
                     WHERE task_id = :task_id AND acknowledged_at IS NOT NULL), 0)
ORDER BY id LIMIT :most;

-- name: undelivered
-- Unread, and not yet delivered to the claim that is the task's now.
SELECT m.* FROM orchestration_messages m
WHERE m.task_id = :task_id AND m.from_session = 'task-00'
  AND m.id NOT IN (SELECT message_id FROM settled WHERE task_id = :task_id)
  AND m.id > coalesce((SELECT max(message_id) FROM receipts
                       WHERE task_id = :task_id AND acknowledged_at IS NOT NULL), 0)
  AND NOT EXISTS (SELECT 1 FROM receipts r
                  WHERE r.task_id = m.task_id AND r.message_id = m.id AND r.claim_epoch = :claim_epoch)
ORDER BY m.id LIMIT :most;

-- name: count_unread
SELECT count(*) AS n FROM orchestration_messages
WHERE task_id = :task_id AND from_session = 'task-00'
  AND id NOT IN (SELECT message_id FROM settled WHERE task_id = :task_id)
  AND id > coalesce((SELECT max(message_id) FROM receipts
                     WHERE task_id = :task_id AND acknowledged_at IS NOT NULL), 0);

-- name: last_word_on_pausing
-- Whether a task stands still for another's checkpoint: the later of the two words (PLAN-21).
SELECT * FROM orchestration_messages
WHERE task_id = :task_id AND from_session = 'task-00' AND message_type IN ('pause', 'go_on')
ORDER BY id DESC LIMIT 1;

-- name: forecasts_of_plan
-- What the unfinished tasks of a plan were told of their merges, oldest first.
SELECT m.task_id, f.fields
FROM orchestration_tasks t JOIN orchestration_messages m ON m.task_id = t.task_id
JOIN message_fields f ON f.message_id = m.id
WHERE t.plan_id = :plan_id AND t.state <> 'complete' AND NOT /*SETTLED*/
  AND m.from_session = 'task-00' AND m.message_type = 'forecast'
ORDER BY m.id;

-- name: forecasts_of_task
SELECT m.task_id, f.fields FROM orchestration_messages m JOIN message_fields f ON f.message_id = m.id
WHERE m.task_id = :task_id AND m.from_session = 'task-00' AND m.message_type = 'forecast'
ORDER BY m.id;

-- name: blocked_before
SELECT 1 FROM orchestration_messages
WHERE task_id = :task_id AND from_session = :session_id AND message_type = 'claim_blocked' LIMIT 1;

-- name: address
-- To the claim that is the task's now, beside those kinds of message that the database addresses by itself (D37).
INSERT INTO orders (message_id, task_id, claim_epoch)
SELECT :message_id, task_id, claim_epoch FROM orchestration_tasks WHERE task_id = :task_id;

-- name: carry_orders
-- The same claim under its next epoch.
UPDATE orders SET claim_epoch = claim_epoch + 1 WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: deliver
-- A message of the conductor to this task reached a session; a second delivery keeps the first one's time.
INSERT INTO receipts (task_id, message_id, session_id, claim_epoch)
SELECT task_id, id, :session_id, :claim_epoch FROM orchestration_messages
WHERE id = :message_id AND task_id = :task_id AND from_session = 'task-00'
ON CONFLICT (task_id, message_id) DO UPDATE
SET session_id = excluded.session_id, claim_epoch = excluded.claim_epoch;

-- name: acknowledge
-- Up to a message, but never past one that was not delivered.
UPDATE receipts SET acknowledged_at = datetime('now')
WHERE task_id = :task_id AND message_id <= :message_id AND acknowledged_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM orchestration_messages m
                  WHERE m.task_id = :task_id AND m.from_session = 'task-00' AND m.id < receipts.message_id
                    AND m.id NOT IN (SELECT message_id FROM settled WHERE task_id = :task_id)
                    AND m.id > coalesce((SELECT max(message_id) FROM receipts
                                         WHERE task_id = :task_id AND acknowledged_at IS NOT NULL), 0)
                    AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.task_id = :task_id AND r.message_id = m.id));

-- name: open_question
-- The newest question of a task, if no later word of the conductor has answered it.
SELECT * FROM orchestration_messages
WHERE task_id = :task_id AND message_type = 'question'
  AND id > coalesce((SELECT id FROM orchestration_messages
                     WHERE task_id = :task_id AND from_session = 'task-00'
                       AND message_type IN ('note', 'emergency', 'exit_request', 'handoff', 'fix_proposal',
                                            'rejection', 'approval')
                     ORDER BY id DESC LIMIT 1), 0)
ORDER BY id DESC LIMIT 1;

-- name: messages_of_the_future
-- What the conductor is said to have said after now, by the database's clock (D10).
SELECT id FROM orchestration_messages
WHERE task_id = :task_id AND from_session = 'task-00'
  AND julianday(timestamp) > julianday('now') + :tolerance_s / 86400.0
ORDER BY id;
