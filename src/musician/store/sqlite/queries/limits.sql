-- Limits of the accounts that agents have with their providers: one breaker for each, the fleet's.

-- name: account_of
-- Of the newest session of a task.
SELECT coalesce(account, agent, '') FROM sessions LEFT JOIN session_accounts USING (task_id, claim_epoch)
WHERE task_id = :task_id ORDER BY claim_epoch DESC LIMIT 1;

-- name: now_s
SELECT unixepoch('now', 'subsec');

-- name: limits
-- With the time of the look. is_refused: a person was asked, and has not settled it.
SELECT account, met_at_s, until_s, times, is_proven, probed_at_s, probed_by, unixepoch('now', 'subsec') AS now_s,
       datetime(until_s, 'unixepoch') AS until,
       EXISTS (SELECT 1 FROM needs_human h WHERE h.id = ask_id AND h.resolved_at IS NULL) AS is_refused
FROM limits WHERE :account IS NULL OR account = :account;

-- name: keep_limit
INSERT INTO limits (account, met_at_s, until_s, times) VALUES (:account, :met_at_s, :until_s, :times)
ON CONFLICT (account) DO UPDATE
SET met_at_s = excluded.met_at_s, until_s = excluded.until_s, times = excluded.times, is_proven = 0, probed_at_s = 0;

-- name: probe
UPDATE limits SET probed_at_s = unixepoch('now', 'subsec'), probed_by = :session_id WHERE account = :account;

-- name: prove
-- One that began later than now, by a clock that was set back since, is over as well.
UPDATE limits SET is_proven = 1
WHERE account = :account AND NOT is_proven
    AND NOT (met_at_s <= unixepoch('now', 'subsec') AND unixepoch('now', 'subsec') < until_s);

-- name: refuse
-- Until what a person was asked is settled.
INSERT INTO limits (account, ask_id)
SELECT :account, id FROM needs_human WHERE task_id = :task_id AND kind = :kind AND subject_id = :subject_id
ON CONFLICT (account) DO UPDATE SET ask_id = excluded.ask_id, times = 0, is_proven = 0, probed_at_s = 0;

-- name: retry_refused
-- A new run asks every account again, whatever plan it was met in.
UPDATE needs_human SET resolved_at = datetime('now'), resolution = :resolution
WHERE id IN (SELECT ask_id FROM limits) AND resolved_at IS NULL;

-- name: lift
DELETE FROM limits WHERE account = :account;
