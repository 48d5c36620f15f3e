-- What people say to lines of a task's change.

-- name: add_comment
INSERT INTO comments (task_id, path, side, line, commit_id, quoted, text)
VALUES (:task_id, :path, :side, :line, :commit_id, :quoted, :text);

-- name: drop_comment
-- A draft only: what was sent stays.
DELETE FROM comments WHERE id = :id AND task_id = :task_id AND message_id IS NULL;

-- name: send_comment
-- The verdict that carries it, and which of its points it is.
UPDATE comments SET message_id = :message_id, number = :number WHERE id = :id;

-- name: comments_of_task
SELECT * FROM comments WHERE task_id = :task_id ORDER BY id;
