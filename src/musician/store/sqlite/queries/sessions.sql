-- Sessions (one row per claim) and their processes.

-- name: count_sessions
SELECT count(*) AS n FROM sessions WHERE task_id = :task_id;

-- name: session
SELECT * FROM sessions WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: own_epoch
-- The newest claim a session has made of a task.
SELECT claim_epoch FROM sessions WHERE task_id = :task_id AND session_id = :session_id
ORDER BY claim_epoch DESC LIMIT 1;

-- name: tasks_of_session
-- Every task a session has claimed, the latest claim first.
SELECT task_id FROM claims_in_order WHERE session_id = :session_id GROUP BY task_id ORDER BY max(place) DESC, task_id;

-- name: sessions_of_task
SELECT * FROM sessions WHERE task_id = :task_id ORDER BY claim_epoch;

-- name: describe_session
UPDATE sessions SET agent = :agent WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: keep_account
INSERT INTO session_accounts (task_id, claim_epoch, account) VALUES (:task_id, :claim_epoch, :account)
ON CONFLICT (task_id, claim_epoch) DO UPDATE SET account = excluded.account;

-- name: forget_account
-- It is that of the agent's own name.
DELETE FROM session_accounts WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: end_session
-- The reason a session ended; the first one said stays.
UPDATE sessions
SET ended_at = coalesce(ended_at, datetime('now')), exit_reason = coalesce(exit_reason, :exit_reason),
    context_pct = coalesce(:context_pct, context_pct)
WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: end_older_sessions
-- Those that did not end by themselves. They ended when they were last heard of, and not when somebody found out, maybe
-- an hour later; a time that cannot be is no such time.
UPDATE sessions
SET ended_at = coalesce((
        SELECT t.last_heartbeat FROM orchestration_tasks t
        WHERE t.task_id = sessions.task_id AND t.last_heartbeat BETWEEN sessions.started_at AND datetime('now')
    ), datetime('now')),
    exit_reason = coalesce(exit_reason, :exit_reason)
WHERE task_id = :task_id AND claim_epoch < :claim_epoch AND ended_at IS NULL;

-- name: measure_context
UPDATE sessions SET context_pct = :context_pct WHERE task_id = :task_id AND claim_epoch = :claim_epoch;

-- name: add_usage
INSERT INTO usage (task_id, claim_epoch, session_id, item, model, input_tokens, cache_read_tokens, cache_write_tokens,
                   output_tokens, cost_usd, is_estimated, turns)
VALUES (:task_id, :claim_epoch, :session_id, :item, :model, :input_tokens, :cache_read_tokens, :cache_write_tokens,
        :output_tokens, :cost_usd, :is_estimated, :turns);

-- name: add_to_usage
-- To what a model has used in the same piece today, if anything; the last word on whether it is estimated counts.
UPDATE usage
SET input_tokens = input_tokens + :input_tokens, cache_read_tokens = cache_read_tokens + :cache_read_tokens,
    cache_write_tokens = cache_write_tokens + :cache_write_tokens, output_tokens = output_tokens + :output_tokens,
    cost_usd = coalesce(cost_usd + :cost_usd, cost_usd, :cost_usd), is_estimated = :is_estimated, turns = turns + :turns
WHERE id = (SELECT max(id) FROM usage
            WHERE task_id = :task_id AND claim_epoch = :claim_epoch AND session_id = :session_id AND item = :item
              AND model = :model AND at >= date('now'));

-- name: add_playtime
INSERT INTO playtimes (task_id, claim_epoch, played_s) VALUES (:task_id, :claim_epoch, :played_s)
ON CONFLICT (task_id, claim_epoch, day) DO UPDATE SET played_s = played_s + excluded.played_s;

-- name: grant_means
INSERT INTO means_granted (task_id, cost_usd, tokens, turns, time_s)
VALUES (:task_id, :cost_usd, :tokens, :turns, :time_s);

-- name: means_of_tasks
-- What was used, and what was granted, of each task of a plan, and of one task without any.
SELECT task_id, is_granted, total(cost_usd) AS cost_usd, cast(total(tokens) AS INTEGER) AS tokens,
       cast(total(turns) AS INTEGER) AS turns, total(time_s) AS time_s
