-- The database of one repository (DESIGN 5). Legality and history are added by the triggers that
-- guards.py derives from protocol/transitions.py. Of ids, the checks here keep out what D8 refuses.
--
-- Times are UTC 'YYYY-MM-DD HH:MM:SS' by the database's own clock (D10).
-- orchestration_tasks has no rowid on purpose: a rowid would be a second key by which REPLACE could remove a row.

CREATE TABLE orchestration_tasks (
    task_id          TEXT NOT NULL PRIMARY KEY
                     CHECK (typeof(task_id) = 'text' AND length(CAST(task_id AS BLOB)) = length(task_id)
                            AND length(task_id) <= CASE WHEN task_id GLOB 'fallback-*' THEN 73 ELSE 64 END
                            AND task_id GLOB '[A-Za-z0-9]*' AND task_id NOT GLOB '*[^A-Za-z0-9._-]*'
                            AND task_id NOT GLOB '*.[._-]*' AND task_id NOT GLOB '*.' AND task_id NOT GLOB '*.lock'
                            AND substr(lower(task_id), 1, instr(task_id || '.', '.') - 1) NOT IN
                                ('con', 'prn', 'aux', 'nul')
                            AND substr(lower(task_id), 1, instr(task_id || '.', '.') - 1) NOT GLOB 'com[1-9]'
                            AND substr(lower(task_id), 1, instr(task_id || '.', '.') - 1) NOT GLOB 'lpt[1-9]'),
    state            TEXT NOT NULL CHECK (state IN (/*STATES*/)),
    session_id       TEXT,
    worked_by        TEXT,
    started_at       TEXT,
    last_heartbeat   TEXT,
    completed_at     TEXT,
    retry_count      INTEGER NOT NULL DEFAULT 0,
    last_error       TEXT,
    report_path      TEXT,
    instruction_path TEXT,
    claim_epoch      INTEGER NOT NULL DEFAULT 0 CHECK (typeof(claim_epoch) = 'integer'),
    title            TEXT,
    plan_id          TEXT,
    phase            INTEGER,
    position         INTEGER,
    retry_limit      INTEGER NOT NULL DEFAULT 5,
    created_at       TEXT NOT NULL DEFAULT (datetime('now'))
) WITHOUT ROWID;

CREATE INDEX tasks_by_session ON orchestration_tasks (session_id);
CREATE INDEX tasks_by_plan ON orchestration_tasks (plan_id, phase, position);
CREATE INDEX tasks_alive ON orchestration_tasks (state, last_heartbeat) WHERE state IN (/*ACTIVE*/);
CREATE INDEX tasks_open ON orchestration_tasks (plan_id, phase, position) WHERE state <> 'complete';
CREATE INDEX tasks_by_name ON orchestration_tasks (task_id COLLATE NOCASE, plan_id);

-- AUTOINCREMENT: an id is never used twice, so "greater than the last one I saw" never skips a message (D12).
-- Ids are positive: where none is given, a trigger sees -1 before the insert, which must stay free.
CREATE TABLE orchestration_messages (
    id           INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    task_id      TEXT NOT NULL,
    from_session TEXT NOT NULL,
    message_type TEXT NOT NULL,
    message      TEXT NOT NULL,
    timestamp    TEXT NOT NULL DEFAULT (datetime('now'))
);

CREATE INDEX messages_by_task ON orchestration_messages (task_id, id);
CREATE INDEX forecasts_by_task ON orchestration_messages (task_id, id) WHERE message_type = 'forecast';
CREATE INDEX questions_by_task ON orchestration_messages (task_id, id) WHERE message_type = 'question';

-- Every state change of every task: written by triggers only, never changed but for the message bound later (D5).
CREATE TABLE history (
    id            INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    task_id       TEXT NOT NULL,
    from_state    TEXT,
    to_state      TEXT NOT NULL,
    who           TEXT NOT NULL,
    session_id    TEXT,
    claim_epoch   INTEGER NOT NULL,
    message_id    INTEGER,
    message_type  TEXT,
    submission_id INTEGER,  -- what a verdict judged: the message of the submission or report (D7)
    at            TEXT NOT NULL DEFAULT (datetime('now'))
);

