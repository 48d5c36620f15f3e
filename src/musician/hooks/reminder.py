"""A musician's standing in a few words, for a session whose own memory of it may be gone.

Pointers only: what a message says is for the session to read with its tools, and counts as delivered once it has been
pointed at (D12).
"""

from musician import service
from musician.hooks.hook_context import HookContext
from musician.protocol.claim import Claim
from musician.protocol.states import CLAIMABLE, State
from musician.store.rows import MessageRow

MOST_POINTERS = 10
"""Messages pointed at in one breath; the others follow."""

_NEXT = {
    State.WORKING: "go on with it",
    State.NEEDS_REVIEW: "it waits for the conductor's verdict: end your turn, you are woken",
    State.ERROR: "it waits for the conductor's answer: end your turn, you are woken",
    State.REVIEW_APPROVED: "approved: go on, or `complete` after the last checkpoint",
    State.REVIEW_FAILED: "sent back: read why with `inbox`, mend it",
    State.FIX_PROPOSED: "changes are proposed: read them with `inbox`, make them",
    State.EXIT_REQUESTED: "the conductor asks you to leave: call `handoff`",
}


def where(context: HookContext) -> str:
    """Each live claim's state, and what that asks for; one line each."""
    return "\n".join(
        f"{held.task_id} is {held.state}: {_NEXT.get(State(held.state), 'go on')}" for held in context.played
    )


def standing(context: HookContext) -> str:
    """Where a session works, before anything else: it may stand elsewhere (D43); who it is, what it has begun, and what
    has been said to it."""
    lines = [f"Work only in: {tree}" for tree in map(context.tree_of, context.played) if tree]
    if any(held.conducts for held in context.live):
        lines.append("You conduct here (task-00).")
    for held in context.played:
        view = service.task_view(context.store, held.task_id)
        lines.append(f"You are {view.row.worked_by}, claim {held.epoch} of {held.task_id}.")
        begun = service.begun_in(view.journal, held.epoch)
        if begun:
            lines.append(f"Begun, and not done: {', '.join(each.item for each in begun)}.")
        unread = service.unread(context.store, held.task_id)
        lines.append(pointers(context, held.claim, unread))
    if context.played:
        lines.append(where(context))
        lines.append("`claim` without a task tells the instruction, the tree and the next step.")
    return "\n".join(line for line in lines if line)


def lost(context: HookContext) -> str:
    """Return a text about tasks that the session has claimed and does not own any more; "" if there are none."""
    gone = [held.task_id for held in context.held if not held.is_live]
    if not gone:
        return ""
    free = [task_id for task_id in gone if is_free(context, task_id)]
    again = f" Nobody has {free[0]} now: call `claim` with it to go on." if free else ""
    return f"This session's claim on {', '.join(gone)} has ended: write nothing more for it.{again}"


def is_free(context: HookContext, task_id: str) -> bool:
    """Whether a session may claim the task now, the one that had it before among them."""
    row = service.task_row(context.store, task_id)
    return row.session_id is None and row.state in CLAIMABLE


def pointers(context: HookContext, claim: Claim, messages: tuple[MessageRow, ...]) -> str:
    """One line that points at messages, which are delivered by that; "" for none."""
    shown = messages[:MOST_POINTERS]
    if not shown:
        return ""
    service.deliver(context.store, claim, tuple(message.id for message in shown))
    named = ", ".join(f"{message.id} ({message.message_type})" for message in shown)
    more = f" and {len(messages) - len(shown)} more" if len(messages) > len(shown) else ""
    return f"{claim.task_id}: message {named}{more} from the conductor: read with `inbox`"
