"""The briefing at the start of a conversation: what the task is about, where it stands, what the last session
left.

It is made of the journal, the verifications and the HANDOFF, never of an old transcript, and it is bounded: a
fresh context must not be filled by its beginning. It does not depend on the last session's agent. What the
conductor has said meanwhile is not in it: the first piece carries that.
"""

import re
from collections.abc import Iterator

from musician import service
from musician.agents.prompts import begun_with, common_rules, gone_on_with
from musician.plans.model import TaskSpec
from musician.processes.output import one_line, printable
from musician.protocol.journal import PLAYED, EntryKind, Progress
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.settings import Settings
from musician.runtime.resuming.handoffs import last_verification
from musician.service import TaskView

_MOST_UNLIKE_CHARS = 1000
MOST_ABOUT_CHARS = 6000
"""Of the overviews of plan and task: a person's own words, which nobody else cuts."""
MOST_LEFT_BYTES = 8000
"""Of everything else."""

_MOST_LINE_CHARS = 160
_MOST_TITLE_CHARS = 60
_MOST_OF_A_KIND = 8
_MOST_NOTES_CHARS = 1500

_NOTES = re.compile(r"^## Notes\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def briefing_of(
    view: TaskView, program: Program, handoff: str | None, *, epoch: int, is_gone_on_with: bool, rules: str
) -> str:
    """Return the briefing for claim ``epoch``. ``is_gone_on_with``: a resumed conversation, which knows the
    rest.
    """
    where = where_it_stands(view, program, handoff, epoch=epoch)
    if is_gone_on_with:
        return gone_on_with(where, rules)
    return begun_with(what_it_is_about(view, program), where, rules)


def rules_for(task: TaskSpec, settings: Settings) -> str:
    """Return how the task is to be played; what it leaves open, the settings say."""
    return common_rules(is_test_first=_is_test_first(task, settings), style=settings.prompts.style)


def unlike_the_skill(task: TaskSpec, settings: Settings) -> str:
    """Return how the task is to be played where that differs from what the plugin's skill says; "" if nowhere."""
    tests = "" if _is_test_first(task, settings) else "Tests need not be written first."
    return " ".join(filter(None, (tests, settings.prompts.style.strip())))[:_MOST_UNLIKE_CHARS]


def _is_test_first(task: TaskSpec, settings: Settings) -> bool:
    return settings.prompts.test_first if task.test_first is None else task.test_first


def what_it_is_about(view: TaskView, program: Program) -> str:
    about = printable(f"{program.task_id}: {program.title}\n\n{program.overview}".strip())
    if len(about) > MOST_ABOUT_CHARS:
        about = f"{about[:MOST_ABOUT_CHARS]}… (the rest is in {view.row.instruction_path})"
    return about


def where_it_stands(view: TaskView, program: Program, handoff: str | None, *, epoch: int) -> str:
    progress = Progress().after(service.as_entry(row) for row in view.journal)
    return _cut("\n".join((*_parts(view, program, progress), *_left(view, progress, handoff, epoch))))


def _parts(view: TaskView, program: Program, progress: Progress) -> Iterator[str]:
    """What was done last, and what is next."""
    told = {row.item: row.text for row in view.journal if row.kind in PLAYED}
    done = [item for item in program.items if progress.is_done(item.item)]
    ahead = program.ahead(progress)
    if len(done) > _MOST_OF_A_KIND:
        yield f"- {len(done) - _MOST_OF_A_KIND} parts more that are done"
    for item in done[-_MOST_OF_A_KIND:]:
        yield _line(f"- {_named(item)}: {_done(item.item, progress)} {told.get(item.item, '')}")
    for item in ahead[:_MOST_OF_A_KIND]:
        yield _line(f"- {_named(item)}")
    if len(ahead) > _MOST_OF_A_KIND:
        yield f"- {len(ahead) - _MOST_OF_A_KIND} parts more"


def _named(item: Play | CheckpointItem) -> str:
    return f"{item.item} ({one_line(item.title, _MOST_TITLE_CHARS)})"


def _done(item: str, progress: Progress) -> str:
    return (
        "done." if item in progress.completed else "approved." if item in progress.approved else "left out."
    )


def _left(view: TaskView, progress: Progress, handoff: str | None, epoch: int) -> Iterator[str]:
    """Yield what is worth knowing of earlier sessions."""
    earlier = [session for session in view.sessions if session.claim_epoch < epoch]
    if earlier:
        last = earlier[-1]
        used = "" if last.context_pct is None else f" with {last.context_pct:.0f} % of its context used"
        yield ""
        yield "What is done an earlier session has done, and committed: `git log` and `git show` have it."
        yield _line(f"It ended{used}: {last.exit_reason or 'it said nothing'}")
    for deviation in progress.deviations[-_MOST_OF_A_KIND:]:
        ruled = "ruled on" if deviation.ruled else "not ruled on yet"
        yield _line(f"Deviation ({deviation.severity}, {ruled}): {deviation.text}")
    for text in progress.self_corrections[-_MOST_OF_A_KIND:]:
        yield _line(f"Corrected: {text}")
    aside = [row.text for row in view.journal if row.kind == EntryKind.SET_ASIDE]
    if aside:
        yield _line(f"What was half done is not in your tree; `git show {aside[-1]}` has it.")
    if verified := last_verification(view):
        yield _line(f"Verified last: {verified}")
    if view.question is not None:
        yield _line(f"Asked, and not answered yet: {view.question.message}")
    if earlier and (notes := _NOTES.search(handoff or "")):
        yield f"It left these notes:\n{printable(notes[1].strip())[:_MOST_NOTES_CHARS]}"


def _line(text: str) -> str:
    return one_line(text, _MOST_LINE_CHARS)


def _cut(text: str) -> str:
    data = text.encode()
    return text if len(data) <= MOST_LEFT_BYTES else data[:MOST_LEFT_BYTES].decode(errors="ignore") + "…"
