-- The claims that a subagent was begun under: which are still its session's, and running, and whether it had stopped
-- meanwhile (D41).
SELECT t.session_id = s.session_id AND t.claim_epoch = s.claim_epoch
       AND t.state NOT IN ('watching', 'exited', 'complete'),
       s.ended_at IS NOT NULL
FROM subagents s JOIN orchestration_tasks t ON t.task_id = s.task_id
WHERE s.agent_id = ?1;
