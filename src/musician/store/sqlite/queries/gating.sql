-- What the gate before a session's end knows and counts (B01).

-- name: moved
-- How far everything is that a session's tasks have: it grows with whatever is said, done or changed, refusals apart.
SELECT coalesce(sum((SELECT coalesce(max(id), 0) FROM history h WHERE h.task_id = t.task_id)
                    + (SELECT coalesce(max(id), 0) FROM orchestration_messages m WHERE m.task_id = t.task_id)
                    + (SELECT coalesce(max(id), 0) FROM journal j
                       WHERE j.task_id = t.task_id AND j.kind NOT IN ('refused', 'let go'))), 0) AS mark
FROM orchestration_tasks t WHERE t.session_id = :session_id;

-- name: count_stop
UPDATE clients
SET iterations = :stops, progress_mark = :mark, stops_in_a_row = :in_a_row, tool_mark = :tool_mark,
    stop_seen = :seen, stop_counted_s = :now_s
WHERE session_id = :session_id;

-- name: is_asking
-- Whether a question has had no answer yet, or the task stands still with its siblings.
SELECT EXISTS (SELECT 1 FROM orchestration_messages q
               WHERE q.task_id = :task_id AND q.message_type = 'question'
                 AND NOT EXISTS (SELECT 1 FROM orchestration_messages a
                                 WHERE a.task_id = q.task_id AND a.id > q.id AND a.from_session = 'task-00'))
    OR coalesce((SELECT kind = 'paused' FROM journal WHERE task_id = :task_id ORDER BY id DESC LIMIT 1), 0) AS asks;
