-- Version 1 to 2: the answers to the first audit.
-- What the guards must know stands in the database (D40).

CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

-- Where claims stand in the order of the history. One that goes on under its session's next id has no row of its own: it
-- comes before what that id does first.
CREATE VIEW claims_in_order AS
SELECT s.task_id, s.claim_epoch, s.session_id,
       coalesce((SELECT min(h.id) FROM history h WHERE h.task_id = s.task_id AND h.claim_epoch >= s.claim_epoch),
                9223372036854775807) AS place
FROM sessions s;

-- The client's session in which a person conducts, beside the run: one at a time, and what it has heard of (JSON).
CREATE TABLE conductor_sessions (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    session_id TEXT NOT NULL,
    since      TEXT NOT NULL DEFAULT (datetime('now')),
    told       TEXT NOT NULL DEFAULT '[]'
);

-- The subagents that a client's session has begun while it held a claim. Each stays bound by what a musician may do for
-- as long as it runs, whatever became of the claim (D41).
CREATE TABLE subagents (
    number      INTEGER PRIMARY KEY,  -- in the order in which they began
    agent_id    TEXT NOT NULL,
    task_id     TEXT NOT NULL,
    claim_epoch INTEGER NOT NULL,
    session_id  TEXT NOT NULL,
    kind        TEXT NOT NULL,
    started_at  TEXT NOT NULL DEFAULT (datetime('now')),
    ended_at    TEXT,
    UNIQUE (agent_id, task_id)
);

CREATE INDEX subagents_running ON subagents (task_id, claim_epoch) WHERE ended_at IS NULL;

-- The conversation that a claim's agent has: the token by which it can be gone on with.
CREATE TABLE conversations (
    task_id     TEXT NOT NULL,
    claim_epoch INTEGER NOT NULL,
    token       TEXT NOT NULL,
    PRIMARY KEY (task_id, claim_epoch)
) WITHOUT ROWID;

-- Why an agent's provider gives nothing, by the agent's name: one breaker for the whole fleet. Seconds since 1970 by the
-- database's clock; ask_id is what a person was asked where only a person can help.
CREATE TABLE limits (
    provider TEXT NOT NULL PRIMARY KEY,
    met_at_s REAL NOT NULL DEFAULT 0,
    until_s  REAL NOT NULL DEFAULT 0,
    times    INTEGER NOT NULL DEFAULT 0,  -- in a row
    ask_id   INTEGER,
    is_proven   INTEGER NOT NULL DEFAULT 0,  -- it has given something since
    probed_at_s REAL NOT NULL DEFAULT 0,
    probed_by   TEXT NOT NULL DEFAULT ''     -- the session that asks first, once the limit is over
) WITHOUT ROWID;

-- What the agents of a task have used, and what it costs, as they say it themselves: a row for each model of a piece. A
-- reviewer's stands with the claim whose submission it judged.
CREATE TABLE usage (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id            TEXT NOT NULL,
    claim_epoch        INTEGER NOT NULL,
    session_id         TEXT NOT NULL,
    item               TEXT NOT NULL,
    model              TEXT NOT NULL,     -- "" where it is not said
    input_tokens       INTEGER NOT NULL,  -- without what was read from a cache, or written to one
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cost_usd           REAL,              -- NULL where nobody says a price
    is_estimated       INTEGER NOT NULL,
    turns              INTEGER NOT NULL,  -- answers of the model
    at                 TEXT NOT NULL DEFAULT (datetime('now'))
);

CREATE INDEX usage_by_task ON usage (task_id, id);
CREATE INDEX usage_by_time ON usage (at);

-- What the ceilings count besides: how long agents have played, a row a claim and day; and what a person has granted a
-- task besides the ceilings.
CREATE TABLE playtimes (
    task_id     TEXT NOT NULL,
    claim_epoch INTEGER NOT NULL,
    day         TEXT NOT NULL DEFAULT (date('now')),
    played_s    REAL NOT NULL,
    PRIMARY KEY (task_id, claim_epoch, day)
) WITHOUT ROWID;

