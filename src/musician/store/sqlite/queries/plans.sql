-- Plans, their phases, and what needs a person.

-- name: lock_plan
INSERT INTO plans (plan_id, path, title, sha256, text, base_branch, base_commit)
VALUES (:plan_id, :path, :title, :sha256, :text, :base_branch, :base_commit);

-- name: amend_plan
-- A plan that has not changed is as much at its end as before.
UPDATE plans SET path = :path, title = :title, sha256 = :sha256, text = :text, locked_at = datetime('now'),
    finished_at = CASE WHEN sha256 = :sha256 THEN finished_at END
WHERE plan_id = :plan_id;

-- name: plan
SELECT * FROM plans WHERE plan_id = :plan_id;

-- name: locked_hash
SELECT sha256 FROM plans WHERE plan_id = :plan_id;

-- name: plans
-- In the order in which their first tasks were opened.
SELECT * FROM plans
ORDER BY (SELECT min((SELECT min(h.id) FROM history h WHERE h.task_id = t.task_id)) FROM orchestration_tasks t
          WHERE t.plan_id = plans.plan_id), plan_id;

-- name: current_plans
-- Those that are not finished, and the one in which something happened last.
SELECT * FROM plans
WHERE plan_id IN (SELECT plan_id FROM plans WHERE finished_at IS NULL
                  UNION SELECT (SELECT t.plan_id FROM changes c JOIN orchestration_tasks t ON t.task_id = c.task_id
                                WHERE t.plan_id IS NOT NULL ORDER BY c.seq DESC LIMIT 1))
ORDER BY (SELECT min((SELECT min(h.id) FROM history h WHERE h.task_id = t.task_id)) FROM orchestration_tasks t
          WHERE t.plan_id = plans.plan_id), plan_id;

-- name: count_plans
SELECT count(*) AS n FROM plans;

-- name: finish_plan
-- Unless one of its tasks has come to be open meanwhile.
UPDATE plans SET finished_at = datetime('now')
WHERE plan_id = :plan_id AND finished_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM orchestration_tasks t
                  WHERE t.plan_id = :plan_id AND t.state <> 'complete' AND NOT /*SETTLED*/);

-- name: reopen_plan
-- One of its tasks is to be played after all.
UPDATE plans SET finished_at = NULL
WHERE plan_id = :plan_id AND finished_at IS NOT NULL
  AND EXISTS (SELECT 1 FROM orchestration_tasks t
              WHERE t.plan_id = :plan_id AND t.state <> 'complete' AND NOT /*SETTLED*/);

-- name: add_phase
INSERT INTO phases (plan_id, number, title) VALUES (:plan_id, :number, :title)
ON CONFLICT (plan_id, number) DO UPDATE SET title = excluded.title;

-- name: phases
SELECT * FROM phases WHERE plan_id = :plan_id ORDER BY number;

-- name: add_dependency
INSERT INTO dependencies (task_id, after) VALUES (:task_id, :after) ON CONFLICT DO NOTHING;

-- name: forget_dependencies
DELETE FROM dependencies WHERE task_id = :task_id;

-- name: add_conflict
INSERT INTO conflicts (task_id, other) VALUES (:task_id, :other) ON CONFLICT DO NOTHING;

-- name: forget_conflicts
DELETE FROM conflicts
WHERE task_id = :task_id OR (task_id, other) IN (SELECT other, task_id FROM conflicts WHERE task_id = :task_id);

-- name: comes_first
-- A task of the same plan that must be finished before this one is begun: of an earlier phase, or one it names (D17).
SELECT t.task_id, t.state, t.phase, d.after IS NOT NULL AS is_named
FROM orchestration_tasks this
JOIN orchestration_tasks t ON t.plan_id = this.plan_id AND t.task_id <> this.task_id
LEFT JOIN dependencies d ON d.task_id = this.task_id AND d.after = t.task_id
WHERE this.task_id = :task_id AND (t.phase < this.phase OR d.after IS NOT NULL)
  AND t.state <> 'complete' AND NOT /*SETTLED*/
ORDER BY t.phase, t.position LIMIT 1;

-- name: open_waits
-- The open tasks of a plan in its order, a row for each task that one names.
SELECT t.task_id, t.phase, d.after
FROM orchestration_tasks t LEFT JOIN dependencies d ON d.task_id = t.task_id
WHERE t.plan_id = :plan_id AND t.state <> 'complete' AND NOT /*SETTLED*/
ORDER BY t.phase, t.position;

