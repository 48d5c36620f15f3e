"""Reads the database: each answer comes from one snapshot."""

import json
from collections.abc import Iterable
from functools import partial

from musician.protocol.journal import EntryKind
from musician.protocol.names import CONDUCTOR
from musician.protocol.rules.breaker import Limit
from musician.protocol.states import State
from musician.protocol.transitions import is_failure, open_verdicts
from musician.protocol.values import dataclass, replace
from musician.service.pausing import order_to_pause_in, pause_of_plan_in
from musician.service.rowwork import load_task, since_started_over
from musician.store.port import Store, Tx
from musician.store.queries.clients import Clients
from musician.store.queries.history import History, MomentRow
from musician.store.queries.messages import Messages
from musician.store.queries.plans import Plans
from musician.store.queries.sessions import Sessions
from musician.store.queries.tasks import NamedRow, Tasks
from musician.store.queries.work import Work
from musician.store.rows import (
    ClientRow,
    HistoryRow,
    HumanRow,
    JournalRow,
    MessageRow,
    OpinionRow,
    PauseRow,
    PlanRow,
    ProcessRow,
    ReceiptRow,
    ReportRow,
    SessionRow,
    SubmissionRow,
    TaskRow,
    UsageRow,
    VerificationRow,
)

MOST_MESSAGES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task with everything that belongs to it, from one snapshot."""

    row: TaskRow
    history: tuple[HistoryRow, ...]
    sessions: tuple[SessionRow, ...]
    processes: tuple[ProcessRow, ...]
    journal: tuple[JournalRow, ...]
    submissions: tuple[SubmissionRow, ...]
    verifications: tuple[VerificationRow, ...]
    asks: tuple[HumanRow, ...]
    reports: dict[int, ReportRow]
    """The error reports and context warnings, by message id."""
    unread: int
    question: MessageRow | None = None
    """Its newest one to the conductor, which no later word of the conductor's has answered."""
    opinions: tuple[OpinionRow, ...] = ()
    """What a reviewing agent said of its submissions, and an answering one to its questions and reports."""
    usage: tuple[UsageRow, ...] = ()
    """What its agents have used, reviewers among them."""
    client: ClientRow | None = None
    """What runs the owner's session, where somebody opened that by hand."""
    at: str = ""
    """The database's time of the look."""
    seq: int = 0
    """How far the one order had come: everything up to here is in the view, and nothing after it."""
    quiet_s: float | None = None
    """Since when nothing was heard of the task."""
    order_to_pause: str = ""
    """For which checkpoint of another task it was told to stand still, "" if for none (PLAN-21)."""
    plan_pause: PauseRow | None = None
    """The pause of its plan that lasts (PLAN-23)."""
    limited_until: str = ""
    """Until when its agent's provider gives nothing, "" if it gives."""
    limited_account: str = ""
    """On which account of the agent's."""

    @property
    def pause(self) -> str:
        """Why its session is to stand still, "" if it is not: its plan's pause comes first."""
        return self.order_to_pause if self.plan_pause is None else self.plan_pause.text

    @property
    def started_over_after(self) -> int:
        """The last claim before the task was started over: what is of it or older counts no more. -1: all counts."""
        starts = (row.claim_epoch for row in self.journal if row.kind == EntryKind.STARTED_OVER)
        return max(starts, default=-1)

    @property
    def this_time(self) -> "TaskView":
        """The same without what was played before the task was started over; the history has all of it."""
        epoch = self.started_over_after
        if epoch < 0:
            return self
        return replace(
            self,
            journal=tuple(since_started_over(self.journal)),
            sessions=tuple(row for row in self.sessions if row.claim_epoch > epoch),
            submissions=tuple(row for row in self.submissions if row.claim_epoch > epoch),
            verifications=tuple(row for row in self.verifications if row.claim_epoch > epoch),
        )

    @property
    def error_count(self) -> int:
        """Failures at work over all sessions; a wait that timed out is none (D3)."""
        return sum(is_failure(change.message_type, change.from_state) for change in self.history)

    @property
    def open_verdicts(self) -> tuple[State, ...]:
        """The verdicts that a person may give now; none if the history cannot be read (D39)."""
        if not self.history:
            return ()
        last = self.history[-1]
        return open_verdicts(
            self.row.state,
            message_type=last.message_type,
            came_from=last.from_state,
            is_in_conflict=is_in_conflict(self.asks, last.message_id),
        )

    @property
    def submitted_commit(self) -> str | None:
        """The commit of the newest submission that names one (D28)."""
        return next((row.commit_id for row in reversed(self.this_time.submissions) if row.commit_id), None)

    @property
    def commit_seen_by_person(self) -> str | None:
        """The same of those that a person has judged, or who speaks for one: what has changed since is new to them.

        What a rule or a reviewing agent has judged, no person has looked at.
        """
        by_person = {row.ruled_by for row in self.journal if row.judged_by_person}
        judged = (row for row in reversed(self.this_time.submissions) if row.verdict_id in by_person)
        return next((row.commit_id for row in judged if row.commit_id), None)

    @property
    def open_asks(self) -> tuple[HumanRow, ...]:
        return tuple(ask for ask in self.asks if ask.resolved_at is None)


