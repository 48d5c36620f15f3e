"""Somebody calls for a musician: ``/musician task-03``, ``#3``, ``3``, or the sources' standard prompt.

The claim is made before the model runs, and once, however often the hook is registered: an owner's second claim changes
nothing. What a resumption owes is done here too, and may take as long as the tests of what stands approved; so this
event alone may use the runtime, and has a long time limit. What is handed over is short: the rest is read where it is
needed.
"""

from functools import partial
from typing import TYPE_CHECKING

from musician.hooks.answers import PLANNING, additional_context
from musician.hooks.event import HookEvent
from musician.hooks.hook_context import HookContext
from musician.protocol.errors import ClaimBlocked, DatabaseUnusable, MusicianError

if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.protocol.claim import Claim
    from musician.runtime.manual.takeup import TakenUp
    from musician.store.rows import MessageRow
    from musician.trees.root import Root

COMMAND = "musician"
"""The skill's name, with or without its plugin's before it."""

CONDUCT = "conductor"
"""That of the other skill: its session conducts."""

MOST_STEP_CHARS = 4000
"""Of the step's text; the instruction has all of it."""


def answer(event: HookEvent, context: HookContext) -> "Answer | None":
    command = event.text("command_name").rpartition(":")[2]
    if command == CONDUCT:
        from musician.hooks.conducting import begin

        return begin(event, context)
    if command != COMMAND:
        return None
    if not context.exists:
        return trouble(event, context, f"no database at {context.database}: `musician init` makes one")
    if event.text("permission_mode") == "plan" and not context.played:
        return _refused(event, PLANNING)
    said = event.text("command_args").strip()
    if not said and len(context.played) != 1:
        return _refused(event, f"no task is named: /{COMMAND} TASK. Open tasks: {_open_tasks(context)}")
    try:
        return additional_context(event.name, _take_up(event, context, said or context.played[0].task_id))
    except DatabaseUnusable:
        raise  # reported by the caller, in another way than a refusal
    except ClaimBlocked as blocked:
        told = f"{blocked}. This session may end: write nothing for {blocked.task_id}"
        return _refused(event, told)
    except MusicianError as error:
        return _refused(event, str(error))


def trouble(event: HookEvent, _place: HookContext, problem: str) -> "Answer | None":
    """Nothing was claimed that anybody could count on; the model says so instead of playing."""
    command = event.text("command_name").rpartition(":")[2]
    if command == CONDUCT:
        from musician.hooks.conducting import refused

        return refused(event, problem)
    if command != COMMAND:
        return None
    return _refused(event, f"{problem}. Call `claim` to try again once that is mended")


def _refused(event: HookEvent, why: str) -> "Answer":
    return additional_context(event.name, f"NOT CLAIMED: {why}. Tell the user, and do not play.")


def _open_tasks(context: HookContext) -> str:
    from musician import service
    from musician.protocol.states import CLAIMABLE

    rows = [row.task_id for row in service.open_tasks(context.store) if row.state in CLAIMABLE]
    return ", ".join(rows[:10]) or "none"


def _take_up(event: HookEvent, context: HookContext, reference: str) -> str:
    import anyio

    from musician import service
    from musician.hooks.client import met
    from musician.protocol.names import launch_words, parse_launch_prompt
    from musician.runtime.manual.takeup import take_up

    store = context.store
    known = {row.task_id for row in service.names_like(store, launch_words(reference))}
    task_id = parse_launch_prompt(reference, known)
    service.task_row(store, task_id)  # an unknown task leaves no trace
    settings = context.settings
    root = context.root
    work = partial(take_up, root, store, task_id, event.session_id, settings=settings)
    taken = anyio.run(work)
    service.meet_client(
        store, taken.claim.session_id, met(transcript_path=event.transcript_path, source=None)
    )
    return _told(context, root, taken)


def _told(context: HookContext, root: "Root", taken: "TakenUp") -> str:
    from musician.hooks.reminder import pointers

    claim, how = taken.claim, "claimed" if taken.is_new else "yours already"
    lines = [
        f"{claim.task_id} is {how}: you are {taken.worked_by}, claim {claim.epoch}.",
        f"Instruction: {taken.instruction_path}",
        f"Work only in: {taken.tree}" if taken.tree else "",
        f"How to play it: {taken.rules}" if taken.rules else "",
        f"Done: {taken.done_count}, to do: {taken.pending_count}.",
        _resumption(root, taken),
        pointers(context, claim, _unheard(context, claim)),
    ]
    if taken.warning:
        lines.append(f"It cannot be played yet ({taken.warning}): mend that and call `claim`.")
    elif taken.question:
        lines.append(f"Asked the conductor: {taken.question}\nEnd your turn; play nothing before the answer.")
    elif taken.paused:
        lines.append(f"Not yet: {taken.paused}. End your turn; play nothing before it goes on.")
    else:
        lines.append(_next(context, taken))
    return "\n".join(line for line in lines if line)


def _resumption(root: "Root", taken: "TakenUp") -> str:
    found = taken.resumption
    if found is None:
        return ""
    context = root.temp_dir.relative_to(root.path) / f"{taken.claim.task_id}-HANDOFF"
    return (
        f"You take over from session {found.previous_session}. HANDOFF: {found.handoff}"
        f" ({context}). Assessment: {found.assessment}. Verified anew: {found.verification}."
    )


def _unheard(context: HookContext, claim: "Claim") -> "tuple[MessageRow, ...]":
    """Return the conductor's messages other than the instruction, which is delivered here already."""
    from musician import service
    from musician.protocol.messages.kinds import MessageType

    unread = service.unread(context.store, claim.task_id)
    if unread and unread[0].message_type == MessageType.INSTRUCTION:
        service.deliver(context.store, claim, (unread[0].id,))
        service.acknowledge(context.store, claim, unread[0].id)
        unread = unread[1:]
    return unread


def _next(context: HookContext, taken: "TakenUp") -> str:
    """The next item with its own text, and the call that begins it."""
    from musician.protocol.musician.program import CheckpointItem
    from musician.runtime.manual.manual_session import ManualSession

    manual = ManualSession.of(context, taken.claim)
    item = next((each for each in manual.program.items if each.item == taken.next_item), None)
    if item is None:
        return "Everything is approved: call `complete`."
    text = item.prose.strip()
    if len(text) > MOST_STEP_CHARS:
        text = f"{text[:MOST_STEP_CHARS]} … (cut; the instruction has all of it)"
    if isinstance(item, CheckpointItem):
        call = "call `checkpoint`"
    elif item.is_agent:
        call = f"`agent` {item.item.removeprefix('step ').replace(' agent ', '.')} launched, then returned"
    else:
        call = f"`step` {item.step} start, play it, `step` {item.step} done"
    return "\n".join(part for part in (f"Next is {item.item}: {item.title} ({call})", text) if part)
