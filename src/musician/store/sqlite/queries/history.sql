-- History, and the submissions and verdicts found in it.

-- name: history_of_task
SELECT * FROM history WHERE task_id = :task_id ORDER BY id;

-- name: history_after
SELECT * FROM history WHERE id > :after ORDER BY id LIMIT :most;

-- name: latest_change
SELECT * FROM history WHERE task_id = :task_id ORDER BY id DESC LIMIT 1;

-- name: latest_submission
-- The last time the task went to its conductor with a submission, whole or not.
SELECT * FROM history WHERE task_id = :task_id AND to_state = 'needs_review' ORDER BY id DESC LIMIT 1;

-- name: verdict_on
-- What became of a submission or report; the first verdict counts.
SELECT * FROM history WHERE task_id = :task_id AND submission_id = :submission_id ORDER BY id LIMIT 1;

-- name: judged_submissions
-- Submissions of a task with their verdicts, oldest first; verdict columns are NULL while it waits.
SELECT s.id, s.message_id, s.message_type, s.claim_epoch, s.at, m.message,
       v.to_state AS verdict, v.message_id AS verdict_message_id
FROM history s
LEFT JOIN orchestration_messages m ON m.id = s.message_id
LEFT JOIN history v ON v.task_id = s.task_id AND v.submission_id = s.message_id AND v.id > s.id
WHERE s.task_id = :task_id AND s.to_state = 'needs_review' AND s.message_id IS NOT NULL
ORDER BY s.id;

-- name: count_error_reports
-- Retries are counted from history, over all sessions; context warnings and time-outs of the wait are none (D3).
SELECT count(*) AS n FROM history WHERE task_id = :task_id AND to_state = 'error' AND message_type = 'error';

-- name: latest_error_reports
-- The newest :most error reports of a task with their texts, newest first.
SELECT h.message_id, m.message, h.at FROM history h JOIN orchestration_messages m ON m.id = h.message_id
WHERE h.task_id = :task_id AND h.to_state = 'error' AND h.message_type = 'error'
ORDER BY h.id DESC LIMIT :most;
