"""The texts for a person when the table refuses an event: what was tried, and the command to use instead.

They are found by the names of states and events, because the errors must not import the table.
"""

from types import MappingProxyType
from typing import Final

_DONE: Final = MappingProxyType(
    {
        "open": "opened, the id is taken",
        "block": "left",
        "claim": "claimed",
        "resume": "played on",
        "submit": "submitted for review",
        "report": "reported on",
        "approve": "approved",
        "reject": "sent back",
        "propose_fix": "answered with a fix",
        "request_exit": "handed off",
        "exit": "left by its session",
        "complete": "completed",
        "withdraw": "withdrawn",
        "skip": "skipped",
        "reopen": "opened again",
        "take_over": "taken over",
        "send": "sent a message",
    }
)
"""What is done to a task by an event of the table, in a person's words."""

_INSTEAD: Final = MappingProxyType(
    {
        None: "`musician status` lists the tasks",
        "watching": "nobody has begun it: a run of its plan or `musician work {task}` plays it",
        "working": "wait until its session submits or reports something, or end it with `musician handoff {task}`",
        "needs_review": "look at it with `musician review show {task}`, then approve, reject or fix it",
        "review_approved": "its session goes on by itself; `musician handoff {task}` ends it",
        "review_failed": "its session goes on by itself; `musician handoff {task}` ends it",
        "fix_proposed": "its session, or the next, goes on by itself; `musician send {task} TEXT` tells it more",
        "error": "answer it with `musician review fix {task} TEXT`, or end its session with `musician handoff {task}`",
        "exit_requested": "wait until its session has exited: `musician status {task}` says whose it is",
        "exited": "open it for a next session with `musician handoff {task}`",
        "complete": "nothing is left to do; a correction is a new task (`musician task add`)",
    }
)
"""What a conductor does about a task in a state, instead of what was refused."""

_GO_ON: Final = "go on with `musician step {task} start N`, or submit with `musician checkpoint {task}`"
_OWNERS: Final = MappingProxyType(
    {
        "review_approved": _GO_ON,
        "review_failed": _GO_ON,
        "fix_proposed": _GO_ON,
        "working": "play it on, and submit with `musician checkpoint {task}`",
        "needs_review": "wait for the answer with `musician wait {task}`",
        "error": "wait for the answer with `musician wait {task}`",
        "exit_requested": "hand off now with `musician exit {task}`",
    }
)
"""What the session that has the task does; in any other state it has nothing more to write."""


def done_by(event: str) -> str:
    """Describe an event so that it fits after "cannot be"."""
    return _DONE.get(event, "changed like this")


def instead_for(task_id: str, state: str | None, *, is_owner: bool) -> str:
    """Say what to do with a task in this state; ``state`` is None for a task that does not exist."""
    if is_owner:
        instead = _OWNERS.get(state or "", "write nothing more and end")
    else:
        instead = _INSTEAD.get(state, "`musician status {task}` says where it stands")
    return instead.replace("{task}", task_id)
