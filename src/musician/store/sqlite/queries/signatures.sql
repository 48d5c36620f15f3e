-- Who has decided, where that was a person, or the session in which one conducts.

-- name: sign
-- What was said to a task, how its state was changed, and what was settled or decided after :before, in the writing transaction.
INSERT INTO signatures (seq, task_id, name, session_id)
SELECT seq, task_id, :name, :session_id FROM changes
WHERE seq > :before AND source IN ('message', 'state', 'settled', 'decided');

-- name: signed_between
SELECT seq AS number, name, session_id FROM signatures WHERE seq > :seq AND seq <= :until;

-- name: signed_message
SELECT c.id AS number, s.name, s.session_id FROM changes c JOIN signatures s ON s.seq = c.seq
WHERE c.source = 'message' AND c.id = :id AND c.task_id = :task_id;

-- name: signed_of_task
-- The newest :most messages of a task that are signed, or its changes of state, by their own ids.
SELECT c.id AS number, s.name, s.session_id FROM signatures s JOIN changes c ON c.seq = s.seq
WHERE s.task_id = :task_id AND c.source = :source ORDER BY s.seq DESC LIMIT :most;

-- name: judged_by_persons
-- The verdicts that a person's note, or that of who speaks for one, belongs to, signed or not.
SELECT c.seq FROM changes c JOIN history h ON h.id = c.id
JOIN journal j ON j.task_id = h.task_id AND j.session_id = 'task-00' AND j.text = :note
JOIN rulings r ON r.journal_id = j.id AND r.message_id = h.message_id
WHERE c.seq > :seq AND c.seq <= :until AND c.source = 'state';

-- name: judged_by_agents
-- The verdicts on what an agent was asked about, and has said something that counts.
SELECT c.seq FROM changes c JOIN history h ON h.id = c.id
JOIN opinions o ON o.submission_id = h.submission_id AND o.judgement IS NOT NULL
WHERE c.seq > :seq AND c.seq <= :until AND c.source = 'state';