def is_in_conflict(asks: Iterable[HumanRow], submission_id: int | None) -> bool:
    """Whether a person is asked to resolve what the submission cannot be merged for."""
    open_now = (ask for ask in asks if ask.resolved_at is None)
    return any((ask.kind, ask.subject_id) == ("conflict", submission_id) for ask in open_now)


def task_row(store: Store, task_id: str) -> TaskRow:
    with store.read() as tx:
        return load_task(tx, task_id)


def tasks_of(store: Store, plan_id: str | None = None) -> tuple[TaskRow, ...]:
    """The tasks of a plan, or those without one; never the conductor's or a blocked session's row (D9)."""
    with store.read() as tx:
        return tuple(tx.all(Tasks.tasks_of_plan, plan_id=plan_id))


def open_tasks(store: Store) -> tuple[TaskRow, ...]:
    """The tasks of all plans and of none that have not come to their end: neither complete nor withdrawn."""
    with store.read() as tx:
        return tuple(tx.all(Tasks.open_tasks))


def has_tasks(store: Store) -> bool:
    with store.read() as tx:
        return tx.only(Tasks.has_tasks)


def names_like(store: Store, task_ids: Iterable[str]) -> tuple[NamedRow, ...]:
    """The tasks there are whose ids differ from one of these by capitals alone, or not at all."""
    with store.read() as tx:
        return tuple(tx.all(Tasks.names_like, task_ids=json.dumps(list(task_ids))))


def siblings(store: Store, task_id: str) -> tuple[TaskRow, ...]:
    """The other tasks of its plan; of a task without a plan, the others without one."""
    rows = tasks_of(store, task_row(store, task_id).plan_id)
    return tuple(row for row in rows if row.task_id != task_id)


def current_plans(store: Store) -> tuple[PlanRow, ...]:
    """Those that are not finished, and the one in which something happened last; the oldest first."""
    with store.read() as tx:
        return tuple(tx.all(Plans.current_plans))


def all_plans(store: Store) -> tuple[PlanRow, ...]:
    """Every plan that was ever locked, the oldest first."""
    with store.read() as tx:
        return tuple(tx.all(Plans.plans))


def count_plans(store: Store) -> int:
    with store.read() as tx:
        return tx.only(Plans.count_plans)


def conductor_row(store: Store) -> TaskRow | None:
    with store.read() as tx:
        return tx.one(Tasks.task, task_id=CONDUCTOR)


def task_view(store: Store, task_id: str) -> TaskView:
    with store.read() as tx:
        return view_in(tx, load_task(tx, task_id))


def everything(store: Store, plan_id: str | None) -> tuple[TaskView, ...]:
    """Every task of a plan, or of none, with its view, from one snapshot."""
    with store.read() as tx:
        return tuple(view_in(tx, row) for row in tx.all(Tasks.tasks_of_plan, plan_id=plan_id))


