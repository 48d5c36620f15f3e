"""Gives the account of a plan: what was done, what was sent back and why, what is open, and where
everything is.

A fold over the database, with the sizes of changes from git. It says the same while a plan is played, at
its end and later; how a run ended is its caller's to say. Foreign text is kept as it is: who prints it
makes it printable.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from musician import service
from musician.processes.output import headline
from musician.protocol.messages.feedback import POINTS_HEADING, points_of
from musician.protocol.names import NO_PLAN
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.reporting.asks import next_command
from musician.reporting.spans import stored_s
from musician.reporting.standing import Standing
from musician.store.port import Store
from musician.store.rows import (
    ArchiveRow,
    HumanRow,
    JournalRow,
    ProposalRow,
    SessionRow,
    SubmissionRow,
    VerificationRow,
)
from musician.trees.root import Root
from musician.trees.task_work import Size, size_of
from musician.verification.earlier import read_result

_STEP = re.compile(r"step \d+")
_MOST_ARCHIVED = 20
_SENT_BACK = (State.REVIEW_FAILED, State.FIX_PROPOSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAccount:
    """``took_s`` is the time of its sessions together. ``size`` is None where nothing was submitted, or is
    known.

    ``new_tests`` counts its new and changed tests, as far as the program could tell them one by one.
    """

    task_id: str
    title: str
    phase: int | None
    state: str
    skipped: str | None
    """Why it was skipped; None if it was not."""
    took_s: float
    sessions: int
    steps: int
    new_tests: int
    tests: str
    """What its last submission says of its tests."""
    summary: str
    size: Size | None
    report_path: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBack:
    """A submission that was not approved. ``checkpoint`` is None where it does not say."""

    task_id: str
    checkpoint: int | None
    why: str

    @property
    def brief(self) -> str:
        """Its points on one line, after what was said before them; of any other text what it begins with: a conflict's
        has diffs.
        """
        points = points_of(self.why)
        before, added, _ = self.why.partition(POINTS_HEADING)
        if not added and len(points) < 2:
            return headline(self.why)
        is_list = not added or not before.strip() or points_of(before)[0] in points
        return ("" if is_list else f"{headline(before)}: ") + "; ".join(points)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A session that ended before its task did."""

    task_id: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    plan_id: str | None
    title: str
    tasks: tuple[TaskAccount, ...]
    sent_back: tuple[SentBack, ...]
    ended: tuple[Ended, ...]
    deviations: tuple[JournalRow, ...]
    """Those that nobody has ruled."""
    proposals: tuple[ProposalRow, ...]
    """Those that nobody has decided."""
    asks: tuple[HumanRow, ...]
    archived: tuple[ArchiveRow, ...] = ()
    """Earlier plans whose proposals nobody has decided, the last archived first."""

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that answer what is open, in the order of the questions."""
        decide = ("musician proposals list",) if self.proposals else ()
        return (*(next_command(ask, plan_id=self.plan_id or NO_PLAN) for ask in self.asks), *decide)


def account_of(
    root: Root | None, store: Store, standings: Sequence[Standing], *, plan_id: str | None, title: str
) -> Account:
    """Return the account of a plan as these standings show it. Blocks: asks git for sizes, if ``root`` is given."""
    ids = {each.task_id for each in standings}
    proposals = (each.row for each in service.list_proposals(store, only_open=True))
    return Account(
        plan_id=plan_id,
        title=title,
        tasks=tuple(_task(root, plan_id, each) for each in standings),
        sent_back=tuple(back for each in standings for back in _sent_back(each)),
        ended=tuple(ended for each in standings for ended in _ended(each)),
        deviations=tuple(row for each in standings for row in service.open_rows(each.view.journal)[0]),
        proposals=tuple(row for row in proposals if row.task_id in ids),
        asks=tuple(ask for each in standings for ask in each.asks),
        archived=tuple(row for row in reversed(service.archives(store)) if row.proposals)[:_MOST_ARCHIVED],
    )


def _task(root: Root | None, plan_id: str | None, standing: Standing) -> TaskAccount:
    view = standing.view
    last = next(reversed(view.this_time.submissions), None)
    said = None if last is None else last.said
    commit = None if last is None else last.commit_id
    return TaskAccount(
        task_id=standing.task_id,
        title=standing.title,
        phase=standing.phase,
        state=view.row.shown_state,
        skipped=view.row.skipped,
        took_s=sum(_took_s(each, until=view.at) for each in view.sessions),
        sessions=len(view.sessions),
        steps=sum(1 for item in standing.progress.completed if _STEP.fullmatch(item)),
        new_tests=_new_tests(view.this_time.verifications),
        tests="" if said is None else said.tests,
        summary="" if said is None else said.summary,
        size=None if commit is None or root is None else size_of(root, plan_id, standing.task_id, commit),
        report_path=view.row.report_path,
    )


def _took_s(session: SessionRow, *, until: str) -> float:
    """Return how long a session has lasted; 0 where its times cannot be read."""
    try:
        return max(0.0, stored_s(session.ended_at or until) - stored_s(session.started_at))
    except (TypeError, ValueError):
        return 0.0


def _new_tests(verifications: Iterable[VerificationRow]) -> int:
    """Return how many new and changed tests the last verification of each checkpoint has examined."""
    examined: dict[int, int] = {}
    for row in verifications:
        found = read_result(row)
        if found is not None and found.stages is not None and found.stages.validity is not None:
            examined[row.checkpoint] = found.stages.validity.examined
    return sum(examined.values())


def _sent_back(standing: Standing) -> Iterator[SentBack]:
    for row in standing.view.submissions:
        if row.verdict in _SENT_BACK:
            yield SentBack(
                task_id=standing.task_id, checkpoint=_checkpoint(row), why=(row.verdict_text or "").strip()
            )


def _checkpoint(row: SubmissionRow) -> int | None:
    said = row.said
    return None if said is None or said.checkpoint is None else said.checkpoint.number


def _ended(standing: Standing) -> Iterator[Ended]:
    """Yield the sessions that another one has followed, or is to follow."""
    followed = standing.view.sessions[: None if not standing.is_over else -1]
    for session in followed:
        if session.ended_at is not None:
            yield Ended(task_id=standing.task_id, name=session.name, reason=session.exit_reason or "ended")
