"""What the verifications of a task have found, as people judge by it, for every surface."""

from musician.processes.output import one_line
from musician.protocol.journal import WORK
from musician.protocol.rules.evidence import Grounds, why_stale
from musician.protocol.values import dataclass
from musician.service import TaskView
from musician.store.rows import VerificationRow
from musician.trees.root import Root
from musician.trees.task_work import grounds_of
from musician.verification.earlier import read_result
from musician.verification.result import CommandResult, VerificationResult

_MOST_COMMAND_CHARS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One verification. ``commit_id`` is what was submitted with it, "" if nothing was; ``stale`` why it does not
    hold any more, "" if it does. ``commands`` and ``found`` are lines; none if another version has written it.
    """

    row: VerificationRow
    commit_id: str
    stale: str
    commands: tuple[str, ...]
    found: tuple[str, ...]


def evidence_of(root: Root | None, view: TaskView) -> tuple[Evidence, ...]:
    """Return the evidence of a task, the newest first; without a root its work is not looked at. Blocks."""
    row = view.row
    can_move = bool(view.verifications) and not row.is_over
    now = grounds_of(root, row.plan_id, row.task_id) if root and can_move else Grounds()
    return tuple(_evidence(view, each, now) for each in reversed(view.verifications))


def _evidence(view: TaskView, row: VerificationRow, now: Grounds) -> Evidence:
    commits = {each.message_id: each.commit_id for each in view.submissions}
    worked_since = any(entry.id > row.journal_id and entry.kind in WORK for entry in view.journal)
    result = read_result(row)
    return Evidence(
        row=row,
        commit_id=(row.submission_id and commits.get(row.submission_id)) or "",
        stale=why_stale(row.tree_id, now, worked_since=worked_since),
        commands=() if result is None else tuple(map(_command, result.commands)),
        found=() if result is None else _found(result),
    )


def _command(ran: CommandResult) -> str:
    counts = ran.counts
    tests = (
        ""
        if counts is None
        else f", {counts.ran} tests ran, {counts.failed} failed, {counts.skipped} skipped"
    )
    ended = "out of time" if ran.timed_out else f"exit code {ran.exit_code}"
    return f"{one_line(ran.command, _MOST_COMMAND_CHARS)}: {ended}{tests}"


def _found(result: VerificationResult) -> tuple[str, ...]:
    said = () if result.stages is None else result.stages.said()
    return tuple(dict.fromkeys((result.ran_line(), *said)))