CREATE INDEX history_by_task ON history (task_id, id);
CREATE INDEX history_submissions ON history (task_id, to_state, id);

-- One row per claim: a session that claims two tasks has two (D1).
CREATE TABLE sessions (
    task_id     TEXT NOT NULL,
    claim_epoch INTEGER NOT NULL,
    session_id  TEXT NOT NULL,
    number      INTEGER NOT NULL,
    agent       TEXT,
    started_at  TEXT NOT NULL DEFAULT (datetime('now')),
    ended_at    TEXT,
    exit_reason TEXT,
    context_pct REAL,
    PRIMARY KEY (task_id, claim_epoch)
) WITHOUT ROWID;

CREATE INDEX sessions_by_session ON sessions (session_id);

-- Where claims stand in the order of the history. One that goes on under its session's next id has no row of its own: it
-- comes before what that id does first.
CREATE VIEW claims_in_order AS
SELECT s.task_id, s.claim_epoch, s.session_id,
       coalesce((SELECT min(h.id) FROM history h WHERE h.task_id = s.task_id AND h.claim_epoch >= s.claim_epoch),
                9223372036854775807) AS place
FROM sessions s;

-- The client that runs a session which somebody opened by hand: which process it is, and how the session ended there.
-- Written once the session claims; a session that never does leaves no row. A conversation that is cleared goes on
-- under another id, its successor. The process is the user's own: it is looked at, and never ended.
CREATE TABLE clients (
    session_id      TEXT NOT NULL PRIMARY KEY,
    pid             INTEGER NOT NULL,
    pgid            INTEGER NOT NULL,
    started_at_s    REAL NOT NULL,
    boot_id         TEXT NOT NULL,
    host            TEXT NOT NULL,
    attended        INTEGER NOT NULL,  -- a person is at its terminal
    hosted          INTEGER NOT NULL,  -- a program of ours holds the conversation, and waits in its place
    transcript_path TEXT,
    source          TEXT,              -- what the session began from, where that was seen
    started_at      TEXT NOT NULL DEFAULT (datetime('now')),
    ended_at        TEXT,
    end_reason      TEXT,
    successor       TEXT,
    last_failure    TEXT,                        -- of version 1; the journal and a message say it
    warned_pct      REAL NOT NULL DEFAULT 0,     -- the context threshold it was last told of (D15)
    iterations      INTEGER NOT NULL DEFAULT 0,  -- how often the gate kept it from stopping while nothing moved
    progress_mark   INTEGER NOT NULL DEFAULT 0,  -- what had moved then
    stops_in_a_row  INTEGER NOT NULL DEFAULT 0,  -- without a tool call between
    tool_mark       INTEGER NOT NULL DEFAULT 0,  -- where its transcript had the last tool call then
    stop_seen       TEXT,                        -- what it said when it was counted last
    stop_counted_s  REAL                         -- and when, by its machine's clock since boot
) WITHOUT ROWID;

CREATE INDEX clients_by_process ON clients (pid);

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

-- Recorded before anything is executed, so that exactly this process can be ended later (D23).
CREATE TABLE processes (
    task_id      TEXT NOT NULL,
    claim_epoch  INTEGER NOT NULL,
    role         TEXT NOT NULL CHECK (role IN ('musician', 'agent')),
    pid          INTEGER NOT NULL,
    pgid         INTEGER NOT NULL,
    started_at_s REAL NOT NULL,
    boot_id      TEXT NOT NULL,
    host         TEXT NOT NULL,
    PRIMARY KEY (task_id, claim_epoch, role)
) WITHOUT ROWID;

