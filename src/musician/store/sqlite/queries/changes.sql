-- The one order of messages, changes of state, journals, what persons were asked and what became of proposals.

-- name: reached
-- How far a page of :most changes after :seq goes, not past :until.
SELECT coalesce(max(seq), :seq) AS seq
FROM (SELECT seq FROM changes WHERE seq > :seq AND seq <= :until ORDER BY seq LIMIT :most);

-- name: newest_seq
SELECT coalesce(max(seq), 0) AS seq FROM changes;

-- name: before_the_newest
-- Which seq stands before the newest :most of those up to :until.
SELECT coalesce(min(seq) - 1, 0) AS seq
FROM (SELECT seq FROM changes WHERE seq <= :until ORDER BY seq DESC LIMIT :most);

-- name: news_of
-- How far the order has come since :seq, and whether any of it is of one of these tasks, a list in JSON; of any without
-- a list. What is said beside the conductor's row, that a plan is paused, is of all. What sessions note of their own work counts for who wants :journals.
SELECT coalesce(max(seq), :seq) AS seq,
       coalesce(max((:task_ids IS NULL OR task_id IN (SELECT value FROM json_each(:task_ids))
                     OR (task_id = 'task-00' AND source = 'message'))
                    AND (:journals OR source NOT IN ('journal', 'usage'))), 0) AS has_moved
FROM changes WHERE seq > :seq;

-- name: changed_messages
SELECT c.seq, c.source, m.* FROM changes c JOIN orchestration_messages m ON m.id = c.id
WHERE c.seq > :seq AND c.seq <= :until AND c.source = 'message';

-- name: changed_states
-- Each with the message that it was made with.
SELECT c.seq, c.source, h.*, m.message AS said FROM changes c JOIN history h ON h.id = c.id
LEFT JOIN orchestration_messages m ON m.id = h.message_id
WHERE c.seq > :seq AND c.seq <= :until AND c.source = 'state';

-- name: place_of_state
-- Where the change of state stands that a message was written with.
SELECT c.seq FROM history h JOIN changes c ON c.source = 'state' AND c.id = h.id
WHERE h.task_id = :task_id AND h.message_id = :message_id;

-- name: changed_journals
SELECT c.seq, c.source, j.*, r.message_id AS ruled_by FROM changes c JOIN journal j ON j.id = c.id
LEFT JOIN rulings r ON r.journal_id = j.id
WHERE c.seq > :seq AND c.seq <= :until AND c.source = 'journal';

-- name: changed_usage
SELECT c.seq, c.source, u.* FROM changes c JOIN usage u ON u.id = c.id
WHERE c.seq > :seq AND c.seq <= :until AND c.source = 'usage';

-- name: changed_asks
-- Where it was settled, how it was that time.
SELECT c.seq, c.source, n.id, n.task_id, n.kind, n.subject_id, n.text, n.at,
    coalesce(s.at, n.resolved_at) AS resolved_at, coalesce(s.resolution, n.resolution) AS resolution,
    (SELECT path FROM plans JOIN orchestration_tasks t USING (plan_id) WHERE t.task_id = n.task_id) AS plan_path
FROM changes c JOIN needs_human n ON n.id = c.id LEFT JOIN settlements s ON s.seq = c.seq
WHERE c.seq > :seq AND c.seq <= :until AND c.source IN ('asked', 'settled');

-- name: changed_proposals
SELECT c.seq, c.source, p.* FROM changes c JOIN proposals p ON p.id = c.id
WHERE c.seq > :seq AND c.seq <= :until AND c.source = 'decided';

-- name: order_the_rest
-- What has no place in the order yet, as in a database of version 1, gets the next ones. Times are whole seconds: within
-- one a change of state stands behind the message it was made with and before the next, a journal after both. Each
-- source keeps its own order, whatever a raw writer gave for a time.
INSERT INTO changes (task_id, source, id)
WITH found AS (
    SELECT 'message' AS source, id, task_id, timestamp AS at, id AS message_id, 0 AS rank FROM orchestration_messages
    UNION ALL SELECT 'state', id, task_id, at, coalesce(message_id, 0), 1 FROM history
    UNION ALL SELECT 'journal', id, task_id, at, 9223372036854775807, 2 FROM journal
    UNION ALL SELECT 'usage', id, task_id, at, 9223372036854775807, 2 FROM usage
    UNION ALL SELECT 'asked', id, task_id, at, 9223372036854775807, 3 FROM needs_human
    UNION ALL SELECT 'settled', id, task_id, resolved_at, 9223372036854775807, 4 FROM needs_human
              WHERE resolved_at IS NOT NULL
    UNION ALL SELECT 'decided', id, task_id, decided_at, 9223372036854775807, 5 FROM proposals
              WHERE status <> 'open'
), placed AS (
    SELECT source, id, task_id, rank,
           max(message_id) OVER earlier AS message_id,
           max(CASE WHEN at GLOB '[0-9][0-9][0-9][0-9]-*' AND datetime(at) <= datetime('now')
                    THEN datetime(at) ELSE '' END) OVER earlier AS at
    FROM found
    WINDOW earlier AS (PARTITION BY source, CASE WHEN source IN ('settled', 'decided') THEN id END ORDER BY id)
)
SELECT task_id, source, id FROM placed WHERE (source, id) NOT IN (SELECT source, id FROM changes)
ORDER BY at, message_id, rank, id;

-- name: keep_settlements
-- Of questions that were settled before each time was kept. Where one was asked again, the last time alone is known.
INSERT INTO settlements (seq, task_id, resolution, at)
SELECT seq, task_id, CASE WHEN is_last AND resolved_at IS NOT NULL THEN coalesce(resolution, '') ELSE '' END,
       CASE WHEN is_last AND resolved_at IS NOT NULL THEN resolved_at ELSE at END
FROM (SELECT c.seq, c.task_id, n.resolution, n.resolved_at, n.at,
             c.seq = max(c.seq) OVER (PARTITION BY c.id) AS is_last
      FROM changes c JOIN needs_human n ON n.id = c.id WHERE c.source = 'settled')
WHERE seq NOT IN (SELECT seq FROM settlements);