def view_in(tx: Tx, row: TaskRow) -> TaskView:
    """The view of a row within a transaction of the caller's."""
    of = {"task_id": row.task_id}
    view = TaskView(
        row=row,
        history=tuple(tx.all(History.history_of_task, **of)),
        sessions=tuple(tx.all(Sessions.sessions_of_task, **of)),
        processes=tuple(tx.all(Sessions.processes_of_task, **of)),
        journal=tuple(tx.all(Work.journal_of_task, **of)),
        submissions=tuple(tx.all(History.judged_submissions, **of)),
        verifications=tuple(tx.all(Work.verifications_of_task, **of)),
        opinions=tuple(tx.all(Work.opinions_of_task, **of)),
        usage=tuple(tx.all(Sessions.usage_of_task, **of)),
        asks=tuple(tx.all(Plans.needs_human_of_task, **of)),
        reports={each.id: each for each in tx.all(History.reports, **of)},
        unread=tx.only(Messages.count_unread, **of),
        question=tx.one(Messages.open_question, **of),
        client=tx.one(Clients.client, session_id=row.session_id),
        order_to_pause=order_to_pause_in(tx, row.task_id),
        plan_pause=pause_of_plan_in(tx, row.plan_id),
    )
    return _at_this_moment(tx, row, view)


def _at_this_moment(tx: Tx, row: TaskRow, view: TaskView) -> TaskView:
    """The view with all that time alone changes, the ages in its row among it."""
    moment = tx.only(History.moment, task_id=row.task_id)
    return replace(
        view,
        row=row,
        at=moment.now,
        seq=moment.seq,
        quiet_s=moment.quiet_s,
        limited_until=(until := _limited_until(moment)),
        limited_account=(moment.limited_account or "") if until else "",
    )


class PlanViews:
    """As :func:`everything`, for one who looks again and again: what nobody has changed is not read again."""

    def __init__(self, store: Store, plan_id: str | None) -> None:
        self._store, self._plan_id = store, plan_id
        self._version: object = None
        self._views: tuple[TaskView, ...] = ()

    def now(self) -> tuple[TaskView, ...]:
        """By one thread at a time."""
        with self._store.read() as tx:
            rows = tx.all(Tasks.tasks_of_plan, plan_id=self._plan_id)
            version = tx.version()
            if version == self._version:
                self._views = tuple(map(partial(_at_this_moment, tx), rows, self._views))
            else:
                self._views = tuple(view_in(tx, row) for row in rows)
            self._version = version
        return self._views


def _limited_until(moment: MomentRow) -> str:
    if moment.met_at_s is None or moment.until_s is None:
        return ""
    limit = Limit(met_at_s=moment.met_at_s, until_s=moment.until_s)
    return moment.limited_until or "" if limit.left_s(moment.now_s) > 0 else ""


def history_of(store: Store, task_id: str) -> tuple[HistoryRow, ...]:
    with store.read() as tx:
        load_task(tx, task_id)
        return tuple(tx.all(History.history_of_task, task_id=task_id))


def messages_of(store: Store, task_id: str, *, most: int = MOST_MESSAGES) -> tuple[MessageRow, ...]:
    """The newest messages of a task, oldest first."""
    with store.read() as tx:
        load_task(tx, task_id)
        rows = tx.all(Messages.messages_of_task, task_id=task_id, most=most)
    return tuple(rows)


def newest_messages(store: Store, task_id: str, *, most: int) -> tuple[tuple[MessageRow, ...], int]:
    """The newest messages of a task, oldest first, and how many are older."""
    with store.read() as tx:
        load_task(tx, task_id)
        rows = tx.all(Messages.messages_of_task, task_id=task_id, most=most)
        return tuple(rows), tx.only(Messages.count_messages, task_id=task_id) - len(rows)


def receipts_of(store: Store, task_id: str, *, most: int = MOST_MESSAGES) -> tuple[ReceiptRow, ...]:
    """Return what has become of the conductor's newest messages to a task, the newest first."""
    with store.read() as tx:
        return tuple(tx.all(Messages.receipts_of_task, task_id=task_id, most=most))


def clock_s(store: Store) -> float:
    """The database's clock, seconds since 1970."""
    with store.read() as tx:
        return tx.only(History.clock_s)


def now(store: Store) -> str:
    """The database's time, UTC ``YYYY-MM-DD HH:MM:SS`` (D10)."""
    with store.read() as tx:
        return tx.only(History.now)


def message_row(store: Store, message_id: int) -> MessageRow | None:
    with store.read() as tx:
        return tx.one(Messages.message, id=message_id)


def verification_row(store: Store, verification_id: int) -> VerificationRow | None:
    with store.read() as tx:
        return tx.one(Work.verification, id=verification_id)
