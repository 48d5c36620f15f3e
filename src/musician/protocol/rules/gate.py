"""Decides whether a client's session may end its turn (sources "Implementation-Hook Integration", D11, B01).

Theory. When a session tries to stop, there are three decisions. It may *stop* if nothing is left to do: it has no live
claim, or something else will wake it (a monitor, the program that hosts it). It *waits* inside the hook, which costs no
tokens, if it waits for the conductor and nothing else would wake it. Otherwise it is *kept*, and is told what is
missing and which call comes next. A session is not kept for ever: after many stops without any change in the database,
or just before the client's own limit would end it silently, it may stop, and the conductor sees why.

The rules know no database and no clock. A reason names messages by their ids and never quotes them: the client marks a
reason as "not user input", so the session has to read the message itself.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from musician.protocol.names import CONDUCTOR
from musician.protocol.states import TERMINAL, WAITING, State
from musician.protocol.values import dataclass

CLIENT_CAP = 8
"""After this many blocked stops without a tool call between them, the client ignores the next block."""

_MOST_STOPS = 500
_MOST_CONDUCTORS_STOPS = 1000
_MOST_POINTERS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """A live claim of the session.

    ``message_ids`` are undelivered messages, ``item`` is the item that is begun and not done ("" if none). ``asks`` is
    true if the session waits for an answer, or is paused with its siblings, whatever its state. ``is_held``: its plan
    is paused, so that no model is prompted for it but to leave (PLAN-23).
    """

    task_id: str
    state: State
    message_ids: tuple[int, ...] = ()
    item: str = ""
    asks: bool = False
    is_held: bool = False

    @property
    def is_free(self) -> bool:
        """Whether the session may end. A conductor's also may if it was asked to exit."""
        return self.state in TERMINAL or (self.task_id == CONDUCTOR and self.state is State.EXIT_REQUESTED)

    @property
    def is_owed(self) -> bool:
        """Whether the session has something to do now."""
        return not self.waits or (bool(self.message_ids) and not self.is_held)

    @property
    def waits(self) -> bool:
        if self.is_held:
            return self.state is not State.EXIT_REQUESTED
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
    """The session must go on, for this reason."""

    duty: Duty
    reason: str


Decision = AllowStop | Wait | Keep


def decide(duties: Sequence[Duty], *, is_woken: bool, has_tools: bool = True) -> Decision:
    """Decide whether a session with these duties may stop.

    ``is_woken`` is true if a monitor or a host wakes the session when the conductor answers. ``has_tools`` is false if
    the server of the tools is late or dead; then reasons name commands instead of tools.
    """
    open_ = [duty for duty in duties if not duty.is_free]
    owed = next((duty for duty in open_ if duty.is_owed), None)
    if owed is not None:
        return Keep(duty=owed, reason=_reason(owed, has_tools=has_tools))
    if not open_ or is_woken:
        return AllowStop()
    return Wait(duty=open_[0])


def spent(duty: Duty, *, stops: int, in_a_row: int, cap: int) -> str:
    """Return why a session that should be kept may stop after all; "" if it is kept.

    ``stops`` counts the stops since anything changed in the database, this one included; ``in_a_row`` counts those
    without a tool call between them. ``cap`` is the client's limit, 0 for none.
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
"""The calls that reasons name, as (tool, command)."""

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
