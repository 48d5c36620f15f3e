"""Puts tasks of one plan's text in place of the same tasks of another's, and a new one at a phase's end.

The rest of the text stays to the byte, but for its line ends. Whether the result is a plan is for its reader to say.
"""

from collections.abc import Iterable

from musician.plans.headings import HeadingKind, read_numbered
from musician.plans.markdown import Heading, normalise, read_document

_PHASE, _TASK = 2, 3


def with_tasks_of(text: str, other: str, task_ids: Iterable[str]) -> str:
    """Return ``text`` with these tasks as ``other`` has them, as far as they are in both."""
    lines, theirs = normalise(text).split("\n"), normalise(other).split("\n")
    here, there = _tasks_in(text), _tasks_in(other)
    wanted = set(task_ids) & here.keys() & there.keys()
    for task_id in sorted(wanted, key=here.__getitem__, reverse=True):
        (begin, end), (first, last) = here[task_id], there[task_id]
        lines[begin:end] = theirs[first:last]
    return "\n".join(lines)


def with_task_added(text: str, section: str, *, phase: int | None) -> str | None:
    """Return ``text`` with a task's section at the end of a phase, by default the last; None if there is none."""
    lines = normalise(text).split("\n")
    ends: dict[int, int] = {}
    for heading, end in _sections(text, _PHASE):
        numbered = read_numbered(heading.text)
        if numbered is not None and numbered.kind is HeadingKind.PHASE:
            ends[numbered.number] = end
    wanted = max(ends, default=None) if phase is None else phase
    if wanted not in ends:
        return None
    before, after = "\n".join(lines[: ends[wanted]]), "\n".join(lines[ends[wanted] :])
    return f"{before.rstrip()}\n\n{section.strip()}\n" + (f"\n{after}" if after.strip() else "")


def _tasks_in(text: str) -> dict[str, tuple[int, int]]:
    """Return where each task's lines begin and end, from 0."""
    return {
        heading.text.partition(":")[0].strip(): (heading.start, end)
        for heading, end in _sections(text, _TASK)
        if heading.level == _TASK
    }


def _sections(text: str, level: int) -> list[tuple[Heading, int]]:
    """Return the headings of a level or a higher one, each with the line at which the next of them begins."""
    document = read_document(text)
    found = [block for block in document.blocks if isinstance(block, Heading) and block.level <= level]
    ends = [heading.start for heading in found[1:]]
    return list(zip(found, [*ends, len(document.lines)], strict=False))
