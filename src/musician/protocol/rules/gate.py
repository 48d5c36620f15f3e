"""Whether a client's session may stop (sources "Implementation-Hook Integration", D11, B01).

Theory. A session that owns a claim ends its turn in one of three ways. It *may go* where nothing is owed: no live
claim, or somebody else keeps the wait (a person's monitor, the program that hosts it). It *waits* inside the hook,
costing no tokens, where it waits for the conductor and nobody would wake it. Else it is *kept*, told what is missing
and the exact next call. Keeping has an end: after so many stops during which nothing moved, or just before the client's
own cap would end the session as if all were well, it is let go with a trace that the conductor sees.

Knows no database and no clock. What it says carries pointers, never a message's text: a reason arrives as "not user
input", and the session reads the database for itself.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from musician.protocol.names import CONDUCTOR
from musician.protocol.states import TERMINAL, WAITING, State
from musician.protocol.values import dataclass

if TYPE_CHECKING:
    pass

CLIENT_CAP = 8
"""Blocks in a row without a tool call between, after which the client overrides the next one."""

_MOST_STOPS = 500
_MOST_CONDUCTORS_STOPS = 1000
_MOST_POINTERS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """A live claim of the session. ``message_ids`` have not reached it; ``item`` is begun and not done, "" for none;
    ``asks``: it waits for an answer, or stands still with its siblings, whatever its state."""

    task_id: str
    state: State
    message_ids: tuple[int, ...] = ()
    item: str = ""
    asks: bool = False

    @property
    def is_free(self) -> bool:
        """Whether its session may end: a conductor's also where it was asked to leave."""
        return self.state in TERMINAL or (self.task_id == CONDUCTOR and self.state is State.EXIT_REQUESTED)

    @property
    def waits(self) -> bool:
        return self.state in WAITING or (self.asks and self.state is State.WORKING)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowStop:
    """The session may stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Wait for the conductor inside the hook."""

    duty: Duty


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The session goes on, for this reason."""

    duty: Duty
    reason: str


Decision = AllowStop | Wait | Keep


def decide(duties: Sequence[Duty], *, is_woken: bool, has_tools: bool = True) -> Decision:
    """``is_woken``: somebody else wakes the session when the conductor answers (a monitor, a host).

    Without tools, because their server is late or dead, the next call is a command (``has_tools``).
    """
    open_ = [duty for duty in duties if not duty.is_free]
    owed = next((duty for duty in open_ if duty.message_ids or not duty.waits), None)
    if owed is not None:
        return Keep(duty=owed, reason=_reason(owed, has_tools=has_tools))
    if not open_ or is_woken:
        return AllowStop()
    return Wait(duty=open_[0])


def spent(duty: Duty, *, stops: int, in_a_row: int, cap: int) -> str:
    """Why a session that should be kept is let go after all; "" while it is kept.

    ``stops`` counts those while nothing moved in the database, this one included; ``in_a_row`` those without a tool
    call between. ``cap`` is the client's, 0 for none.
    """
    most = _MOST_CONDUCTORS_STOPS if duty.task_id == CONDUCTOR else _MOST_STOPS
    if stops > most:
        return f"it tried to stop {stops} times and nothing moved"
    if cap and in_a_row > cap:
        return f"it was kept {cap} times in a row, and the client lets nobody be kept longer"
    return ""


_CALLS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "inbox": ("inbox()", "musician inbox {task} --ack"),
        "claim": ("claim()", "musician claim {task}"),
        "start": ('step(n=…, act="start")', "musician step {task} start N"),
        "done": ('step(n={step}, act="done")', "musician step {task} done {step}"),
        "error": ('error(text="…")', "musician error {task} '…'"),
        "checkpoint": ('checkpoint(summary="…")', "musician checkpoint {task}"),
        "complete": ("complete()", "musician complete {task}"),
        "leave": (
            'handoff(reason="exit requested", notes="…")',
            "musician exit {task} --reason 'exit requested'",
        ),
        "handoff": ('handoff(reason="…")', "musician exit {task} --reason '…'"),
    }
)
"""What a session calls, as a tool and as a command."""

_NO_TOOLS = " (The comms-link tools are not there now: type these commands instead.)"


def _reason(duty: Duty, *, has_tools: bool) -> str:
    if duty.task_id == CONDUCTOR:
        return "You conduct (task-00 is working): see to the tasks, or set its state to `complete` or `exit_requested`."
    told = f"{duty.task_id} is {duty.state}"
    shown = ", ".join(map(str, duty.message_ids[:_MOST_POINTERS]))
    more = len(duty.message_ids) - _MOST_POINTERS
    unread = f"Message {shown}{f' and {more} more' if more > 0 else ''} from the conductor: call `{{inbox}}` first. "
    step = duty.item.removeprefix("step ")
    calls = {
        name: spelled[not has_tools].format(task=duty.task_id, step=step) for name, spelled in _CALLS.items()
    }
    text = f"{unread if duty.message_ids else ''}{_next_call(duty)}".format_map(calls)
    return f"{told}. {text}{'' if has_tools else _NO_TOOLS}"


def _next_call(duty: Duty) -> str:
    match duty.state:
        case State.EXIT_REQUESTED:
            return "The conductor asks you to leave: call `{leave}`."
        case State.REVIEW_APPROVED:
            return "Approved: call `{claim}` for the next step, or `{complete}` after the last checkpoint."
        case State.REVIEW_FAILED | State.FIX_PROPOSED:
            return "Mend what the conductor says, then call `{checkpoint}`."
        case State.NEEDS_REVIEW | State.ERROR:
            return "Then end your turn again: it still waits."
    if duty.item.startswith("step ") and " " not in duty.item.removeprefix("step "):
        return f"{duty.item} is begun: finish it and call `{{done}}`, or `{{error}}` if you cannot."
    if duty.item:
        return f"{duty.item} is begun: finish it; `{{claim}}` says where you stand."
    return "Call `{claim}` for the next step, then `{start}` or `{checkpoint}`; `{handoff}` ends the session."
