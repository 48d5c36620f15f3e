-- The pauses of plans. That a row begins one, or ends it, is told by the guards.

-- name: pause_plan
-- The first word stands: a second pause changes nothing.
INSERT INTO plan_pauses (plan_id, who, reason) VALUES (:plan_id, :who, :reason);

-- name: resume_plan
UPDATE plan_pauses SET resumed_by = :who, resumed_at = datetime('now')
WHERE plan_id = :plan_id AND resumed_at IS NULL;

-- name: pause_of_plan
-- The one that lasts.
SELECT * FROM plan_pauses WHERE plan_id = :plan_id AND resumed_at IS NULL;

-- name: pause_of_task
-- The one of its plan that lasts.
SELECT p.* FROM orchestration_tasks t JOIN plan_pauses p ON p.plan_id = t.plan_id AND p.resumed_at IS NULL
WHERE t.task_id = :task_id;

-- name: pauses
-- Of all plans those that last.
SELECT * FROM plan_pauses WHERE resumed_at IS NULL ORDER BY plan_id;

-- name: owned_tasks_of_plan
-- Whose sessions are to hear of it.
SELECT task_id FROM orchestration_tasks
WHERE plan_id = :plan_id AND session_id IS NOT NULL AND state IN (/*ACTIVE*/);
