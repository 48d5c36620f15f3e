-- A database with a life in it, as the program of commit 9c93bcc (schema version 1) left it: five tasks, one complete,
-- one sent back after an error, one handed off, one in review. Made with its own verbs and the shell's .dump.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
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
    state            TEXT NOT NULL CHECK (state IN ('watching', 'working', 'needs_review', 'review_approved', 'review_failed', 'fix_proposed', 'error', 'exit_requested', 'exited', 'complete')),
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
INSERT INTO orchestration_tasks VALUES('fallback-epsilon','exited','epsilon',NULL,NULL,'2026-11-28 11:08:19',NULL,0,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,5,'2026-11-28 11:08:19');
INSERT INTO orchestration_tasks VALUES('task-00','working','conductor-1','conductor','2026-11-28 11:08:19','2026-11-28 11:08:19',NULL,0,NULL,NULL,NULL,1,NULL,NULL,NULL,NULL,5,'2026-11-28 11:08:19');
INSERT INTO orchestration_tasks VALUES('task-01','complete','alpha','musician-task-01','2026-11-28 11:08:19','2026-11-28 11:08:19','2026-11-28 11:08:19',0,NULL,'docs/report.md','docs/tasks/task-01.md',1,'Task 1',NULL,NULL,NULL,5,'2026-11-28 11:08:19');
INSERT INTO orchestration_tasks VALUES('task-02','fix_proposed','beta','musician-task-02','2026-11-28 11:08:19','2026-11-28 11:08:19',NULL,1,'it broke',NULL,'docs/tasks/task-02.md',1,'Task 2',NULL,NULL,NULL,5,'2026-11-28 11:08:19');
INSERT INTO orchestration_tasks VALUES('task-03','exited','gamma','musician-task-03','2026-11-28 11:08:19','2026-11-28 11:08:19',NULL,0,NULL,NULL,'docs/tasks/task-03.md',1,'Task 3',NULL,NULL,NULL,5,'2026-11-28 11:08:19');
INSERT INTO orchestration_tasks VALUES('task-04','needs_review','delta','musician-task-04','2026-11-28 11:08:19','2026-11-28 11:08:19',NULL,0,NULL,NULL,'docs/tasks/task-04.md',1,'Task 4',NULL,NULL,NULL,5,'2026-11-28 11:08:19');
INSERT INTO orchestration_tasks VALUES('task-05','watching',NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,'docs/tasks/task-05.md',0,'Task 5',NULL,NULL,NULL,5,'2026-11-28 11:08:19');
CREATE TABLE orchestration_messages (
    id           INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    task_id      TEXT NOT NULL,
    from_session TEXT NOT NULL,
    message_type TEXT NOT NULL,
    message      TEXT NOT NULL,
    timestamp    TEXT NOT NULL DEFAULT (datetime('now'))
);
INSERT INTO orchestration_messages VALUES(1,'task-01','task-00','instruction','docs/tasks/task-01.md','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(2,'task-02','task-00','instruction','docs/tasks/task-02.md','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(3,'task-03','task-00','instruction','docs/tasks/task-03.md','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(4,'task-04','task-00','instruction','docs/tasks/task-04.md','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(5,'task-05','task-00','instruction','docs/tasks/task-05.md','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(6,'task-01','alpha','completion','TASK COMPLETE','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(7,'task-01','task-00','approval','Well played — ok','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(8,'task-01','alpha','completed','COMPLETED','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(9,'task-02','beta','error','ERROR (Retry 1/5):','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(10,'task-02','task-00','fix_proposal','try the other way','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(11,'task-03','task-00','exit_request','please leave','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(12,'task-03','gamma','handoff','EXITED','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(13,'task-04','delta','review_request','REVIEW REQUEST','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(14,'task-04','task-00','note','look at the tests','2026-11-28 11:08:19');
INSERT INTO orchestration_messages VALUES(15,'task-04','epsilon','claim_blocked',replace('CLAIM BLOCKED: Guard prevented claim on task-04 (needs_review: its state cannot be claimed; session delta has it since 2026-11-28 11:08:19, last heartbeat 2026-11-28 11:08:19 (UTC)).\n  Context Usage: unknown\n  Created fallback row to exit cleanly. Conductor intervention needed.','\n',char(10)),'2026-11-28 11:08:19');
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
INSERT INTO history VALUES(1,'task-00',NULL,'working','task-00','conductor-1',1,NULL,NULL,NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(2,'task-01',NULL,'watching','task-00',NULL,0,1,'instruction',NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(3,'task-02',NULL,'watching','task-00',NULL,0,2,'instruction',NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(4,'task-03',NULL,'watching','task-00',NULL,0,3,'instruction',NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(5,'task-04',NULL,'watching','task-00',NULL,0,4,'instruction',NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(6,'task-05',NULL,'watching','task-00',NULL,0,5,'instruction',NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(7,'task-01','watching','working','alpha','alpha',1,NULL,NULL,NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(8,'task-01','working','needs_review','alpha','alpha',1,6,'completion',NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(9,'task-01','needs_review','review_approved','task-00','alpha',1,7,'approval',6,'2026-11-28 11:08:19');
INSERT INTO history VALUES(10,'task-01','review_approved','complete','alpha','alpha',1,8,'completed',NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(11,'task-02','watching','working','beta','beta',1,NULL,NULL,NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(12,'task-02','working','error','beta','beta',1,9,'error',NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(13,'task-02','error','fix_proposed','task-00','beta',1,10,'fix_proposal',9,'2026-11-28 11:08:19');
INSERT INTO history VALUES(14,'task-03','watching','working','gamma','gamma',1,NULL,NULL,NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(15,'task-03','working','exit_requested','task-00','gamma',1,11,'exit_request',NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(16,'task-03','exit_requested','exited','gamma','gamma',1,12,'handoff',NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(17,'task-04','watching','working','delta','delta',1,NULL,NULL,NULL,'2026-11-28 11:08:19');
INSERT INTO history VALUES(18,'task-04','working','needs_review','delta','delta',1,13,'review_request',NULL,'2026-11-28 11:08:19');
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
INSERT INTO sessions VALUES('task-01',1,'alpha',1,NULL,'2026-11-28 11:08:19','2026-11-28 11:08:19','complete',NULL);
INSERT INTO sessions VALUES('task-02',1,'beta',1,NULL,'2026-11-28 11:08:19',NULL,NULL,NULL);
INSERT INTO sessions VALUES('task-03',1,'gamma',1,NULL,'2026-11-28 11:08:19','2026-11-28 11:08:19','context',NULL);
INSERT INTO sessions VALUES('task-04',1,'delta',1,NULL,'2026-11-28 11:08:19',NULL,NULL,NULL);
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
    last_failure    TEXT,
    warned_pct      REAL NOT NULL DEFAULT 0,     -- the context threshold it was last told of (D15)
    iterations      INTEGER NOT NULL DEFAULT 0,  -- how often the gate kept it from stopping while nothing moved
    progress_mark   INTEGER NOT NULL DEFAULT 0,  -- what had moved then
    stops_in_a_row  INTEGER NOT NULL DEFAULT 0,  -- without a tool call between
    tool_mark       INTEGER NOT NULL DEFAULT 0,  -- where its transcript had the last tool call then
    stop_seen       TEXT,                        -- what it said when it was counted last
    stop_counted_s  REAL                         -- and when, by its machine's clock since boot
) WITHOUT ROWID;
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
CREATE TABLE receipts (
    task_id         TEXT NOT NULL,
    message_id      INTEGER NOT NULL,
    session_id      TEXT NOT NULL,
    claim_epoch     INTEGER NOT NULL,
    delivered_at    TEXT NOT NULL DEFAULT (datetime('now')),
    acknowledged_at TEXT,
    PRIMARY KEY (task_id, message_id)
) WITHOUT ROWID;
CREATE TABLE grants (
    task_id    TEXT NOT NULL,
    act        TEXT NOT NULL,
    message_id INTEGER NOT NULL,  -- that granted it last
    granted_at TEXT NOT NULL DEFAULT (datetime('now')),
    revoked_by INTEGER,           -- the message that took it back
    PRIMARY KEY (task_id, act)
) WITHOUT ROWID;
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
CREATE TABLE rulings (
    journal_id INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL,
    at         TEXT NOT NULL DEFAULT (datetime('now'))
);
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
INSERT INTO documents VALUES(1,'task-01',1,'report','docs/report.md','done','program','2026-11-28 11:08:19');
INSERT INTO documents VALUES(2,'task-03',1,'handoff','temp/HANDOFF','next: all','program','2026-11-28 11:08:19');
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
INSERT INTO verifications VALUES(1,'task-01',1,1,1,'green','tree',0,'{}',6,'2026-11-28 11:08:19');
INSERT INTO verifications VALUES(2,'task-04',1,1,1,'green','tree',0,'{}',13,'2026-11-28 11:08:19');
CREATE TABLE opinions (
    submission_id INTEGER NOT NULL PRIMARY KEY,
    task_id       TEXT NOT NULL,
    judgement     TEXT CHECK (judgement IN ('approve', 'reject', 'fix')),  -- NULL: none that counts; text says why
    text          TEXT NOT NULL,
    ruled         TEXT NOT NULL CHECK (json_valid(ruled)),  -- numbers, from 1, of the deviations it was shown
    at            TEXT NOT NULL DEFAULT (datetime('now'))
);
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
INSERT INTO needs_human VALUES(1,'task-02','rounds',1,'five rounds','2026-11-28 11:08:19',NULL,NULL);
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
CREATE TABLE phases (
    plan_id TEXT NOT NULL,
    number  INTEGER NOT NULL,
    title   TEXT NOT NULL,
    PRIMARY KEY (plan_id, number)
) WITHOUT ROWID;
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
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('history',18);
INSERT INTO sqlite_sequence VALUES('orchestration_messages',15);
INSERT INTO sqlite_sequence VALUES('verifications',2);
INSERT INTO sqlite_sequence VALUES('documents',2);
INSERT INTO sqlite_sequence VALUES('needs_human',1);
CREATE INDEX tasks_by_session ON orchestration_tasks (session_id);
CREATE INDEX tasks_by_plan ON orchestration_tasks (plan_id, phase, position);
CREATE INDEX tasks_alive ON orchestration_tasks (state, last_heartbeat) WHERE state IN ('working', 'needs_review', 'review_approved', 'review_failed', 'fix_proposed', 'error', 'exit_requested');
CREATE INDEX messages_by_task ON orchestration_messages (task_id, id);
CREATE INDEX history_by_task ON history (task_id, id);
CREATE INDEX history_submissions ON history (task_id, to_state, id);
CREATE INDEX sessions_by_session ON sessions (session_id);
CREATE INDEX clients_by_process ON clients (pid);
CREATE INDEX journal_by_task ON journal (task_id, id);
CREATE INDEX documents_by_task ON documents (task_id, kind, id);
CREATE INDEX proposals_by_task ON proposals (task_id, id);
CREATE INDEX proposals_by_status ON proposals (status, id);
CREATE INDEX proposals_by_path ON proposals (path);
CREATE INDEX verifications_by_task ON verifications (task_id, id);
CREATE INDEX opinions_by_task ON opinions (task_id);
CREATE UNIQUE INDEX needs_human_once ON needs_human (task_id, kind, subject_id);
CREATE TRIGGER tasks_fallback_again BEFORE INSERT ON orchestration_tasks
WHEN NEW.task_id GLOB 'fallback-*' AND NEW.state = 'exited' AND EXISTS (SELECT 1 FROM orchestration_tasks WHERE task_id = NEW.task_id)
BEGIN
    SELECT RAISE(IGNORE);
END;
CREATE TRIGGER tasks_unique BEFORE INSERT ON orchestration_tasks
WHEN EXISTS (SELECT 1 FROM orchestration_tasks WHERE task_id = NEW.task_id) AND NOT (NEW.task_id GLOB 'fallback-*' AND NEW.state = 'exited')
BEGIN
    SELECT RAISE(ABORT, 'musician: this task exists already, change its row with UPDATE');
END;
CREATE TRIGGER tasks_begin BEFORE INSERT ON orchestration_tasks
WHEN NOT EXISTS (SELECT 1 FROM orchestration_tasks WHERE task_id = NEW.task_id) AND NOT ((NEW.task_id GLOB 'fallback-*' AND NEW.state = 'exited' AND NEW.task_id IS 'fallback-' || NEW.session_id AND NOT lower(trim(coalesce(NEW.session_id, ''), ' ' || char(9, 10, 11, 12, 13))) IN ('', 'null', 'none', 'undefined')) OR (NEW.task_id = 'task-00' AND NEW.state IN ('working')) OR (NEW.task_id <> 'task-00' AND NOT NEW.task_id GLOB 'fallback-*' AND NEW.state = 'watching' AND NEW.session_id IS NULL AND NEW.claim_epoch = 0))
BEGIN
    SELECT RAISE(ABORT, 'musician: a task begins as watching without a session, a blocked session as exited under fallback-<session>');
END;
CREATE TRIGGER tasks_keep_id BEFORE UPDATE OF task_id ON orchestration_tasks
WHEN NEW.task_id IS NOT OLD.task_id
BEGIN
    SELECT RAISE(ABORT, 'musician: a task keeps its id');
END;
CREATE TRIGGER tasks_stay BEFORE DELETE ON orchestration_tasks
WHEN OLD.task_id NOT GLOB 'fallback-*'
BEGIN
    SELECT RAISE(ABORT, 'musician: tasks are never deleted');
END;
CREATE TRIGGER tasks_epoch_grows BEFORE UPDATE OF claim_epoch ON orchestration_tasks
WHEN NEW.claim_epoch < OLD.claim_epoch
BEGIN
    SELECT RAISE(ABORT, 'musician: a claim epoch only grows');
END;
CREATE TRIGGER tasks_complete_is_final BEFORE UPDATE OF state, session_id, worked_by, started_at, last_heartbeat, completed_at, retry_count, last_error, report_path, claim_epoch ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND OLD.state = 'complete' AND NEW.state = 'complete'
BEGIN
    SELECT RAISE(IGNORE);
END;
CREATE TRIGGER task_from_watching BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND OLD.state = 'watching' AND NEW.state <> 'watching' AND NEW.state NOT IN ('working', 'exited')
BEGIN
    SELECT RAISE(ABORT, 'musician: from watching a task may only become working, exited');
END;
CREATE TRIGGER task_from_working BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND OLD.state = 'working' AND NEW.state <> 'working' AND NEW.state NOT IN ('needs_review', 'fix_proposed', 'error', 'exit_requested', 'exited', 'complete')
BEGIN
    SELECT RAISE(ABORT, 'musician: from working a task may only become needs_review, fix_proposed, error, exit_requested, exited, complete');
END;
CREATE TRIGGER task_from_needs_review BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND OLD.state = 'needs_review' AND NEW.state <> 'needs_review' AND NEW.state NOT IN ('review_approved', 'review_failed', 'fix_proposed', 'error', 'exit_requested', 'exited')
BEGIN
    SELECT RAISE(ABORT, 'musician: from needs_review a task may only become review_approved, review_failed, fix_proposed, error, exit_requested, exited');
END;
CREATE TRIGGER task_from_review_approved BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND OLD.state = 'review_approved' AND NEW.state <> 'review_approved' AND NEW.state NOT IN ('working', 'needs_review', 'fix_proposed', 'exit_requested', 'exited', 'complete')
BEGIN
    SELECT RAISE(ABORT, 'musician: from review_approved a task may only become working, needs_review, fix_proposed, exit_requested, exited, complete');
END;
CREATE TRIGGER task_from_review_failed BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND OLD.state = 'review_failed' AND NEW.state <> 'review_failed' AND NEW.state NOT IN ('working', 'needs_review', 'fix_proposed', 'exit_requested', 'exited')
BEGIN
    SELECT RAISE(ABORT, 'musician: from review_failed a task may only become working, needs_review, fix_proposed, exit_requested, exited');
END;
CREATE TRIGGER task_from_fix_proposed BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND OLD.state = 'fix_proposed' AND NEW.state <> 'fix_proposed' AND NEW.state NOT IN ('working', 'needs_review', 'fix_proposed', 'exit_requested', 'exited')
BEGIN
    SELECT RAISE(ABORT, 'musician: from fix_proposed a task may only become working, needs_review, fix_proposed, exit_requested, exited');
END;
CREATE TRIGGER task_from_error BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND OLD.state = 'error' AND NEW.state <> 'error' AND NEW.state NOT IN ('review_approved', 'review_failed', 'fix_proposed', 'exit_requested', 'exited')
BEGIN
    SELECT RAISE(ABORT, 'musician: from error a task may only become review_approved, review_failed, fix_proposed, exit_requested, exited');
END;
CREATE TRIGGER task_from_exit_requested BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND OLD.state = 'exit_requested' AND NEW.state <> 'exit_requested' AND NEW.state NOT IN ('working', 'fix_proposed', 'exit_requested', 'exited')
BEGIN
    SELECT RAISE(ABORT, 'musician: from exit_requested a task may only become working, fix_proposed, exit_requested, exited');
END;
CREATE TRIGGER task_from_exited BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND OLD.state = 'exited' AND NEW.state <> 'exited' AND NEW.state NOT IN ('fix_proposed')
BEGIN
    SELECT RAISE(ABORT, 'musician: from exited a task may only become fix_proposed');
END;
CREATE TRIGGER task_from_complete BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND OLD.state = 'complete' AND NEW.state <> 'complete'
BEGIN
    SELECT RAISE(ABORT, 'musician: from complete a task may only become nothing (a correction is a new task)');
END;
CREATE TRIGGER conductor_from_watching BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id = 'task-00' AND OLD.state = 'watching' AND NEW.state <> 'watching'
BEGIN
    SELECT RAISE(ABORT, 'musician: from watching a conductor may only become nothing');
END;
CREATE TRIGGER conductor_from_working BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id = 'task-00' AND OLD.state = 'working' AND NEW.state <> 'working' AND NEW.state NOT IN ('exit_requested', 'complete')
BEGIN
    SELECT RAISE(ABORT, 'musician: from working a conductor may only become exit_requested, complete');
END;
CREATE TRIGGER conductor_from_needs_review BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id = 'task-00' AND OLD.state = 'needs_review' AND NEW.state <> 'needs_review'
BEGIN
    SELECT RAISE(ABORT, 'musician: from needs_review a conductor may only become nothing');
END;
CREATE TRIGGER conductor_from_review_approved BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id = 'task-00' AND OLD.state = 'review_approved' AND NEW.state <> 'review_approved'
BEGIN
    SELECT RAISE(ABORT, 'musician: from review_approved a conductor may only become nothing');
END;
CREATE TRIGGER conductor_from_review_failed BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id = 'task-00' AND OLD.state = 'review_failed' AND NEW.state <> 'review_failed'
BEGIN
    SELECT RAISE(ABORT, 'musician: from review_failed a conductor may only become nothing');
END;
CREATE TRIGGER conductor_from_fix_proposed BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id = 'task-00' AND OLD.state = 'fix_proposed' AND NEW.state <> 'fix_proposed'
BEGIN
    SELECT RAISE(ABORT, 'musician: from fix_proposed a conductor may only become nothing');
END;
CREATE TRIGGER conductor_from_error BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id = 'task-00' AND OLD.state = 'error' AND NEW.state <> 'error'
BEGIN
    SELECT RAISE(ABORT, 'musician: from error a conductor may only become nothing');
END;
CREATE TRIGGER conductor_from_exit_requested BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id = 'task-00' AND OLD.state = 'exit_requested' AND NEW.state <> 'exit_requested' AND NEW.state NOT IN ('working')
BEGIN
    SELECT RAISE(ABORT, 'musician: from exit_requested a conductor may only become working');
END;
CREATE TRIGGER conductor_from_exited BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id = 'task-00' AND OLD.state = 'exited' AND NEW.state <> 'exited'
BEGIN
    SELECT RAISE(ABORT, 'musician: from exited a conductor may only become nothing');
END;
CREATE TRIGGER conductor_from_complete BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id = 'task-00' AND OLD.state = 'complete' AND NEW.state <> 'complete' AND NEW.state NOT IN ('working')
BEGIN
    SELECT RAISE(ABORT, 'musician: from complete a conductor may only become working');
END;
CREATE TRIGGER fallback_stays_exited BEFORE UPDATE OF state ON orchestration_tasks
WHEN NEW.task_id GLOB 'fallback-*' AND NEW.state <> OLD.state
BEGIN
    SELECT RAISE(ABORT, 'musician: the row of a blocked session only lets it end');
END;
CREATE TRIGGER tasks_claim BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND NEW.state = 'working' AND OLD.state IN ('watching', 'fix_proposed', 'exit_requested') AND (lower(trim(coalesce(NEW.session_id, ''), ' ' || char(9, 10, 11, 12, 13))) IN ('', 'null', 'none', 'undefined') OR (OLD.task_id <> 'task-00' AND NEW.state = 'working' AND OLD.state IN ('watching', 'fix_proposed', 'exit_requested') AND NOT (OLD.state = 'fix_proposed' AND NEW.session_id IS OLD.session_id)) AND (NOT EXISTS (SELECT 1 FROM orchestration_messages WHERE task_id = OLD.task_id AND from_session = 'task-00' AND message_type = 'instruction') OR (OLD.session_id IS NOT NULL AND OLD.last_heartbeat IS NOT NULL AND NOT coalesce(OLD.last_heartbeat GLOB '[0-9][0-9][0-9][0-9]-*' AND datetime(OLD.last_heartbeat) <= datetime('now', '-540 seconds'), 0)) OR OLD.session_id IS NOT NULL AND (OLD.claim_epoch > 0 AND NOT EXISTS (SELECT 1 FROM sessions WHERE task_id = OLD.task_id AND claim_epoch = OLD.claim_epoch))))
BEGIN
    SELECT RAISE(IGNORE);
END;
CREATE TRIGGER tasks_verdict_on_whole BEFORE UPDATE OF state ON orchestration_tasks
WHEN (OLD.task_id <> 'task-00' AND OLD.state IN ('needs_review', 'error') AND NEW.state IN ('review_approved', 'review_failed', 'fix_proposed') AND NOT (OLD.task_id <> 'task-00' AND NEW.state = 'fix_proposed' AND OLD.state IN ('working', 'needs_review', 'review_approved', 'review_failed', 'fix_proposed', 'error', 'exit_requested') AND (OLD.state IN ('working', 'review_approved', 'review_failed', 'exit_requested') OR OLD.session_id IS NOT NULL AND NEW.session_id IS NULL OR OLD.state IN ('needs_review', 'error') AND coalesce((SELECT m.message_type FROM orchestration_messages m WHERE m.task_id = NEW.task_id AND m.from_session = CASE WHEN NEW.task_id = 'task-00' OR NEW.state IN ('watching', 'review_approved', 'review_failed', 'fix_proposed', 'exit_requested') OR OLD.state = 'watching' AND NEW.state = 'exited' THEN 'task-00' ELSE coalesce(NEW.session_id, '') END AND CASE NEW.state WHEN 'watching' THEN m.message_type IN ('instruction') WHEN 'exited' THEN m.message_type IN ('claim_blocked', 'handoff', 'system') WHEN 'needs_review' THEN m.message_type IN ('completion', 'review_request') WHEN 'error' THEN m.message_type IN ('context_warning', 'error') WHEN 'review_approved' THEN m.message_type IN ('approval') WHEN 'review_failed' THEN m.message_type IN ('rejection') WHEN 'fix_proposed' THEN m.message_type IN ('fix_proposal', 'handoff') WHEN 'exit_requested' THEN m.message_type IN ('exit_request') WHEN 'complete' THEN m.message_type IN ('completed') ELSE 0 END AND m.id > coalesce((SELECT max(message_id) FROM history WHERE task_id = NEW.task_id), 0) ORDER BY m.id DESC LIMIT 1), '') = 'handoff'))) AND (SELECT message_id IS NULL FROM history WHERE task_id = OLD.task_id ORDER BY id DESC LIMIT 1)
BEGIN
    SELECT RAISE(ABORT, 'musician: the submission is not whole, its message is missing (to take over, send the handoff message first)');
END;
CREATE TRIGGER tasks_take_over_the_dead BEFORE UPDATE OF state ON orchestration_tasks
WHEN (OLD.task_id <> 'task-00' AND NEW.state = 'fix_proposed' AND OLD.state IN ('working', 'needs_review', 'review_approved', 'review_failed', 'fix_proposed', 'error', 'exit_requested') AND (OLD.state IN ('working', 'review_approved', 'review_failed', 'exit_requested') OR OLD.session_id IS NOT NULL AND NEW.session_id IS NULL OR OLD.state IN ('needs_review', 'error') AND coalesce((SELECT m.message_type FROM orchestration_messages m WHERE m.task_id = NEW.task_id AND m.from_session = CASE WHEN NEW.task_id = 'task-00' OR NEW.state IN ('watching', 'review_approved', 'review_failed', 'fix_proposed', 'exit_requested') OR OLD.state = 'watching' AND NEW.state = 'exited' THEN 'task-00' ELSE coalesce(NEW.session_id, '') END AND CASE NEW.state WHEN 'watching' THEN m.message_type IN ('instruction') WHEN 'exited' THEN m.message_type IN ('claim_blocked', 'handoff', 'system') WHEN 'needs_review' THEN m.message_type IN ('completion', 'review_request') WHEN 'error' THEN m.message_type IN ('context_warning', 'error') WHEN 'review_approved' THEN m.message_type IN ('approval') WHEN 'review_failed' THEN m.message_type IN ('rejection') WHEN 'fix_proposed' THEN m.message_type IN ('fix_proposal', 'handoff') WHEN 'exit_requested' THEN m.message_type IN ('exit_request') WHEN 'complete' THEN m.message_type IN ('completed') ELSE 0 END AND m.id > coalesce((SELECT max(message_id) FROM history WHERE task_id = NEW.task_id), 0) ORDER BY m.id DESC LIMIT 1), '') = 'handoff')) AND (OLD.session_id IS NOT NULL AND OLD.last_heartbeat IS NOT NULL AND NOT coalesce(OLD.last_heartbeat GLOB '[0-9][0-9][0-9][0-9]-*' AND datetime(OLD.last_heartbeat) <= datetime('now', '-540 seconds'), 0)) AND NOT (OLD.claim_epoch > 0 AND NOT EXISTS (SELECT 1 FROM sessions WHERE task_id = OLD.task_id AND claim_epoch = OLD.claim_epoch))
BEGIN
    SELECT RAISE(ABORT, 'musician: its owner is alive, fence and end it first');
END;
CREATE TRIGGER tasks_complete_approved BEFORE UPDATE OF state ON orchestration_tasks
WHEN OLD.task_id <> 'task-00' AND NEW.state = 'complete' AND OLD.state IN ('working', 'review_approved') AND NOT EXISTS (SELECT 1 FROM history s JOIN history v ON v.task_id = s.task_id AND v.submission_id = s.message_id WHERE s.id = (SELECT max(id) FROM history WHERE task_id = OLD.task_id AND to_state = 'needs_review') AND s.message_type = 'completion' AND v.to_state = 'review_approved')
BEGIN
    SELECT RAISE(ABORT, 'musician: only an approved completion makes a task complete');
END;
CREATE TRIGGER tasks_history AFTER UPDATE OF state ON orchestration_tasks
WHEN OLD.state IS NOT NEW.state OR (NEW.state = 'fix_proposed' AND OLD.session_id IS NOT NULL AND NEW.session_id IS NULL)
BEGIN
    INSERT INTO history (task_id, from_state, to_state, who, session_id, claim_epoch) SELECT NEW.task_id, OLD.state, 'working', coalesce(NEW.session_id, ''), NEW.session_id, NEW.claim_epoch WHERE NEW.state = 'needs_review' AND OLD.state IN ('review_approved', 'review_failed', 'fix_proposed');
    INSERT INTO history (task_id, from_state, to_state, who, session_id, claim_epoch, message_id, message_type, submission_id) SELECT NEW.task_id, CASE WHEN NEW.state = 'needs_review' AND OLD.state IN ('review_approved', 'review_failed', 'fix_proposed') THEN 'working' ELSE OLD.state END, NEW.state, CASE WHEN NEW.task_id = 'task-00' OR NEW.state IN ('watching', 'review_approved', 'review_failed', 'fix_proposed', 'exit_requested') OR OLD.state = 'watching' AND NEW.state = 'exited' THEN 'task-00' ELSE coalesce(NEW.session_id, '') END, CASE WHEN NEW.state = 'fix_proposed' AND (OLD.state = 'exited' OR (OLD.task_id <> 'task-00' AND NEW.state = 'fix_proposed' AND OLD.state IN ('working', 'needs_review', 'review_approved', 'review_failed', 'fix_proposed', 'error', 'exit_requested') AND (OLD.state IN ('working', 'review_approved', 'review_failed', 'exit_requested') OR OLD.session_id IS NOT NULL AND NEW.session_id IS NULL OR OLD.state IN ('needs_review', 'error') AND coalesce((SELECT m.message_type FROM orchestration_messages m WHERE m.task_id = NEW.task_id AND m.from_session = CASE WHEN NEW.task_id = 'task-00' OR NEW.state IN ('watching', 'review_approved', 'review_failed', 'fix_proposed', 'exit_requested') OR OLD.state = 'watching' AND NEW.state = 'exited' THEN 'task-00' ELSE coalesce(NEW.session_id, '') END AND CASE NEW.state WHEN 'watching' THEN m.message_type IN ('instruction') WHEN 'exited' THEN m.message_type IN ('claim_blocked', 'handoff', 'system') WHEN 'needs_review' THEN m.message_type IN ('completion', 'review_request') WHEN 'error' THEN m.message_type IN ('context_warning', 'error') WHEN 'review_approved' THEN m.message_type IN ('approval') WHEN 'review_failed' THEN m.message_type IN ('rejection') WHEN 'fix_proposed' THEN m.message_type IN ('fix_proposal', 'handoff') WHEN 'exit_requested' THEN m.message_type IN ('exit_request') WHEN 'complete' THEN m.message_type IN ('completed') ELSE 0 END AND m.id > coalesce((SELECT max(message_id) FROM history WHERE task_id = NEW.task_id), 0) ORDER BY m.id DESC LIMIT 1), '') = 'handoff'))) THEN NULL ELSE NEW.session_id END, CASE WHEN (OLD.task_id <> 'task-00' AND NEW.state = 'working' AND OLD.state IN ('watching', 'fix_proposed', 'exit_requested') AND NOT (OLD.state = 'fix_proposed' AND NEW.session_id IS OLD.session_id)) THEN OLD.claim_epoch + 1 WHEN (OLD.task_id <> 'task-00' AND NEW.state = 'fix_proposed' AND OLD.state IN ('working', 'needs_review', 'review_approved', 'review_failed', 'fix_proposed', 'error', 'exit_requested') AND (OLD.state IN ('working', 'review_approved', 'review_failed', 'exit_requested') OR OLD.session_id IS NOT NULL AND NEW.session_id IS NULL OR OLD.state IN ('needs_review', 'error') AND coalesce((SELECT m.message_type FROM orchestration_messages m WHERE m.task_id = NEW.task_id AND m.from_session = CASE WHEN NEW.task_id = 'task-00' OR NEW.state IN ('watching', 'review_approved', 'review_failed', 'fix_proposed', 'exit_requested') OR OLD.state = 'watching' AND NEW.state = 'exited' THEN 'task-00' ELSE coalesce(NEW.session_id, '') END AND CASE NEW.state WHEN 'watching' THEN m.message_type IN ('instruction') WHEN 'exited' THEN m.message_type IN ('claim_blocked', 'handoff', 'system') WHEN 'needs_review' THEN m.message_type IN ('completion', 'review_request') WHEN 'error' THEN m.message_type IN ('context_warning', 'error') WHEN 'review_approved' THEN m.message_type IN ('approval') WHEN 'review_failed' THEN m.message_type IN ('rejection') WHEN 'fix_proposed' THEN m.message_type IN ('fix_proposal', 'handoff') WHEN 'exit_requested' THEN m.message_type IN ('exit_request') WHEN 'complete' THEN m.message_type IN ('completed') ELSE 0 END AND m.id > coalesce((SELECT max(message_id) FROM history WHERE task_id = NEW.task_id), 0) ORDER BY m.id DESC LIMIT 1), '') = 'handoff')) AND NOT (OLD.claim_epoch > 0 AND NOT EXISTS (SELECT 1 FROM sessions WHERE task_id = OLD.task_id AND claim_epoch = OLD.claim_epoch)) THEN max(NEW.claim_epoch, OLD.claim_epoch + 1) ELSE NEW.claim_epoch END, (SELECT m.id FROM orchestration_messages m WHERE m.task_id = NEW.task_id AND m.from_session = CASE WHEN NEW.task_id = 'task-00' OR NEW.state IN ('watching', 'review_approved', 'review_failed', 'fix_proposed', 'exit_requested') OR OLD.state = 'watching' AND NEW.state = 'exited' THEN 'task-00' ELSE coalesce(NEW.session_id, '') END AND CASE NEW.state WHEN 'watching' THEN m.message_type IN ('instruction') WHEN 'exited' THEN m.message_type IN ('claim_blocked', 'handoff', 'system') WHEN 'needs_review' THEN m.message_type IN ('completion', 'review_request') WHEN 'error' THEN m.message_type IN ('context_warning', 'error') WHEN 'review_approved' THEN m.message_type IN ('approval') WHEN 'review_failed' THEN m.message_type IN ('rejection') WHEN 'fix_proposed' THEN m.message_type IN ('fix_proposal', 'handoff') WHEN 'exit_requested' THEN m.message_type IN ('exit_request') WHEN 'complete' THEN m.message_type IN ('completed') ELSE 0 END AND m.id > coalesce((SELECT max(message_id) FROM history WHERE task_id = NEW.task_id), 0) ORDER BY m.id DESC LIMIT 1), (SELECT m.message_type FROM orchestration_messages m WHERE m.task_id = NEW.task_id AND m.from_session = CASE WHEN NEW.task_id = 'task-00' OR NEW.state IN ('watching', 'review_approved', 'review_failed', 'fix_proposed', 'exit_requested') OR OLD.state = 'watching' AND NEW.state = 'exited' THEN 'task-00' ELSE coalesce(NEW.session_id, '') END AND CASE NEW.state WHEN 'watching' THEN m.message_type IN ('instruction') WHEN 'exited' THEN m.message_type IN ('claim_blocked', 'handoff', 'system') WHEN 'needs_review' THEN m.message_type IN ('completion', 'review_request') WHEN 'error' THEN m.message_type IN ('context_warning', 'error') WHEN 'review_approved' THEN m.message_type IN ('approval') WHEN 'review_failed' THEN m.message_type IN ('rejection') WHEN 'fix_proposed' THEN m.message_type IN ('fix_proposal', 'handoff') WHEN 'exit_requested' THEN m.message_type IN ('exit_request') WHEN 'complete' THEN m.message_type IN ('completed') ELSE 0 END AND m.id > coalesce((SELECT max(message_id) FROM history WHERE task_id = NEW.task_id), 0) ORDER BY m.id DESC LIMIT 1), CASE WHEN (OLD.task_id <> 'task-00' AND OLD.state IN ('needs_review', 'error') AND NEW.state IN ('review_approved', 'review_failed', 'fix_proposed') AND NOT (OLD.task_id <> 'task-00' AND NEW.state = 'fix_proposed' AND OLD.state IN ('working', 'needs_review', 'review_approved', 'review_failed', 'fix_proposed', 'error', 'exit_requested') AND (OLD.state IN ('working', 'review_approved', 'review_failed', 'exit_requested') OR OLD.session_id IS NOT NULL AND NEW.session_id IS NULL OR OLD.state IN ('needs_review', 'error') AND coalesce((SELECT m.message_type FROM orchestration_messages m WHERE m.task_id = NEW.task_id AND m.from_session = CASE WHEN NEW.task_id = 'task-00' OR NEW.state IN ('watching', 'review_approved', 'review_failed', 'fix_proposed', 'exit_requested') OR OLD.state = 'watching' AND NEW.state = 'exited' THEN 'task-00' ELSE coalesce(NEW.session_id, '') END AND CASE NEW.state WHEN 'watching' THEN m.message_type IN ('instruction') WHEN 'exited' THEN m.message_type IN ('claim_blocked', 'handoff', 'system') WHEN 'needs_review' THEN m.message_type IN ('completion', 'review_request') WHEN 'error' THEN m.message_type IN ('context_warning', 'error') WHEN 'review_approved' THEN m.message_type IN ('approval') WHEN 'review_failed' THEN m.message_type IN ('rejection') WHEN 'fix_proposed' THEN m.message_type IN ('fix_proposal', 'handoff') WHEN 'exit_requested' THEN m.message_type IN ('exit_request') WHEN 'complete' THEN m.message_type IN ('completed') ELSE 0 END AND m.id > coalesce((SELECT max(message_id) FROM history WHERE task_id = NEW.task_id), 0) ORDER BY m.id DESC LIMIT 1), '') = 'handoff'))) THEN (SELECT message_id FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) END;
    UPDATE orchestration_tasks SET claim_epoch = (SELECT claim_epoch FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) WHERE task_id = NEW.task_id AND claim_epoch < (SELECT claim_epoch FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1);
    INSERT INTO sessions (task_id, claim_epoch, session_id, number) SELECT NEW.task_id, OLD.claim_epoch + 1, NEW.session_id, 1 + (SELECT count(*) FROM sessions WHERE task_id = NEW.task_id) WHERE (OLD.task_id <> 'task-00' AND NEW.state = 'working' AND OLD.state IN ('watching', 'fix_proposed', 'exit_requested') AND NOT (OLD.state = 'fix_proposed' AND NEW.session_id IS OLD.session_id));
    UPDATE sessions SET ended_at = datetime('now') WHERE task_id = NEW.task_id AND ended_at IS NULL AND (NEW.state IN ('exited', 'complete') OR claim_epoch < (SELECT claim_epoch FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) AND ((OLD.task_id <> 'task-00' AND NEW.state = 'working' AND OLD.state IN ('watching', 'fix_proposed', 'exit_requested') AND NOT (OLD.state = 'fix_proposed' AND NEW.session_id IS OLD.session_id)) OR NEW.state = 'fix_proposed' AND (SELECT session_id FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) IS NULL));
    UPDATE orchestration_tasks SET session_id = NULL, last_heartbeat = NULL WHERE task_id = NEW.task_id AND NEW.state = 'fix_proposed' AND (SELECT session_id FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) IS NULL;
END;
CREATE TRIGGER tasks_history_begin AFTER INSERT ON orchestration_tasks
WHEN NOT NEW.task_id GLOB 'fallback-*'
BEGIN
    INSERT INTO history (task_id, from_state, to_state, who, session_id, claim_epoch, message_id, message_type) VALUES (NEW.task_id, NULL, NEW.state, 'task-00', NEW.session_id, NEW.claim_epoch, (SELECT m.id FROM orchestration_messages m WHERE m.task_id = NEW.task_id AND m.from_session = 'task-00' AND CASE NEW.state WHEN 'watching' THEN m.message_type IN ('instruction') WHEN 'exited' THEN m.message_type IN ('claim_blocked', 'handoff', 'system') WHEN 'needs_review' THEN m.message_type IN ('completion', 'review_request') WHEN 'error' THEN m.message_type IN ('context_warning', 'error') WHEN 'review_approved' THEN m.message_type IN ('approval') WHEN 'review_failed' THEN m.message_type IN ('rejection') WHEN 'fix_proposed' THEN m.message_type IN ('fix_proposal', 'handoff') WHEN 'exit_requested' THEN m.message_type IN ('exit_request') WHEN 'complete' THEN m.message_type IN ('completed') ELSE 0 END AND m.id > coalesce((SELECT max(message_id) FROM history WHERE task_id = NEW.task_id), 0) ORDER BY m.id DESC LIMIT 1), (SELECT m.message_type FROM orchestration_messages m WHERE m.task_id = NEW.task_id AND m.from_session = 'task-00' AND CASE NEW.state WHEN 'watching' THEN m.message_type IN ('instruction') WHEN 'exited' THEN m.message_type IN ('claim_blocked', 'handoff', 'system') WHEN 'needs_review' THEN m.message_type IN ('completion', 'review_request') WHEN 'error' THEN m.message_type IN ('context_warning', 'error') WHEN 'review_approved' THEN m.message_type IN ('approval') WHEN 'review_failed' THEN m.message_type IN ('rejection') WHEN 'fix_proposed' THEN m.message_type IN ('fix_proposal', 'handoff') WHEN 'exit_requested' THEN m.message_type IN ('exit_request') WHEN 'complete' THEN m.message_type IN ('completed') ELSE 0 END AND m.id > coalesce((SELECT max(message_id) FROM history WHERE task_id = NEW.task_id), 0) ORDER BY m.id DESC LIMIT 1));
END;
CREATE TRIGGER tasks_heartbeat_needs_owner AFTER UPDATE OF last_heartbeat ON orchestration_tasks
WHEN NEW.session_id IS NULL AND NEW.last_heartbeat IS NOT NULL
BEGIN
    UPDATE orchestration_tasks SET last_heartbeat = NULL WHERE task_id = NEW.task_id;
END;
CREATE TRIGGER tasks_heartbeat_begins_unset AFTER INSERT ON orchestration_tasks
WHEN NEW.session_id IS NULL AND NEW.last_heartbeat IS NOT NULL
BEGIN
    UPDATE orchestration_tasks SET last_heartbeat = NULL WHERE task_id = NEW.task_id;
END;
CREATE TRIGGER messages_supersede AFTER INSERT ON orchestration_messages
WHEN NEW.message_type = 'instruction' AND NEW.from_session = 'task-00'
BEGIN
    UPDATE orchestration_messages SET message_type = 'instruction_superseded' WHERE task_id = NEW.task_id AND from_session = 'task-00' AND message_type = 'instruction' AND id <> NEW.id;
END;
CREATE TRIGGER messages_bind AFTER INSERT ON orchestration_messages
WHEN EXISTS (SELECT 1 FROM (SELECT message_id FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) WHERE message_id IS NULL)
BEGIN
    UPDATE history SET message_id = NEW.id, message_type = NEW.message_type WHERE id = (SELECT id FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) AND message_id IS NULL AND who = NEW.from_session AND CASE to_state WHEN 'watching' THEN NEW.message_type IN ('instruction') WHEN 'exited' THEN NEW.message_type IN ('claim_blocked', 'handoff', 'system') WHEN 'needs_review' THEN NEW.message_type IN ('completion', 'review_request') WHEN 'error' THEN NEW.message_type IN ('context_warning', 'error') WHEN 'review_approved' THEN NEW.message_type IN ('approval') WHEN 'review_failed' THEN NEW.message_type IN ('rejection') WHEN 'fix_proposed' THEN NEW.message_type IN ('fix_proposal', 'handoff') WHEN 'exit_requested' THEN NEW.message_type IN ('exit_request') WHEN 'complete' THEN NEW.message_type IN ('completed') ELSE 0 END;
END;
CREATE TRIGGER history_true BEFORE INSERT ON history
WHEN NEW.task_id GLOB 'fallback-*' OR EXISTS (SELECT 1 FROM history WHERE id = NEW.id) OR NEW.from_state IS NOT (SELECT to_state FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) OR NOT ((SELECT to_state FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) IS NOT (SELECT state FROM orchestration_tasks WHERE task_id = NEW.task_id) AND (NEW.to_state IS (SELECT state FROM orchestration_tasks WHERE task_id = NEW.task_id) OR NEW.to_state = 'working' AND (SELECT state FROM orchestration_tasks WHERE task_id = NEW.task_id) = 'needs_review' AND (SELECT to_state FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) IN ('review_approved', 'review_failed', 'fix_proposed')) OR NEW.to_state = 'fix_proposed' AND NEW.session_id IS NULL AND (SELECT to_state FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) IS NEW.to_state AND (SELECT state FROM orchestration_tasks WHERE task_id = NEW.task_id) IS NEW.to_state AND (SELECT session_id FROM orchestration_tasks WHERE task_id = NEW.task_id) IS NULL AND (SELECT session_id FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'musician: history is written by the database');
END;
CREATE TRIGGER history_fixed BEFORE UPDATE ON history
WHEN NOT (NEW.id IS OLD.id AND NEW.task_id IS OLD.task_id AND NEW.from_state IS OLD.from_state AND NEW.to_state IS OLD.to_state AND NEW.who IS OLD.who AND NEW.session_id IS OLD.session_id AND NEW.claim_epoch IS OLD.claim_epoch AND NEW.submission_id IS OLD.submission_id AND NEW.at IS OLD.at AND OLD.message_id IS NULL AND CASE OLD.to_state WHEN 'watching' THEN NEW.message_type IN ('instruction') WHEN 'exited' THEN NEW.message_type IN ('claim_blocked', 'handoff', 'system') WHEN 'needs_review' THEN NEW.message_type IN ('completion', 'review_request') WHEN 'error' THEN NEW.message_type IN ('context_warning', 'error') WHEN 'review_approved' THEN NEW.message_type IN ('approval') WHEN 'review_failed' THEN NEW.message_type IN ('rejection') WHEN 'fix_proposed' THEN NEW.message_type IN ('fix_proposal', 'handoff') WHEN 'exit_requested' THEN NEW.message_type IN ('exit_request') WHEN 'complete' THEN NEW.message_type IN ('completed') ELSE 0 END AND EXISTS (SELECT 1 FROM orchestration_messages m WHERE m.id = NEW.message_id AND m.task_id = OLD.task_id AND m.from_session = OLD.who AND m.message_type = NEW.message_type))
BEGIN
    SELECT RAISE(ABORT, 'musician: history is never changed');
END;
CREATE TRIGGER history_stays BEFORE DELETE ON history
WHEN 1
BEGIN
    SELECT RAISE(ABORT, 'musician: history is never deleted');
END;
CREATE TRIGGER messages_unique BEFORE INSERT ON orchestration_messages
WHEN EXISTS (SELECT 1 FROM orchestration_messages WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'musician: a message is never replaced');
END;
CREATE TRIGGER messages_stay BEFORE UPDATE ON orchestration_messages
WHEN NOT (NEW.id IS OLD.id AND NEW.task_id IS OLD.task_id AND NEW.from_session IS OLD.from_session AND NEW.message IS OLD.message AND NEW.timestamp IS OLD.timestamp AND (NEW.message_type IS OLD.message_type OR OLD.message_type = 'instruction' AND NEW.message_type = 'instruction_superseded'))
BEGIN
    SELECT RAISE(ABORT, 'musician: a message is never changed');
END;
CREATE TRIGGER journal_stays BEFORE DELETE ON journal
WHEN 1
BEGIN
    SELECT RAISE(ABORT, 'musician: the journal table is append-only');
END;
CREATE TRIGGER journal_fixed BEFORE UPDATE ON journal
WHEN NOT (0)
BEGIN
    SELECT RAISE(ABORT, 'musician: the journal table is append-only');
END;
CREATE TRIGGER journal_unique BEFORE INSERT ON journal
WHEN EXISTS (SELECT 1 FROM journal WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'musician: the journal table is append-only');
END;
CREATE TRIGGER documents_stays BEFORE DELETE ON documents
WHEN 1
BEGIN
    SELECT RAISE(ABORT, 'musician: the documents table is append-only');
END;
CREATE TRIGGER documents_fixed BEFORE UPDATE ON documents
WHEN NOT (0)
BEGIN
    SELECT RAISE(ABORT, 'musician: the documents table is append-only');
END;
CREATE TRIGGER documents_unique BEFORE INSERT ON documents
WHEN EXISTS (SELECT 1 FROM documents WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'musician: the documents table is append-only');
END;
CREATE TRIGGER proposals_stays BEFORE DELETE ON proposals
WHEN 1
BEGIN
    SELECT RAISE(ABORT, 'musician: the proposals table is append-only');
END;
CREATE TRIGGER proposals_fixed BEFORE UPDATE ON proposals
WHEN NOT (OLD.status = 'open' AND NEW.id IS OLD.id AND NEW.task_id IS OLD.task_id AND NEW.claim_epoch IS OLD.claim_epoch AND NEW.session_id IS OLD.session_id AND NEW.type IS OLD.type AND NEW.title IS OLD.title AND NEW.path IS OLD.path AND NEW.message_id IS OLD.message_id AND NEW.at IS OLD.at)
BEGIN
    SELECT RAISE(ABORT, 'musician: the proposals table is append-only');
END;
CREATE TRIGGER proposals_unique BEFORE INSERT ON proposals
WHEN EXISTS (SELECT 1 FROM proposals WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'musician: the proposals table is append-only');
END;
CREATE TRIGGER verifications_stays BEFORE DELETE ON verifications
WHEN 1
BEGIN
    SELECT RAISE(ABORT, 'musician: the verifications table is append-only');
END;
CREATE TRIGGER verifications_fixed BEFORE UPDATE ON verifications
WHEN NOT (OLD.submission_id IS NULL AND NEW.submission_id IS NOT NULL AND NEW.id IS OLD.id AND NEW.task_id IS OLD.task_id AND NEW.claim_epoch IS OLD.claim_epoch AND NEW.checkpoint IS OLD.checkpoint AND NEW.covers_all IS OLD.covers_all AND NEW.outcome IS OLD.outcome AND NEW.tree_id IS OLD.tree_id AND NEW.journal_id IS OLD.journal_id AND NEW.result IS OLD.result AND NEW.at IS OLD.at)
BEGIN
    SELECT RAISE(ABORT, 'musician: the verifications table is append-only');
END;
CREATE TRIGGER verifications_unique BEFORE INSERT ON verifications
WHEN EXISTS (SELECT 1 FROM verifications WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'musician: the verifications table is append-only');
END;
CREATE TRIGGER rulings_stays BEFORE DELETE ON rulings
WHEN 1
BEGIN
    SELECT RAISE(ABORT, 'musician: the rulings table is append-only');
END;
CREATE TRIGGER rulings_fixed BEFORE UPDATE ON rulings
WHEN NOT (0)
BEGIN
    SELECT RAISE(ABORT, 'musician: the rulings table is append-only');
END;
CREATE TRIGGER rulings_unique BEFORE INSERT ON rulings
WHEN EXISTS (SELECT 1 FROM rulings WHERE journal_id = NEW.journal_id)
BEGIN
    SELECT RAISE(ABORT, 'musician: the rulings table is append-only');
END;
CREATE TRIGGER opinions_stays BEFORE DELETE ON opinions
WHEN 1
BEGIN
    SELECT RAISE(ABORT, 'musician: the opinions table is append-only');
END;
CREATE TRIGGER opinions_fixed BEFORE UPDATE ON opinions
WHEN NOT (0)
BEGIN
    SELECT RAISE(ABORT, 'musician: the opinions table is append-only');
END;
CREATE TRIGGER opinions_unique BEFORE INSERT ON opinions
WHEN EXISTS (SELECT 1 FROM opinions WHERE submission_id = NEW.submission_id)
BEGIN
    SELECT RAISE(ABORT, 'musician: the opinions table is append-only');
END;
CREATE TRIGGER sessions_stays BEFORE DELETE ON sessions
WHEN 1
BEGIN
    SELECT RAISE(ABORT, 'musician: the sessions table is append-only');
END;
CREATE TRIGGER sessions_fixed BEFORE UPDATE ON sessions
WHEN NOT (NEW.task_id IS OLD.task_id AND NEW.claim_epoch IS OLD.claim_epoch AND NEW.session_id IS OLD.session_id AND NEW.number IS OLD.number)
BEGIN
    SELECT RAISE(ABORT, 'musician: the sessions table is append-only');
END;
CREATE TRIGGER sessions_unique BEFORE INSERT ON sessions
WHEN EXISTS (SELECT 1 FROM sessions WHERE task_id = NEW.task_id AND claim_epoch = NEW.claim_epoch)
BEGIN
    SELECT RAISE(ABORT, 'musician: the sessions table is append-only');
END;
PRAGMA application_id = 1299542889;
PRAGMA user_version = 1;
COMMIT;
