-- What sessions did: journal, rulings, verification, documents.

-- name: write_journal
INSERT INTO journal (task_id, claim_epoch, session_id, kind, item, text, severity, context_pct, commit_id)
VALUES (:task_id, :claim_epoch, :session_id, :kind, :item, :text, :severity, :context_pct, :commit_id);

-- name: journal_of_task
-- Oldest first, each deviation and finding with the message that ruled it.
SELECT j.*, r.message_id AS ruled_by FROM journal j LEFT JOIN rulings r ON r.journal_id = j.id
WHERE j.task_id = :task_id ORDER BY j.id;

-- name: to_be_ruled
SELECT 1 FROM journal WHERE id = :journal_id AND task_id = :task_id
AND (kind IN ('deviation', 'finding') OR kind = 'skipped' AND severity IS NOT NULL);

-- name: rule
-- Each is ruled once; a second ruling changes nothing (D17).
INSERT INTO rulings (journal_id, message_id) SELECT :journal_id, :message_id
WHERE NOT EXISTS (SELECT 1 FROM rulings WHERE journal_id = :journal_id);

-- name: tie_newest
-- The newest entry of a task's journal is about this message.
INSERT INTO rulings (journal_id, message_id) SELECT max(id), :message_id FROM journal WHERE task_id = :task_id;

-- name: store_verification
-- Evidence belongs to one submission, if to any (D7); 0 rows for a submission of work that it does not know.
INSERT INTO verifications (task_id, claim_epoch, checkpoint, covers_all, outcome, tree_id, result, submission_id,
                           journal_id)
SELECT :task_id, :claim_epoch, :checkpoint, :covers_all, :outcome, :tree_id, :result, :submission_id,
       coalesce(:known_entry_id, (SELECT max(id) FROM journal WHERE task_id = :task_id), 0)
WHERE :submission_id IS NULL
   OR NOT EXISTS (SELECT 1 FROM journal WHERE task_id = :task_id AND id > :known_entry_id
                  AND kind IN ('completed', 'returned', 'reworked'));

-- name: cover
-- What a submission stands for, once it is written (D28).
INSERT INTO covered (message_id, task_id, commit_id, tree_id, entry_id, changed_files)
VALUES (:message_id, :task_id, :commit_id, :tree_id,
        coalesce((SELECT max(id) FROM journal WHERE task_id = :task_id), 0), :changed_files);

-- name: moved_since
-- Whether the task's work went on after an entry of its journal, or departed from the plan.
SELECT 1 FROM journal WHERE task_id = :task_id AND id > :entry_id
    AND (kind IN (/*WORK*/) OR kind = 'deviation' AND severity <> 'Low') LIMIT 1;

-- name: others_moved_since
-- Whether another task's did: where a tree is shared, what changed in it may be theirs.
SELECT 1 FROM journal WHERE task_id <> :task_id AND id > :entry_id AND kind IN (/*WORK*/) LIMIT 1;

-- name: verifications_of_task
SELECT * FROM verifications WHERE task_id = :task_id ORDER BY id;

-- name: verification
SELECT * FROM verifications WHERE id = :id;

-- name: store_document
INSERT INTO documents (task_id, claim_epoch, kind, path, body, written_by)
VALUES (:task_id, :claim_epoch, :kind, :path, :body, :written_by);

-- name: latest_document
SELECT * FROM documents WHERE task_id = :task_id AND kind = :kind ORDER BY id DESC LIMIT 1;

-- name: keep_opinion
-- A submission is judged once by the reviewing agent; what is said later is not kept.
INSERT INTO opinions (task_id, submission_id, judgement, text, ruled)
SELECT :task_id, :submission_id, :judgement, :text, :ruled
WHERE NOT EXISTS (SELECT 1 FROM opinions WHERE submission_id = :submission_id);

-- name: opinions_of_task
SELECT * FROM opinions WHERE task_id = :task_id;

-- name: begin_piece
INSERT INTO beginnings (task_id, claim_epoch, item, tip, outside)
VALUES (:task_id, :claim_epoch, :item, :tip, :outside)
ON CONFLICT (task_id, item) DO UPDATE
SET claim_epoch = excluded.claim_epoch, tip = excluded.tip, outside = excluded.outside;

-- name: carry_beginnings
-- The same claim under its next epoch.
UPDATE beginnings SET claim_epoch = claim_epoch + 1 WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: beginning_of_piece
SELECT tip, outside FROM beginnings
WHERE task_id = :task_id AND claim_epoch = :claim_epoch AND item = :item;
