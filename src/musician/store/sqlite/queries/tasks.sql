-- Tasks: rows of orchestration_tasks, and who owns them.

-- name: task
-- One task by its exact id. The age is by the database's clock; NULL for an unreadable time, negative for a future one.
SELECT t.*, /*AGE*/
FROM orchestration_tasks t WHERE t.task_id = :task_id;

-- name: task_as_written
-- The same as whoever wrote it left it: its state may be none.
SELECT t.state AS written_state, t.session_id, t.worked_by, t.last_heartbeat, t.retry_limit, /*AGE*/
FROM orchestration_tasks t WHERE t.task_id = :task_id;

-- name: open_tasks
-- Those that have not come to their end: neither complete nor withdrawn or skipped.
SELECT t.*, /*AGE*/
FROM orchestration_tasks t
WHERE t.state <> 'complete' AND t.task_id <> 'task-00' AND t.task_id NOT GLOB 'fallback-*' AND NOT /*SETTLED*/
ORDER BY t.plan_id, t.phase, t.position, t.task_id;

-- name: tasks_at_hand
-- Those that a session is at work on, or that something waits for a person of: a question may stand where nobody is.
SELECT t.*, /*AGE*/
FROM orchestration_tasks t
WHERE t.task_id NOT GLOB 'fallback-*' AND t.task_id IN (
    SELECT task_id FROM orchestration_tasks WHERE state IN (/*ACTIVE*/) AND task_id <> 'task-00'
    UNION SELECT task_id FROM needs_human WHERE resolved_at IS NULL
    UNION SELECT w.task_id FROM orchestration_tasks w
    WHERE w.state = 'watching' AND w.state <> 'complete'
      AND EXISTS (SELECT 1 FROM orchestration_messages WHERE task_id = w.task_id AND message_type = 'question'))
ORDER BY t.plan_id, t.phase, t.position, t.task_id;

-- name: has_tasks
SELECT EXISTS (SELECT 1 FROM orchestration_tasks
               WHERE task_id <> 'task-00' AND task_id NOT GLOB 'fallback-*') AS has_tasks;

-- name: names_like
-- The ids there are that differ from one of these, a list in JSON, by capitals alone or not at all; and whose they are.
SELECT task_id, plan_id FROM orchestration_tasks
WHERE task_id COLLATE NOCASE IN (SELECT value FROM json_each(:task_ids));

-- name: tasks_of_plan
-- In the order of the plan; of NULL those without one. The conductor's and the fallback rows are not tasks (D9).
SELECT t.*, /*AGE*/
FROM orchestration_tasks t
WHERE t.plan_id IS :plan_id AND t.task_id <> 'task-00' AND t.task_id NOT GLOB 'fallback-*'
ORDER BY t.phase, t.position, t.task_id;

-- name: open_task
-- A new task, watching. Its instruction message is written before it in the same transaction.
INSERT INTO orchestration_tasks (task_id, state, title, plan_id, phase, position, instruction_path, retry_limit)
VALUES (:task_id, 'watching', :title, :plan_id, :phase, :position, :instruction_path, :retry_limit);

-- name: place_task
-- Where an amended plan puts a task it already had.
UPDATE orchestration_tasks
SET title = :title, phase = :phase, position = :position, instruction_path = :instruction_path
WHERE task_id = :task_id AND plan_id = :plan_id;

-- name: before_claim
-- What is looked at before a claim: the current instruction's path (superseded ones have another type, D4), how many
-- sessions there were, a task that a session has now and that touches the same dangerous files, and whether this session
-- conducts and its plan is paused.
SELECT (SELECT message FROM orchestration_messages
        WHERE task_id = :task_id AND from_session = 'task-00' AND message_type = 'instruction'
        ORDER BY id LIMIT 1) AS instruction,
       (SELECT count(*) FROM sessions WHERE task_id = :task_id) AS sessions,
       (SELECT c.other FROM conflicts c JOIN orchestration_tasks t ON t.task_id = c.other
        WHERE c.task_id = :task_id AND t.session_id IS NOT NULL AND t.state IN (/*ACTIVE*/)
        ORDER BY c.other LIMIT 1) AS at_work,
       EXISTS (SELECT 1 FROM conductor_sessions WHERE session_id = :session_id) AS conducts,
       EXISTS (SELECT 1 FROM orchestration_tasks t JOIN plan_pauses p ON p.plan_id = t.plan_id
               WHERE t.task_id = :task_id AND p.resumed_at IS NULL) AS is_paused;

-- name: claim_task
-- The sources' claim, with its guard clause. The triggers refuse a live owner or a missing instruction by
-- changing 0 rows, and raise the epoch.
UPDATE orchestration_tasks
SET state = 'working', session_id = :session_id, worked_by = :worked_by, started_at = datetime('now'),
    last_heartbeat = datetime('now')
