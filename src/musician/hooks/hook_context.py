"""Where a hook runs: the repository's root and database, and what the session owns there.

A place that cannot be found without git is no place, and the session none of ours. MUSICIAN_DB wins, as in every
command.

The look at the database is one read by apsw alone. Its connection is closed before the service opens its own. Where
the database is gone or unreadable, a mark in git's own folder still says whose session is a musician's (D36).
"""

import os

from musician.project import Project
from musician.trees import marks, sharing
from musician.trees.finding import find_tree, git_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import apsw

    from musician.hooks.kept_reader import KeptReader
    from musician.protocol.claim import Claim

PATIENCE_S = 5.0
"""The longest a hook waits for the database, whatever the settings say (B10)."""

_LOOK_PATIENCE_MS = 1000
"""Readers wait only where somebody has locked the whole file; once more is enough."""

_APPLICATION_ID = 0x4D757369  # store.sqlite.store.APPLICATION_ID, which is too dear to import here


class Held:
    """A claim of the session's, as it stood at the look. ``is_live``: the task's current claim, in an active state.

    The conductor's own row counts as a claim of task-00. Ages are seconds by the database's clock, None if unset or
    unreadable. ``undelivered`` messages have not reached this claim; ``urgent`` ones, delivered or not, have not been
    acknowledged, and stop what is under way. ``warned_pct`` is None where nothing is known of the session's client yet.
    """

    __slots__ = (
        "context_pct",
        "epoch",
        "heartbeat_age_s",
        "is_live",
        "plan_id",
        "session_id",
        "state",
        "task_id",
        "undelivered",
        "urgent",
        "warned_pct",
    )

    session_id: str
    task_id: str
    epoch: int
    state: str
    is_live: bool
    heartbeat_age_s: "float | None"
    undelivered: int
    urgent: int
    context_pct: "float | None"
    warned_pct: "float | None"
    plan_id: "str | None"

    def __init__(self, session_id: str, row: "Sequence[Any]") -> None:
        self.session_id = session_id
        self.task_id, self.epoch, self.state, is_live, self.heartbeat_age_s = row[:5]
        self.undelivered, self.urgent, self.context_pct, self.warned_pct, self.plan_id = row[5:]
        self.is_live = bool(is_live)

    @property
    def claim(self) -> "Claim":
        """As the service's verbs name it."""
        from musician.protocol.claim import Claim

        return Claim(task_id=self.task_id, session_id=self.session_id, epoch=self.epoch)

    @property
    def conducts(self) -> bool:
        """Whether it is the conductor's own row."""
        return self.task_id == "task-00"