-- Delivered and acknowledged are two facts beside "stored" (D12).
CREATE TABLE receipts (
    task_id         TEXT NOT NULL,
    message_id      INTEGER NOT NULL,
    session_id      TEXT NOT NULL,
    claim_epoch     INTEGER NOT NULL,
    delivered_at    TEXT NOT NULL DEFAULT (datetime('now')),
    acknowledged_at TEXT,
    PRIMARY KEY (task_id, message_id)
) WITHOUT ROWID;

-- What the conductor lets the sessions of a task do of what a musician never does by itself (D21).
CREATE TABLE grants (
    task_id    TEXT NOT NULL,
    act        TEXT NOT NULL,
    message_id INTEGER NOT NULL,  -- that granted it last
    granted_at TEXT NOT NULL DEFAULT (datetime('now')),
    revoked_by INTEGER,           -- the message that took it back
    PRIMARY KEY (task_id, act)
) WITHOUT ROWID;

-- What a session did, in order; never changed. Progress is computed from it.
CREATE TABLE journal (
    id          INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    task_id     TEXT NOT NULL,
    claim_epoch INTEGER NOT NULL,
    session_id  TEXT NOT NULL,
    kind        TEXT NOT NULL,
    item        TEXT NOT NULL DEFAULT '',
    text        TEXT NOT NULL DEFAULT '',
    severity    TEXT,
    context_pct REAL,
    commit_id   TEXT,
    at          TEXT NOT NULL DEFAULT (datetime('now'))
);

CREATE INDEX journal_by_task ON journal (task_id, id);

-- The conversation that a claim's agent has: the token by which it can be gone on with.
CREATE TABLE conversations (
    task_id     TEXT NOT NULL,
    claim_epoch INTEGER NOT NULL,
    token       TEXT NOT NULL,
    PRIMARY KEY (task_id, claim_epoch)
) WITHOUT ROWID;

-- The login that a claim's agent has with its provider, where it is not the agent's own name.
CREATE TABLE session_accounts (
    task_id     TEXT NOT NULL,
    claim_epoch INTEGER NOT NULL,
    account     TEXT NOT NULL,
    PRIMARY KEY (task_id, claim_epoch)
) WITHOUT ROWID;

-- Why an agent's provider gives an account nothing: one breaker for the whole fleet. Seconds since 1970 by the
-- database's clock; ask_id is what a person was asked where only a person can help.
CREATE TABLE limits (
    account  TEXT NOT NULL PRIMARY KEY,
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

-- Each deviation is ruled once (D17).
CREATE TABLE rulings (
    journal_id INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL,
    at         TEXT NOT NULL DEFAULT (datetime('now'))
);

-- Texts that also exist as files: HANDOFFs, reports, instructions (D25: nothing of value lives only in temp/).
CREATE TABLE documents (
    id          INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    task_id     TEXT NOT NULL,
    claim_epoch INTEGER NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('handoff', 'report', 'instruction', 'proposal')),
    path        TEXT NOT NULL,
    body        TEXT NOT NULL,
    written_by  TEXT NOT NULL CHECK (written_by IN ('agent', 'program')),
    at          TEXT NOT NULL DEFAULT (datetime('now'))
);

CREATE INDEX documents_by_task ON documents (task_id, kind, id);

-- What musicians propose, decided once by the conductor (D21). The text is the document; a merge gives it a newer one.
CREATE TABLE proposals (
    id          INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    task_id     TEXT NOT NULL,
    claim_epoch INTEGER NOT NULL,   -- 0 where the conductor proposed it
    session_id  TEXT NOT NULL,
    type        TEXT NOT NULL,
    title       TEXT NOT NULL,
    path        TEXT NOT NULL,
    document_id INTEGER NOT NULL,
    message_id  INTEGER NOT NULL,   -- the newest message of its task then: a later submission names it
    status      TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'accepted', 'merged', 'rejected')),
    outcome     TEXT NOT NULL DEFAULT '' CHECK ((status = 'open') = (outcome = '')),
    at          TEXT NOT NULL DEFAULT (datetime('now')),
    decided_at  TEXT
);

