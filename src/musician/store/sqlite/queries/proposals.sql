-- Proposals: what musicians found worth keeping, and what the conductor made of it.

-- name: write_proposal
INSERT INTO proposals (task_id, claim_epoch, session_id, type, title, path, document_id, message_id)
VALUES (:task_id, :claim_epoch, :session_id, :type, :title, :path, :document_id,
        coalesce((SELECT max(id) FROM orchestration_messages WHERE task_id = :task_id), 0));

-- name: proposal
SELECT p.*, d.body AS text FROM proposals p JOIN documents d ON d.id = p.document_id WHERE p.id = :id;

-- name: open_proposals
-- Oldest first: the newest :most.
SELECT * FROM (SELECT p.*, d.body AS text FROM proposals p JOIN documents d ON d.id = p.document_id
               WHERE p.status = 'open' ORDER BY p.id DESC LIMIT :most) ORDER BY id;

-- name: proposals
-- Whatever became of them, oldest first: the newest :most.
SELECT * FROM (SELECT p.*, d.body AS text FROM proposals p JOIN documents d ON d.id = p.document_id
               ORDER BY p.id DESC LIMIT :most) ORDER BY id;

-- name: proposals_called
SELECT p.*, d.body AS text FROM proposals p JOIN documents d ON d.id = p.document_id
WHERE p.task_id = :task_id AND p.type = :type AND p.title = :title ORDER BY p.id;

-- name: proposal_paths
-- Every path that was ever given away in a folder; :prefix ends with its slash.
SELECT path FROM proposals
WHERE path >= :prefix AND path < substr(:prefix, 1, length(:prefix) - 1) || '0';  -- what comes behind a slash

-- name: open_proposals_of_task
SELECT path, type FROM proposals WHERE task_id = :task_id AND status = 'open' ORDER BY id;

-- name: unsubmitted_proposals
-- Those made after the task's last submission, by whichever session: the next one names them.
SELECT path FROM proposals
WHERE task_id = :task_id AND session_id <> 'task-00'
  AND message_id >= coalesce((SELECT max(message_id) FROM history
                              WHERE task_id = :task_id AND to_state = 'needs_review'), 0)
ORDER BY id;

-- name: decide_proposal
-- Once: what is decided already stays as it is.
UPDATE proposals SET status = :status, outcome = :outcome, decided_at = datetime('now')
WHERE id = :id AND status = 'open';

-- name: reword_proposal
UPDATE proposals SET document_id = :document_id WHERE id = :id AND status = 'open';