class HookContext(Project):
    """``tree`` is None where a database is named outside of every repository. ``database`` need not exist.

    ``held`` are the claims the event's session has made, the newest claim of each task; empty for a stranger.
    ``is_conductor``: a person conducts in it, beside the run.
    ``outlived``: the subagent of the event was begun under a claim that has ended since; ``resumed``: it had stopped.
    """

    patience_s = PATIENCE_S
    reader: "KeptReader | None" = None
    """Of who answers many hooks; a hook itself opens the file, and closes it."""

    def __init__(self, tree: "str | None", database: str) -> None:
        super().__init__(os.curdir if tree is None else tree, database)
        self.tree = tree
        if tree is not None:
            sharing.follow(os.path.join(tree, ".musician"))
        self.held: tuple[Held, ...] = ()
        self.outlived = self.resumed = self.is_conductor = False

    @property
    def database(self) -> str:
        return self.named or ""

    @property
    def exists(self) -> bool:
        return os.path.isfile(self.database)

    @property
    def live(self) -> "tuple[Held, ...]":
        """The claims the session may act on."""
        return tuple(each for each in self.held if each.is_live)

    @property
    def played(self) -> "tuple[Held, ...]":
        """Those of them that a musician plays: all but the conductor's own row."""
        return tuple(each for each in self.live if not each.conducts)

    @property
    def is_strangers(self) -> bool:
        """Whether the session has never claimed anything, and does not conduct."""
        return not (self.held or self.is_conductor)

    def look(self, session_id: str, agent_id: "str | None" = None) -> None:
        """Find out what a session owns, and its subagent outlived; :class:`apsw.Error` if that cannot be read."""
        written_ns = marks.last_written_ns(self.database)
        rows = self._read("look.sql", session_id)
        self.held = tuple(Held(session_id, row) for row in rows if row[0] is not None)
        self.is_conductor = len(rows) > len(self.held)
        self._keep_mark(session_id, written_ns)
        if agent_id is not None:
            bound = self._read("bound.sql", agent_id)
            self.outlived = bool(bound) and not any(is_live for is_live, _ in bound)
            self.resumed = any(is_live and had_stopped for is_live, had_stopped in bound)

    # -- whose session it is, when the database cannot say -----------------------------------------------------

    @property
    def has_marks(self) -> bool:
        """Whether any session here has ever been a musician's."""
        return marks.any_marked(self._git_dir)

    def is_marked(self, session_id: str) -> bool:
        """Whether a session is known to be a musician's without asking the database."""
        return marks.is_marked(self._git_dir, session_id)

    def _keep_mark(self, session_id: str, written_ns: "int | None") -> None:
        """Have the marks say what the look has found in what was last written before it."""
        if not self.is_strangers:
            marks.forget_stranger(self._git_dir, session_id)
        if self.played:
            if not self.is_marked(session_id):
                marks.mark(self._git_dir, session_id)
        elif not self.is_strangers:
            marks.forget(self._git_dir, session_id)
        elif written_ns is not None:
            marks.mark_stranger(self._git_dir, session_id, written_ns)

    @property
    def _git_dir(self) -> str:
        return os.path.dirname(self.database) if self.tree is None else git_dir(self.tree)

    def tree_of(self, held: "Held") -> "str | None":
        """Where a claim's task is played, as :func:`musician.trees.worktree.place_of` says; None without a repository.

        The main tree where the task has none of its own.
        """
        if self.tree is None:
            return None
        own = os.path.join(self.tree, ".musician", "trees", held.plan_id or "tasks", held.task_id)
        return own if os.path.isdir(own) else self.tree

    @property
    def follows(self) -> bool:
        """Whether any client's session here may go on under another id."""
        return bool(self._read("followed.sql", 1))

    def _read(self, file_name: str, value: "str | int") -> "list[Any]":
        import apsw

        with open(os.path.join(os.path.dirname(__file__), file_name), encoding="utf-8") as file:
            sql = file.read()
        try:
            return self._ask(sql, value)
        except apsw.SQLError:  # an older program's database: opening it migrates it (D40)
            _ = self.store
            return self._ask(sql, value)

    def _ask(self, sql: str, value: "str | int") -> "list[Any]":
        if self.reader is not None:
            return self.reader.ask(self.database, sql, value, _opened, _asked)
        connection = _opened(self.database)
        try:
            return _asked(connection, sql, value)
        finally:
            connection.close()


def _opened(path: str) -> "apsw.Connection":
    import apsw

    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(_LOOK_PATIENCE_MS)
    return connection


def _asked(connection: "apsw.Connection", sql: str, value: "str | int") -> "list[Any]":
    if connection.pragma("application_id") != _APPLICATION_ID:
        import apsw

        raise apsw.NotADBError("this database is not Musician's")
    return connection.execute(sql, (value,)).fetchall()


def find_database(environ: "Mapping[str, str]", cwd: str) -> "HookContext | None":
    """The place an event belongs to; None if there is none. The client's project folder outranks ``cwd``."""
    named = environ.get("MUSICIAN_DB", "")
    start = environ.get("CLAUDE_PROJECT_DIR") or cwd
    found = find_tree(start) or (find_tree(cwd) if start != cwd else None)
    tree = None if found is None else found[0]
    if named:
        from musician.store.naming import NoSuchName, file_named

        try:
            return HookContext(tree, file_named(named, cwd))
        except NoSuchName:
            return None
    return None if tree is None else HookContext(tree, os.path.join(tree, ".musician", "comms.db"))