CREATE INDEX proposals_by_task ON proposals (task_id, id);
CREATE INDEX proposals_by_status ON proposals (status, id);
CREATE INDEX proposals_by_path ON proposals (path);

-- Verification results, stored by the program that ran it (D16).
CREATE TABLE verifications (
    id           INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    task_id      TEXT NOT NULL,
    claim_epoch  INTEGER NOT NULL,
    checkpoint   INTEGER NOT NULL,
    covers_all   INTEGER NOT NULL,
    outcome      TEXT NOT NULL CHECK (outcome IN ('green', 'red', 'flaky', 'cannot_run')),
    tree_id      TEXT NOT NULL,
    journal_id   INTEGER NOT NULL,  -- the newest journal entry it knew of: later work makes it stale
    result       TEXT NOT NULL CHECK (json_valid(result)),
    submission_id INTEGER,
    at           TEXT NOT NULL DEFAULT (datetime('now'))
);

CREATE INDEX verifications_by_task ON verifications (task_id, id);

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

-- What a reviewing agent said of a submission, kept before the conductor acts on it (D18.6).
CREATE TABLE opinions (
    submission_id INTEGER NOT NULL PRIMARY KEY,
    task_id       TEXT NOT NULL,
    judgement     TEXT CHECK (judgement IN ('approve', 'reject', 'fix')),  -- NULL: none that counts; text says why
    text          TEXT NOT NULL,
    ruled         TEXT NOT NULL CHECK (json_valid(ruled)),  -- numbers, from 1, of the deviations it was shown
    at            TEXT NOT NULL DEFAULT (datetime('now'))
);

CREATE INDEX opinions_by_task ON opinions (task_id);

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

-- What waits for a person, beside an unchanged state (D18).
CREATE TABLE needs_human (
    id          INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    task_id     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    subject_id  INTEGER NOT NULL DEFAULT 0,
    text        TEXT NOT NULL,
    at          TEXT NOT NULL DEFAULT (datetime('now')),
    resolved_at TEXT,
    resolution  TEXT
);

CREATE UNIQUE INDEX needs_human_once ON needs_human (task_id, kind, subject_id);
CREATE INDEX needs_human_open ON needs_human (id) WHERE resolved_at IS NULL;

CREATE TABLE plans (
    plan_id     TEXT NOT NULL PRIMARY KEY,
    path        TEXT NOT NULL,
    title       TEXT NOT NULL,
    sha256      TEXT NOT NULL,
    text        TEXT NOT NULL,
    base_branch TEXT,
    base_commit TEXT NOT NULL,
    locked_at   TEXT NOT NULL DEFAULT (datetime('now')),
    finished_at TEXT
) WITHOUT ROWID;

CREATE INDEX plans_by_end ON plans (finished_at);

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

-- How many tasks an archived plan did not wait for. One without a row here was archived before these were counted, and
-- may have them among its tasks.
CREATE TABLE archived_settled (
    plan_id   TEXT NOT NULL PRIMARY KEY,
    skipped   INTEGER NOT NULL,
    withdrawn INTEGER NOT NULL
) WITHOUT ROWID;

-- Plans that were dropped: nothing is known of them. While working trees or branches of one are there, or files of its
-- archive, no other plan may take its name: it would go on from them.
CREATE TABLE dropped (
    plan_id    TEXT NOT NULL PRIMARY KEY,
    dropped_at TEXT NOT NULL DEFAULT (datetime('now'))
) WITHOUT ROWID;

-- When a plan was paused, by whom and why, and until when. While a row has no end nothing of its plan is claimed or
-- begun.
CREATE TABLE plan_pauses (
    id         INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    plan_id    TEXT NOT NULL,
    who        TEXT NOT NULL DEFAULT '',
    reason     TEXT NOT NULL DEFAULT '',
    at         TEXT NOT NULL DEFAULT (datetime('now')),
    resumed_by TEXT NOT NULL DEFAULT '',
    resumed_at TEXT
);