CREATE TABLE means_granted (
    id       INTEGER PRIMARY KEY,
    task_id  TEXT NOT NULL,
    cost_usd REAL NOT NULL,
    tokens   INTEGER NOT NULL,
    turns    INTEGER NOT NULL,
    time_s   REAL NOT NULL,
    at       TEXT NOT NULL DEFAULT (datetime('now'))
);

-- What an archived plan has used of the day on which it was archived, and was granted: the day's ceiling knows it still.
CREATE TABLE archived_means (
    plan_id    TEXT NOT NULL,
    at         TEXT NOT NULL DEFAULT (datetime('now')),
    is_granted INTEGER NOT NULL,
    cost_usd   REAL NOT NULL,
    tokens     INTEGER NOT NULL,
    turns      INTEGER NOT NULL,
    time_s     REAL NOT NULL
);

CREATE INDEX archived_means_by_time ON archived_means (at);
CREATE INDEX archived_means_by_plan ON archived_means (plan_id);
CREATE INDEX playtimes_by_day ON playtimes (day);
CREATE INDEX means_granted_by_task ON means_granted (task_id);
CREATE INDEX means_granted_by_time ON means_granted (at);

-- All of it, and what was used, in the measures of the ceilings; of no task any more where it was archived.
CREATE VIEW means (task_id, at, is_granted, cost_usd, tokens, turns, time_s) AS
    SELECT task_id, at, 0, coalesce(cost_usd, 0.0),
           input_tokens + cache_read_tokens + cache_write_tokens + output_tokens, turns, 0.0 FROM usage
    UNION ALL SELECT task_id, day, 0, 0.0, 0, 0, played_s FROM playtimes
    UNION ALL SELECT task_id, at, 1, cost_usd, tokens, turns, time_s FROM means_granted
    UNION ALL SELECT NULL, at, is_granted, cost_usd, tokens, turns, time_s FROM archived_means;

-- What stood when a piece that is played by hand was begun: where its tree was, and the user's main tree (D43).
CREATE TABLE beginnings (
    task_id     TEXT NOT NULL,
    claim_epoch INTEGER NOT NULL,
    item        TEXT NOT NULL,
    tip         TEXT NOT NULL,  -- "" where the tree is not the task's alone
    outside     TEXT NOT NULL,  -- JSON; "" where that could not be determined
    PRIMARY KEY (task_id, item)
) WITHOUT ROWID;

-- What a message says, field by field, as JSON: beside its text, which people and raw SQL read and write. A message
-- without a row here is a raw writer's, or has no fields.
CREATE TABLE message_fields (
    message_id INTEGER PRIMARY KEY,
    fields     TEXT NOT NULL
);

-- What a submission covers: its commit, tree and journal as they were then. An approval covers no more (D28).
CREATE TABLE covered (
    message_id    INTEGER NOT NULL PRIMARY KEY,  -- the submission's
    task_id       TEXT NOT NULL,
    commit_id     TEXT,              -- NULL where the tree is not the task's alone
    tree_id       TEXT NOT NULL,
    entry_id      INTEGER NOT NULL,  -- the newest of the task's journal
    changed_files INTEGER NOT NULL   -- since the task began
);

-- What people say to lines of a task's change: drafts, until a verdict carries them as its points.
CREATE TABLE comments (
    id         INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    task_id    TEXT NOT NULL,
    path       TEXT NOT NULL,
    side       TEXT NOT NULL CHECK (side IN ('old', 'new')),
    line       INTEGER NOT NULL,
    commit_id  TEXT NOT NULL,  -- has the line
    quoted     TEXT NOT NULL,
    text       TEXT NOT NULL,
    message_id INTEGER,  -- the verdict's; NULL: a draft
    number     INTEGER CHECK ((number IS NULL) = (message_id IS NULL)),
    at         TEXT NOT NULL DEFAULT (datetime('now'))
);

