-- History, and the submissions and verdicts found in it.

-- name: history_of_task
SELECT * FROM history WHERE task_id = :task_id ORDER BY id;

-- name: moment
-- When a look was, by the database's clock and in the one order, and how long ago the task was last heard of: a change of
-- state, an entry of the journal, a musician's message. And which account gives its agent nothing, and until when, if one
-- does.
SELECT datetime('now') AS now, (SELECT coalesce(max(seq), 0) FROM changes) AS seq,
       unixepoch('now', 'subsec') - max(unixepoch(at)) AS quiet_s,
       l.account AS limited_account, l.met_at_s, l.until_s, datetime(l.until_s, 'unixepoch') AS limited_until, unixepoch('now', 'subsec') AS now_s
FROM (SELECT (SELECT at FROM history WHERE task_id = :task_id ORDER BY id DESC LIMIT 1) AS at
      UNION ALL SELECT (SELECT at FROM journal WHERE task_id = :task_id ORDER BY id DESC LIMIT 1)
      UNION ALL SELECT (SELECT timestamp FROM orchestration_messages
                        WHERE task_id = :task_id AND from_session <> 'task-00' ORDER BY id DESC LIMIT 1))
LEFT JOIN limits l ON l.account = (SELECT coalesce(account, agent)
                                    FROM sessions LEFT JOIN session_accounts USING (task_id, claim_epoch)
                                    WHERE task_id = :task_id
                                    ORDER BY claim_epoch DESC LIMIT 1);

-- name: latest_change
SELECT * FROM history WHERE task_id = :task_id ORDER BY id DESC LIMIT 1;

-- name: verdict_on
-- What became of a submission or report.
SELECT * FROM history WHERE task_id = :task_id AND submission_id = :submission_id ORDER BY id LIMIT 1;

-- name: latest_submission
-- The last time the task went to its conductor with a submission; without a message while that is still to come.
/*SUBMISSION*/
WHERE s.id = (SELECT max(id) FROM history WHERE task_id = :task_id AND to_state = 'needs_review');

-- name: judged_submissions
-- Submissions of a task with their verdicts, oldest first.
/*SUBMISSION*/
WHERE s.task_id = :task_id AND s.to_state = 'needs_review' AND s.message_id IS NOT NULL
ORDER BY s.id;

-- name: submissions_of_plan
-- What every submission of a plan's tasks said, by phase.
SELECT t.phase, m.message_type, m.message, f.fields
FROM orchestration_tasks t JOIN orchestration_messages m ON m.task_id = t.task_id
LEFT JOIN message_fields f ON f.message_id = m.id
WHERE t.plan_id = :plan_id AND m.message_type IN ('review_request', 'completion')
ORDER BY m.id;

-- name: count_error_reports
-- Retries are counted from history, over all sessions; context warnings are none, nor is a wait that timed out,
-- the only error that comes out of a review (D3).
SELECT count(*) AS n FROM history
WHERE task_id = :task_id AND to_state = 'error' AND message_type = 'error' AND from_state <> 'needs_review';

-- name: reports
-- The error reports and context warnings of a task, oldest first.
SELECT m.id, m.message_type, m.message, f.fields
FROM history h JOIN orchestration_messages m ON m.id = h.message_id
LEFT JOIN message_fields f ON f.message_id = m.id
WHERE h.task_id = :task_id AND h.to_state = 'error'
ORDER BY h.id;

-- name: clock_s
SELECT unixepoch('now', 'subsec') AS clock_s;

-- name: now
SELECT datetime('now') AS now;