FROM means
WHERE task_id IN (SELECT :task_id UNION SELECT task_id FROM orchestration_tasks WHERE plan_id = :plan_id)
GROUP BY task_id, is_granted;

-- name: keep_means_of_today
-- Of a plan that is being archived.
INSERT INTO archived_means (plan_id, is_granted, cost_usd, tokens, turns, time_s)
SELECT :plan_id, is_granted, total(cost_usd), cast(total(tokens) AS INTEGER), cast(total(turns) AS INTEGER), total(time_s)
FROM means
WHERE task_id IN (SELECT task_id FROM orchestration_tasks WHERE plan_id = :plan_id) AND at >= date('now')
GROUP BY is_granted;

-- name: forget_archived_means
-- Of a plan that is restored.
DELETE FROM archived_means WHERE plan_id = :plan_id;

-- name: means_of_today
SELECT '' AS task_id, is_granted, total(cost_usd) AS cost_usd, cast(total(tokens) AS INTEGER) AS tokens,
       cast(total(turns) AS INTEGER) AS turns, total(time_s) AS time_s
FROM means WHERE at >= date('now') GROUP BY is_granted;

-- name: usage_of_plan
SELECT u.* FROM orchestration_tasks t JOIN usage u ON u.task_id = t.task_id WHERE t.plan_id = :plan_id ORDER BY u.id;

-- name: costs_of_plan
-- A row for each task that has used anything.
SELECT u.task_id, sum(u.cost_usd) AS cost_usd,
       sum(u.input_tokens + u.cache_read_tokens + u.cache_write_tokens + u.output_tokens) AS tokens,
       max(u.cost_usd IS NULL) AS has_unpriced
FROM orchestration_tasks t JOIN usage u ON u.task_id = t.task_id WHERE t.plan_id = :plan_id GROUP BY u.task_id;

-- name: usage_of_task
SELECT * FROM usage WHERE task_id = :task_id ORDER BY id;

-- name: keep_conversation
INSERT INTO conversations (task_id, claim_epoch, token) VALUES (:task_id, :claim_epoch, :token)
ON CONFLICT (task_id, claim_epoch) DO UPDATE SET token = excluded.token;

-- name: conversation
-- That of one claim.
SELECT c.token, s.agent, s.exit_reason, s.context_pct FROM conversations c
JOIN sessions s ON s.task_id = c.task_id AND s.claim_epoch = c.claim_epoch
WHERE c.task_id = :task_id AND c.claim_epoch = :claim_epoch;

-- name: conversation_before
-- The newest of an earlier claim, with how that ended; none from before the task was started over.
SELECT c.token, s.agent, s.exit_reason, s.context_pct FROM conversations c
JOIN sessions s ON s.task_id = c.task_id AND s.claim_epoch = c.claim_epoch
WHERE c.task_id = :task_id AND c.claim_epoch < :claim_epoch
  AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.task_id = c.task_id AND j.kind = 'started over'
                  AND j.claim_epoch >= c.claim_epoch)
ORDER BY c.claim_epoch DESC LIMIT 1;

-- name: record_process
INSERT INTO processes (task_id, claim_epoch, role, pid, pgid, started_at_s, boot_id, host)
VALUES (:task_id, :claim_epoch, :role, :pid, :pgid, :started_at_s, :boot_id, :host)
ON CONFLICT (task_id, claim_epoch, role) DO UPDATE
SET pid = excluded.pid, pgid = excluded.pgid, started_at_s = excluded.started_at_s,
    boot_id = excluded.boot_id, host = excluded.host;

-- name: register_program
INSERT INTO programs (task_id, claim_epoch, host, version, python, system)
VALUES (:task_id, :claim_epoch, :host, :version, :python, :system)
ON CONFLICT (task_id, claim_epoch) DO UPDATE
SET host = excluded.host, version = excluded.version, python = excluded.python, system = excluded.system;

-- name: programs_at_work
-- Those of the claims that are held now, the conductor's among them.
SELECT p.* FROM orchestration_tasks t JOIN programs p ON p.task_id = t.task_id AND p.claim_epoch = t.claim_epoch
WHERE t.state IN (/*ACTIVE*/) AND t.session_id IS NOT NULL;

-- name: processes_of_task
-- The newest claim's first.
SELECT * FROM processes WHERE task_id = :task_id ORDER BY claim_epoch DESC, role;