CREATE INDEX comments_by_task ON comments (task_id, id);

-- The claim that an order of the conductor's was written for: to leave, to stand still, a verdict (D37).
CREATE TABLE orders (
    message_id  INTEGER PRIMARY KEY,
    task_id     TEXT NOT NULL,
    claim_epoch INTEGER NOT NULL
);

CREATE INDEX orders_by_claim ON orders (task_id, claim_epoch);

-- Orders whose claim has ended: nobody's to read any more.
CREATE VIEW settled AS
SELECT o.message_id, o.task_id FROM orders o
JOIN sessions s ON s.task_id = o.task_id AND s.claim_epoch = o.claim_epoch
WHERE s.ended_at IS NOT NULL;

-- Plans that have come to their end and whose rows are in a file of their own, ``.musician/archive/<plan>/``. A file
-- without a row here was left by a kill.
CREATE TABLE archives (
    plan_id     TEXT NOT NULL PRIMARY KEY,
    title       TEXT NOT NULL,
    tasks       INTEGER NOT NULL,
    completed   INTEGER NOT NULL,
    proposals   INTEGER NOT NULL DEFAULT 0,  -- open ones
    base_branch TEXT,
    base_commit TEXT NOT NULL,
    locked_at   TEXT NOT NULL,
    finished_at TEXT,
    abandoned   TEXT,  -- why; NULL for a complete one
    archived_at TEXT NOT NULL DEFAULT (datetime('now'))
) WITHOUT ROWID;

-- Plans that were dropped: nothing is known of them. While working trees or branches of one are there, or files of its
-- archive, no other plan may take its name: it would go on from them.
CREATE TABLE dropped (
    plan_id    TEXT NOT NULL PRIMARY KEY,
    dropped_at TEXT NOT NULL DEFAULT (datetime('now'))
) WITHOUT ROWID;

-- The settings file as it was when a plan was locked or amended: what a step writes into it later is not in force.
CREATE TABLE plan_settings (
    plan_id TEXT NOT NULL PRIMARY KEY,
    text    TEXT NOT NULL
) WITHOUT ROWID;

-- The one order of what happened: a row for each message, change of state and entry of a journal, and for whatever a
-- person was asked or has settled. Triggers write it within the transaction of the row it stands for, whoever writes
-- that. Writers come one by one, so who has seen a seq has seen all before it; no seq is left out or used twice.
CREATE TABLE changes (
    seq     INTEGER PRIMARY KEY CHECK (seq > 0),
    task_id TEXT NOT NULL,
    source  TEXT NOT NULL CHECK (source IN ('message', 'state', 'journal', 'asked', 'settled', 'claim', 'usage')),
    id      INTEGER NOT NULL  -- of the row, in its own table; a claim's epoch
);

-- How the command that verifies a plan's tasks ended on a commit, run once. Who begins there has not broken what
-- failed there (D27).
CREATE TABLE baselines (
    commit_id TEXT NOT NULL,
    setup     TEXT NOT NULL,  -- the command that the tree was set up with, "" for none
    command   TEXT NOT NULL,
    result    TEXT NOT NULL,  -- JSON
    PRIMARY KEY (commit_id, setup, command)
) WITHOUT ROWID;

-- What is looked at often is found without reading what has come to its end.
CREATE INDEX tasks_open ON orchestration_tasks (plan_id, phase, position) WHERE state <> 'complete';
CREATE INDEX forecasts_by_task ON orchestration_messages (task_id, id) WHERE message_type = 'forecast';
CREATE INDEX questions_by_task ON orchestration_messages (task_id, id) WHERE message_type = 'question';
CREATE INDEX tasks_by_name ON orchestration_tasks (task_id COLLATE NOCASE, plan_id);
CREATE INDEX needs_human_open ON needs_human (id) WHERE resolved_at IS NULL;
CREATE INDEX plans_by_end ON plans (finished_at);