CREATE UNIQUE INDEX plan_pauses_open ON plan_pauses (plan_id) WHERE resumed_at IS NULL;

-- The settings file as it was when a plan was locked or amended: what a step writes into it later is not in force.
CREATE TABLE plan_settings (
    plan_id TEXT NOT NULL PRIMARY KEY,
    text    TEXT NOT NULL
) WITHOUT ROWID;

-- How the command that verifies a plan's tasks ended on a commit, run once. Who begins there has not broken what
-- failed there (D27).
CREATE TABLE baselines (
    commit_id TEXT NOT NULL,
    setup     TEXT NOT NULL,  -- the command that the tree was set up with, "" for none
    command   TEXT NOT NULL,
    result    TEXT NOT NULL,  -- JSON
    PRIMARY KEY (commit_id, setup, command)
) WITHOUT ROWID;

CREATE TABLE phases (
    plan_id TEXT NOT NULL,
    number  INTEGER NOT NULL,
    title   TEXT NOT NULL,
    PRIMARY KEY (plan_id, number)
) WITHOUT ROWID;

-- Both directions of what two tasks of a plan must not do at once: touch the same dangerous file.
CREATE TABLE conflicts (
    task_id TEXT NOT NULL,
    other   TEXT NOT NULL,
    PRIMARY KEY (task_id, other)
) WITHOUT ROWID;

CREATE TABLE dependencies (
    task_id TEXT NOT NULL,
    after   TEXT NOT NULL,
    PRIMARY KEY (task_id, after)
) WITHOUT ROWID;

-- What the guards must know and what the schema is: written by the program, read by triggers (D40).
CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

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

-- The one order of what happened: a row for each message, change of state and entry of a journal, for whatever a person
-- was asked or has settled, and for each proposal that was decided. Triggers write it within the transaction of the row it stands for, whoever writes
-- that. Writers come one by one, so who has seen a seq has seen all before it; no seq is left out or used twice.
CREATE TABLE changes (
    seq     INTEGER PRIMARY KEY CHECK (seq > 0),
    task_id TEXT NOT NULL,
    source  TEXT NOT NULL CHECK (
        source IN ('message', 'state', 'journal', 'asked', 'settled', 'decided', 'claim', 'usage')
    ),
    id      INTEGER NOT NULL  -- of the row, in its own table; a claim's epoch
);

CREATE INDEX changes_of_states ON changes (id) WHERE source = 'state';
CREATE INDEX changes_of_messages ON changes (id) WHERE source = 'message';

-- Who has decided, where that was a person, or the session in which one conducts: of messages, changes of a state,
-- settled questions and decided proposals, each time by its place. What nobody has signed is the program's own.
CREATE TABLE signatures (
    seq        INTEGER PRIMARY KEY,
    task_id    TEXT NOT NULL,
    name       TEXT NOT NULL,
    session_id TEXT  -- that spoke for the person
);

CREATE INDEX signatures_by_task ON signatures (task_id);

-- How a question was settled, each time: it may be asked again, and its own row then knows the last time alone.
CREATE TABLE settlements (
    seq        INTEGER PRIMARY KEY,
    task_id    TEXT NOT NULL,
    resolution TEXT NOT NULL,
    at         TEXT NOT NULL
);

-- With which program a claim is played, on which machine; of the conductor's row, the run's. Of a session that somebody
-- opened by hand there is none.
CREATE TABLE programs (
    task_id     TEXT NOT NULL,
    claim_epoch INTEGER NOT NULL,
    host        TEXT NOT NULL,
    version     TEXT NOT NULL,
    python      TEXT NOT NULL,
    system      TEXT NOT NULL,
    PRIMARY KEY (task_id, claim_epoch)
) WITHOUT ROWID;
