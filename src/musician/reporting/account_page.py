"""Words an account of a plan: as lines for a terminal, as a page of Markdown, as a document for programs.

The page quotes what agents wrote. So every text that is not ours is put on one line and its marks are
escaped: a title is no heading, and an answer is no HTML.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from musician.processes.output import headline, one_line
from musician.protocol.values import dataclass
from musician.reporting.account import Account, Ended, SentBack, TaskAccount
from musician.reporting.asks import asked, next_command
from musician.reporting.wording import duration
from musician.store.rows import JournalRow, ProposalRow
from musician.verification.findings import counted

_MOST_CHARS = 500
"""Of one quoted text."""

_MARKS = re.compile(r"([\\`*{}\[\]<>#|~&]|(?<!\w)_|_(?!\w))")
_TICKS = re.compile(r"`+")

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
        ("Sent back", [_say_sent_back(each) for each in account.sent_back]),
        ("Sessions that ended early", [_say_ended(each) for each in account.ended]),
        ("Open deviations", [_say_deviation(each) for each in account.deviations]),
        ("Open proposals", [_say_proposal(each) for each in account.proposals]),
    )
    return tuple(Section(title=title, lines=tuple(lines)) for title, lines in found if lines)


def page(account: Account, ending: str, places: Sequence[tuple[str, str]]) -> str:
    """Return the account as Markdown. ``ending`` says how the run ended; ``places`` are (what, where)
    pairs.
    """
    return "\n".join(_page(account, ending, places)) + "\n"


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
    }


def _task_document(task: TaskAccount) -> dict[str, object]:
    size = task.size
    return {
        "task_id": task.task_id,
        "took_s": task.took_s,
        "sessions": task.sessions,
        "steps": task.steps,
        "new_tests": task.new_tests,
        "files": None if size is None else size.files,
        "lines_added": None if size is None else size.added,
        "lines_removed": None if size is None else size.removed,
    }


def _page(account: Account, ending: str, places: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield f"# {_escaped(account.title)}"
    yield ""
    yield from _fenced(ending)
    yield ""
    yield _row(_HEADINGS)
    yield _row(_ALIGNED)
    yield from (_row(_cells(task)) for task in account.tasks)
    if told := [task for task in account.tasks if task.summary]:
        yield from _list("What was done", (f"**{_escaped(each.task_id)}**: {_told(each)}" for each in told))
    for section in sections(account):
        yield from _list(section.title, map(_escaped, section.lines))
    waiting = [
        f"{_escaped(f'{ask.task_id}, {asked(ask)}')}: {_code(next_command(ask, plan_id=account.plan_id))}"
        for ask in account.asks
    ]
    if waiting:
        yield from _list("What waits for you", waiting)
    yield from _list("Where everything is", (f"{what}: {_code(where)}" for what, where in places))


def _cells(task: TaskAccount) -> tuple[str, ...]:
    return (
        _escaped(task.task_id),
        _escaped(task.title),
        "withdrawn" if task.is_withdrawn else task.state,
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
    tests = f" ({_escaped(one_line(task.tests, _MOST_CHARS))})" if task.tests else ""
    return f"{_escaped(one_line(task.summary, _MOST_CHARS))}{tests}"


def _say_sent_back(each: SentBack) -> str:
    where = "" if each.checkpoint is None else f" at checkpoint {each.checkpoint}"
    return f"{each.task_id}{where}: {one_line(each.why, _MOST_CHARS)}"


def _say_ended(each: Ended) -> str:
    return f"{each.name}: {headline(each.reason)}"


def _say_deviation(row: JournalRow) -> str:
    return f"{row.task_id}, {row.item or 'at no step'} ({row.severity}): {one_line(row.text, _MOST_CHARS)}"


def _say_proposal(row: ProposalRow) -> str:
    return f"{row.id}, {row.task_id}: {one_line(row.title, _MOST_CHARS)} ({row.type})"


def _list(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    yield from (f"- {line}" for line in lines)


def _fenced(text: str) -> Iterator[str]:
    """Yield a text as it is, in a fence that nothing in it closes."""
    fence = "`" * max(3, *(len(run) + 1 for run in _TICKS.findall(text)), 3)
    yield f"{fence}text"
    yield text
    yield fence


def _code(text: str) -> str:
    """Return a text as code, whatever backticks it has."""
    line = one_line(text, _MOST_CHARS)
    ticks = "`" * (max((len(run) for run in _TICKS.findall(line)), default=0) + 1)
    return f"{ticks} {line} {ticks}" if "`" in line else f"`{line}`"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", one_line(text, _MOST_CHARS * 2))