-- name: ask_human
-- Once for each subject, however often it is noticed; what was settled and is still so waits again.
INSERT INTO needs_human (task_id, kind, subject_id, text) VALUES (:task_id, :kind, :subject_id, :text)
ON CONFLICT (task_id, kind, subject_id) DO UPDATE
SET text = excluded.text, at = datetime('now'), resolved_at = NULL, resolution = NULL
WHERE resolved_at IS NOT NULL;

-- name: retry_troubles
-- Of a plan: what the surroundings refused is tried again.
UPDATE needs_human SET resolved_at = datetime('now'), resolution = :resolution
WHERE kind IN ('trouble', 'budget') AND resolved_at IS NULL
  AND task_id IN (SELECT task_id FROM orchestration_tasks WHERE plan_id = :plan_id);

-- name: settle_budgets
UPDATE needs_human SET resolved_at = datetime('now'), resolution = :resolution
WHERE kind = 'budget' AND resolved_at IS NULL
  AND task_id IN (SELECT task_id FROM orchestration_tasks WHERE plan_id = :plan_id);

-- name: needs_human
-- What waits for a person, of all tasks.
SELECT n.*, (SELECT path FROM plans JOIN orchestration_tasks t USING (plan_id) WHERE t.task_id = n.task_id) AS plan_path
FROM needs_human n WHERE resolved_at IS NULL ORDER BY id;

-- name: needs_human_of_task
SELECT n.*, (SELECT path FROM plans JOIN orchestration_tasks t USING (plan_id) WHERE t.task_id = n.task_id) AS plan_path
FROM needs_human n WHERE task_id = :task_id ORDER BY id;

-- name: resolve_answered
-- What a word or a verdict answers. A ceiling is not: nothing is granted by it, and the question would come again.
UPDATE needs_human SET resolved_at = datetime('now'), resolution = :resolution
WHERE task_id = :task_id AND resolved_at IS NULL AND kind <> 'budget';

-- name: resolve_human
UPDATE needs_human SET resolved_at = datetime('now'), resolution = :resolution
WHERE task_id = :task_id AND resolved_at IS NULL;

-- name: keep_settings
INSERT INTO plan_settings (plan_id, text) VALUES (:plan_id, :text)
ON CONFLICT (plan_id) DO UPDATE SET text = excluded.text;

-- name: settings_of_plan
SELECT text FROM plan_settings WHERE plan_id = :plan_id;

-- name: settings_of_task
SELECT p.text FROM orchestration_tasks t JOIN plan_settings p ON p.plan_id = t.plan_id WHERE t.task_id = :task_id;

-- name: keep_baseline
INSERT INTO baselines (commit_id, setup, command, result) VALUES (:commit_id, :setup, :command, :result)
ON CONFLICT (commit_id, setup, command) DO UPDATE SET result = excluded.result;

-- name: baseline
SELECT result FROM baselines WHERE commit_id = :commit_id AND setup = :setup AND command = :command;

-- name: keep_archive
-- What is known of a plan without opening its archive, with the tasks that it waited for; before its rows are moved there.
INSERT INTO archives (plan_id, title, tasks, completed, proposals, base_branch, base_commit, locked_at, finished_at, abandoned)
SELECT p.plan_id, p.title, (SELECT count(*) FROM orchestration_tasks t WHERE t.plan_id = p.plan_id AND NOT /*SETTLED*/),
       (SELECT count(*) FROM orchestration_tasks t WHERE t.plan_id = p.plan_id AND t.state = 'complete' AND NOT /*SETTLED*/),
       (SELECT count(*) FROM proposals o JOIN orchestration_tasks t ON t.task_id = o.task_id
        WHERE t.plan_id = p.plan_id AND o.status = 'open'),
       p.base_branch, p.base_commit, p.locked_at, p.finished_at, :abandoned
FROM plans p WHERE p.plan_id = :plan_id;

-- name: keep_archived_settled
INSERT INTO archived_settled (plan_id, skipped, withdrawn) VALUES (:plan_id, :skipped, :withdrawn);

-- name: archive
SELECT * FROM archives LEFT JOIN archived_settled USING (plan_id) WHERE plan_id = :plan_id;

-- name: archives
-- In the order in which they were archived.
SELECT * FROM archives LEFT JOIN archived_settled USING (plan_id) ORDER BY archived_at, plan_id;

-- name: forget_archive
DELETE FROM archives WHERE plan_id = :plan_id;

-- name: forget_archived_settled
DELETE FROM archived_settled WHERE plan_id = :plan_id;

-- name: note_dropped
INSERT OR IGNORE INTO dropped (plan_id) VALUES (:plan_id);

-- name: dropped
SELECT plan_id FROM dropped ORDER BY plan_id;

-- name: forget_dropped
DELETE FROM dropped WHERE plan_id = :plan_id;
