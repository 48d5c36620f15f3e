-- What a session has claimed: the newest claim of each task, and the conductor's row if it is the session's.
-- Live is the task's current claim in an active state; an epoch without a session is a fence (D2).
-- Undelivered are the conductor's messages after the last acknowledged one that have not reached this claim (D12), but
-- for what was ordered of a claim that has ended (D37).
-- Urgent are the emergencies that nobody has acknowledged, delivered or not: nothing else is done before they are read
-- (D35). A row without a task says that a person conducts in this session. Without a client's row nobody has been told of any context threshold.
SELECT t.task_id, s.claim_epoch, t.state,
       t.session_id = s.session_id AND t.claim_epoch = s.claim_epoch
           AND t.state NOT IN ('watching', 'exited', 'complete') AS is_live,
       CASE WHEN t.last_heartbeat GLOB '[0-9][0-9][0-9][0-9]-*'
            THEN unixepoch('now', 'subsec') - unixepoch(t.last_heartbeat, 'subsec') END AS heartbeat_age_s,
       (SELECT count(*) FROM orchestration_messages m
        WHERE m.task_id = t.task_id AND m.from_session = 'task-00'
          AND m.id NOT IN (SELECT message_id FROM settled WHERE task_id = t.task_id)
          AND m.id > coalesce((SELECT max(message_id) FROM receipts
                               WHERE task_id = t.task_id AND acknowledged_at IS NOT NULL), 0)
          AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.task_id = m.task_id AND r.message_id = m.id
                          AND r.claim_epoch = s.claim_epoch)) AS undelivered,
       (SELECT count(*) FROM orchestration_messages m
        WHERE m.task_id = t.task_id AND m.from_session = 'task-00' AND m.message_type = 'emergency'
          AND m.id NOT IN (SELECT message_id FROM settled WHERE task_id = t.task_id)
          AND m.id > coalesce((SELECT max(message_id) FROM receipts
                               WHERE task_id = t.task_id AND acknowledged_at IS NOT NULL), 0)) AS urgent,
       (SELECT context_pct FROM sessions x WHERE x.task_id = t.task_id AND x.claim_epoch = s.claim_epoch) AS context_pct,
       (SELECT warned_pct FROM clients WHERE session_id = ?1) AS warned_pct,
       t.plan_id
FROM (SELECT task_id, session_id, max(claim_epoch) AS claim_epoch FROM sessions
      WHERE session_id = ?1 GROUP BY task_id) s
JOIN orchestration_tasks t ON t.task_id = s.task_id
UNION ALL
SELECT task_id, claim_epoch, state, state NOT IN ('watching', 'exited', 'complete'),
       unixepoch('now', 'subsec') - unixepoch(last_heartbeat, 'subsec'), 0, 0, NULL, NULL, NULL
FROM orchestration_tasks WHERE task_id = 'task-00' AND session_id = ?1
UNION ALL
SELECT NULL, 0, '', 0, NULL, 0, 0, NULL, NULL, NULL FROM conductor_sessions WHERE session_id = ?1
ORDER BY 1;
