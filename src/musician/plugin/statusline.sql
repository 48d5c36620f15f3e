-- What the conductor said after the last message this task acknowledged, counted by id (D12).
SELECT count(*) FROM orchestration_messages
WHERE task_id = ?1 AND from_session = 'task-00'
  AND id NOT IN (SELECT message_id FROM settled WHERE task_id = ?1)
  AND id > coalesce((SELECT max(message_id) FROM receipts
                     WHERE task_id = ?1 AND acknowledged_at IS NOT NULL), 0);
