"""A session is about to end its turn: may it (B01, D11)?

What is decided is in :mod:`musician.protocol.rules.gate`; here it is counted, waited and written down. Decisions for
when something is wrong (B10): a session that may only plan is let go, for nothing that it owes can be done like that;
a database that cannot be read lets the session go, says so to the person at the client
and in ``.musician/logs/gate.log``, and the silent heartbeat tells the conductor; one that only cannot be written
keeps the session as it would have been kept, uncounted, and the client's own cap ends that. A hook that is ended
while it waits leaves the task waiting as it is, with a heartbeat that nobody refreshes.
"""

import os

from musician import service
from musician.hooks.answers import block, notice
from musician.hooks.entry import log
from musician.hooks.status_file import note_down
from musician.hooks.stop_counting import this_stop
from musician.processes.life_lock import is_held, lock_path
from musician.protocol.errors import ClaimLost, DatabaseUnusable
from musician.protocol.names import CONDUCTOR
from musician.protocol.rules.gate import CLIENT_CAP, Decision, Duty, Keep, Wait, decide, spent
from musician.protocol.states import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.hook_context import HookContext
    from musician.protocol.claim import Claim

MONITOR = "the conductor's messages and verdicts"
"""What the plugin's monitor is called in the client."""

_CAP = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"


def answer(event: "HookEvent", context: "HookContext") -> "Answer | None":
    if context.is_conductor and not context.live:
        from musician.hooks.conducting import wait_for_news

        reason = wait_for_news(context, event.session_id or "")
        return block(reason) if reason else None
    if not context.live:
        return None
    _count_subagents(event, context)
    try:
        decision = _decided(event, context)
        if isinstance(decision, Wait):
            from musician.hooks.stop_waiting import wait_for_conductor

            decision = wait_for_conductor(context, _claim(context, decision.duty))
        if isinstance(decision, Keep) and event.text("permission_mode") == "plan":
            return notice(
                f"musician: {decision.duty.task_id} stays yours. It goes on once you leave plan mode (Shift+Tab)"
            )
        return _kept(event, context, decision) if isinstance(decision, Keep) else None
    except ClaimLost:
        return None  # taken over meanwhile: its successor finishes the task


def trouble(event: "HookEvent", context: "HookContext", problem: str) -> "Answer":
    """Nobody can tell what this session owes."""
    _leave_trace(event, context, problem)
    return notice(f"musician: this session was let stop, whatever it owed: {problem}")


def _decided(event: "HookEvent", context: "HookContext") -> Decision:
    duties = [Duty(task_id=held.task_id, state=State(held.state)) for held in context.live if held.conducts]
    for held in context.played:
        duties.append(service.duty_of(context.store, held.claim))
    return decide(duties, is_woken=_is_woken(event), has_tools=_has_tools(context))


def _has_tools(context: "HookContext") -> bool:
    """Whether the tools' server lives: it holds the life lock of what its session plays (D2)."""
    if context.tree is None:
        return True
    locks = context.root.locks_dir
    return all(is_held(lock_path(locks, held.task_id)) for held in context.played)


def _count_subagents(event: "HookEvent", context: "HookContext") -> None:
    """The client says what still runs at the end of a turn; of one that a person stopped no end was reported."""
    running = event.raw.get("background_tasks")
    if isinstance(running, list):
        ids = frozenset(str(task.get("id")) for task in running if isinstance(task, dict))
        for held in context.played:
            service.end_subagents_but(context.store, held.claim, ids)


def _is_woken(event: "HookEvent") -> bool:
    """By its host, or in a terminal by our monitor, which ``/musician`` starts; a session that was resumed has none."""
    if os.environ.get("MUSICIAN_HOST"):
        return True
    if os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") != "1":
        return False
    running = event.raw.get("background_tasks")
    return not isinstance(running, list) or any(map(_is_our_monitor, running))


def _is_our_monitor(task: object) -> bool:
    return isinstance(task, dict) and (task.get("type"), task.get("description")) == ("monitor", MONITOR)


def _kept(event: "HookEvent", context: "HookContext", keep: Keep) -> "Answer":
    try:
        stops = _counted(event, context)
    except DatabaseUnusable as error:
        log(f"Stop: not counted: {error}")
        return block(keep.reason)
    why = spent(keep.duty, stops=stops.count, in_a_row=stops.in_a_row, cap=_client_cap())
    if not why:
        return block(keep.reason)
    if not stops.is_repeat and keep.duty.task_id != CONDUCTOR:
        note_down(context, service.allow_stop(context.store, _claim(context, keep.duty), why))
    return notice(f"musician: {keep.duty.task_id} is {keep.duty.state}, and its session was let stop: {why}")


def _counted(event: "HookEvent", context: "HookContext") -> service.Stops:
    store, session_id = context.store, event.session_id or ""
    if service.client_of(store, session_id) is None:
        from musician.hooks.client import met

        service.meet_client(store, session_id, met(transcript_path=event.transcript_path, source=None))
    return service.count_stop(store, session_id, this_stop(event))


def _client_cap() -> int:
    value = os.environ.get(_CAP, "")
    return int(value) if value.isascii() and value.isdigit() else CLIENT_CAP


def _claim(context: "HookContext", duty: Duty) -> "Claim":
    return next(held.claim for held in context.live if held.task_id == duty.task_id)


def _leave_trace(event: "HookEvent", context: "HookContext", problem: str) -> None:
    folder = os.path.join(context.tree or os.path.dirname(context.database), ".musician", "logs")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "gate.log"), "a", encoding="utf-8") as file:
            file.write(f"session {event.session_id} was let stop: {problem}\n")
    except OSError as error:
        log(f"Stop: no trace left: {error}")