WHERE task_id = :task_id AND state IN (/*CLAIMABLE*/);

-- name: block_claim
-- The row that lets a blocked session end; a second one changes nothing (D9).
INSERT INTO orchestration_tasks (task_id, state, session_id, last_heartbeat)
VALUES (:fallback_id, 'exited', :session_id, datetime('now'));

-- name: owned_task
-- The task if exactly this claim owns it and may still write; an epoch without a session is a fence (D2).
SELECT t.*, /*AGE*/
FROM orchestration_tasks t
JOIN sessions s ON s.task_id = t.task_id AND s.claim_epoch = t.claim_epoch AND s.session_id = t.session_id
WHERE t.task_id = :task_id AND t.session_id = :session_id AND t.claim_epoch = :claim_epoch
  AND t.state IN (/*ACTIVE*/);

-- name: claims_of_session
-- The live claims a session holds; usually one.
SELECT t.task_id, t.claim_epoch FROM orchestration_tasks t
JOIN sessions s ON s.task_id = t.task_id AND s.claim_epoch = t.claim_epoch AND s.session_id = t.session_id
WHERE t.session_id = :session_id AND t.state IN (/*ACTIVE*/) ORDER BY t.task_id;

-- name: beat
-- Only the owner's acts touch its heartbeat (D10); 0 rows where this claim does not own the task, as in owned_task.
UPDATE orchestration_tasks SET last_heartbeat = datetime('now')
WHERE task_id = :task_id AND session_id = :session_id AND claim_epoch = :claim_epoch AND state IN (/*ACTIVE*/)
  AND EXISTS (SELECT 1 FROM sessions
              WHERE task_id = :task_id AND claim_epoch = :claim_epoch AND session_id = :session_id);

-- name: move_owned
-- A state change by the owner: names the claim, refreshes the heartbeat.
UPDATE orchestration_tasks SET state = :state, last_heartbeat = datetime('now')
WHERE task_id = :task_id AND session_id = :session_id AND claim_epoch = :claim_epoch AND state = :from_state;

-- name: move_to_error
UPDATE orchestration_tasks
SET state = 'error', last_heartbeat = datetime('now'), last_error = :last_error,
    retry_count = retry_count + :is_retry
WHERE task_id = :task_id AND session_id = :session_id AND claim_epoch = :claim_epoch AND state = :from_state;

-- name: move_to_complete
UPDATE orchestration_tasks
SET state = 'complete', last_heartbeat = datetime('now'), completed_at = datetime('now'), report_path = :report_path
WHERE task_id = :task_id AND session_id = :session_id AND claim_epoch = :claim_epoch AND state = :from_state;

-- name: move_by_conductor
UPDATE orchestration_tasks SET state = :state WHERE task_id = :task_id AND state = :from_state;

-- name: fence
-- From here on every write of the old claim is refused; the row stays as it was (D23).
UPDATE orchestration_tasks SET claim_epoch = claim_epoch + 1
WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: reopen_fenced
-- The last of the four steps of taking over.
UPDATE orchestration_tasks SET state = 'fix_proposed', session_id = NULL, last_heartbeat = NULL
WHERE task_id = :task_id AND claim_epoch = :claim_epoch AND state IN (/*ACTIVE*/);

-- name: grant_retries
UPDATE orchestration_tasks SET retry_limit = retry_limit + :more WHERE task_id = :task_id;

-- name: conductor_insert
INSERT INTO orchestration_tasks (task_id, state, session_id, worked_by, started_at, last_heartbeat, claim_epoch)
VALUES ('task-00', 'working', :session_id, 'conductor', datetime('now'), datetime('now'), 1);

-- name: conductor_claim
UPDATE orchestration_tasks
SET state = 'working', session_id = :session_id, worked_by = 'conductor', started_at = datetime('now'),
    last_heartbeat = datetime('now'), completed_at = NULL, claim_epoch = claim_epoch + 1
WHERE task_id = 'task-00' AND claim_epoch = :claim_epoch;

-- name: conductor_move
UPDATE orchestration_tasks
SET state = :state, last_heartbeat = datetime('now'),
    completed_at = CASE WHEN :state = 'complete' THEN datetime('now') END
WHERE task_id = 'task-00' AND session_id = :session_id AND claim_epoch = :claim_epoch AND state = 'working';

-- name: conductor_beat
UPDATE orchestration_tasks SET last_heartbeat = datetime('now')
WHERE task_id = 'task-00' AND session_id = :session_id AND claim_epoch = :claim_epoch AND state = 'working';
