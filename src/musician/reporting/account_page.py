"""Words an account of a plan: as lines for a terminal, as a page of Markdown, as a document for programs."""

from collections.abc import Iterator, Sequence

from musician.processes.output import headline, one_line, printable
from musician.protocol.names import NO_PLAN
from musician.protocol.values import dataclass
from musician.reporting.account import Account, Ended, SentBack, TaskAccount
from musician.reporting.asks import asked, next_command
from musician.reporting.markdown import MOST_CHARS, code, escaped, fenced, table_row, titled_list
from musician.reporting.plan_list import say_left_open
from musician.reporting.wording import duration
from musician.store.rows import JournalRow, ProposalRow
from musician.verification.findings import counted

_HEADINGS = ("task", "what", "state", "time", "sessions", "steps", "new tests", "lines")
_ALIGNED = ("---", "---", "---", "--:", "--:", "--:", "--:", "---")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Lines that belong together. There is none without lines."""

    title: str
    lines: tuple[str, ...]


def sections(account: Account) -> tuple[Section, ...]:
    """Return what went otherwise than planned, and what is open, as plain text."""
    found = (
        ("Skipped", [f"{each.task_id}: {headline(each.skipped)}" for each in account.tasks if each.skipped]),
        ("Sent back", [_say_sent_back(each) for each in account.sent_back]),
        ("Sessions that ended early", [_say_ended(each) for each in account.ended]),
        ("Open deviations", [_say_deviation(each) for each in account.deviations]),
        ("Open proposals", [_say_proposal(each) for each in account.proposals]),
        ("Open proposals of earlier plans", list(map(say_left_open, account.archived))),
    )
    return tuple(Section(title=title, lines=tuple(lines)) for title, lines in found if lines)


def page(account: Account, ending: str, places: Sequence[tuple[str, str]]) -> str:
    """Return the account as Markdown. ``ending`` says how the run ended; ``places`` are (what, where)
    pairs.
    """
    return printable("\n".join(_page(account, ending, places))) + "\n"


def document(account: Account) -> dict[str, object]:
    """Return what went otherwise and what is open, for ``--json``. The keys are stable."""
    return {
        "work": [_task_document(each) for each in account.tasks],
        "sent_back": [
            {"task_id": each.task_id, "checkpoint": each.checkpoint, "why": each.why}
            for each in account.sent_back
        ],
        "ended_early": [
            {"task_id": each.task_id, "musician": each.name, "reason": each.reason} for each in account.ended
        ],
        "deviations": [
            {"task_id": row.task_id, "item": row.item, "severity": row.severity, "text": row.text}
            for row in account.deviations
        ],
        "proposals": [
            {"id": row.id, "task_id": row.task_id, "type": row.type, "title": row.title, "path": row.path}
            for row in account.proposals
        ],
        "archived_proposals": [
            {"plan_id": row.plan_id, "proposals": row.proposals} for row in account.archived
        ],
    }


def _task_document(task: TaskAccount) -> dict[str, object]:
    size = task.size
    return {
        "task_id": task.task_id,
        "skipped": task.skipped,
        "took_s": task.took_s,
        "sessions": task.sessions,
        "steps": task.steps,
        "new_tests": task.new_tests,
        "files": None if size is None else size.files,
        "lines_added": None if size is None else size.added,
        "lines_removed": None if size is None else size.removed,
    }


def _page(account: Account, ending: str, places: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield f"# {escaped(account.title)}"
    yield ""
    yield from fenced(ending)
    yield ""
    yield table_row(_HEADINGS)
    yield table_row(_ALIGNED)
    yield from (table_row(_cells(task)) for task in account.tasks)
    if told := [task for task in account.tasks if task.summary]:
        yield from titled_list(
            "What was done", (f"**{escaped(each.task_id)}**: {_told(each)}" for each in told)
        )
    for section in sections(account):
        yield from titled_list(section.title, map(escaped, section.lines))
    waiting = [
        f"{escaped(f'{ask.task_id}, {asked(ask)}')}: {code(next_command(ask, plan_id=account.plan_id or NO_PLAN))}"
        for ask in account.asks
    ]
    if waiting:
        yield from titled_list("What waits for you", waiting)
    yield from titled_list("Where everything is", (f"{what}: {code(where)}" for what, where in places))


def _cells(task: TaskAccount) -> tuple[str, ...]:
    return (
        escaped(task.task_id),
        escaped(task.title),
        task.state,
        duration(task.took_s) if task.sessions else "",
        str(task.sessions),
        str(task.steps),
        str(task.new_tests),
        _say_size(task),
    )


def _say_size(task: TaskAccount) -> str:
    size = task.size
    return "" if size is None else f"+{size.added} −{size.removed} in {counted(size.files, 'file')}"


def _told(task: TaskAccount) -> str:
    tests = f" ({escaped(one_line(task.tests, MOST_CHARS))})" if task.tests else ""
    return f"{escaped(one_line(task.summary, MOST_CHARS))}{tests}"


def _say_sent_back(each: SentBack) -> str:
    where = "" if each.checkpoint is None else f" at checkpoint {each.checkpoint}"
    return f"{each.task_id}{where}: {one_line(each.brief, MOST_CHARS)}"


def _say_ended(each: Ended) -> str:
    return f"{each.name}: {headline(each.reason)}"


def _say_deviation(row: JournalRow) -> str:
    return f"{row.task_id}, {row.item or 'at no step'} ({row.severity}): {one_line(row.text, MOST_CHARS)}"


def _say_proposal(row: ProposalRow) -> str:
    return f"{row.id}, {row.task_id}: {one_line(row.title, MOST_CHARS)} ({row.type})"
