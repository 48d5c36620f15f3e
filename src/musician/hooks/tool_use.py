"""A tool is about to be used: may it be, and is there something the session must hear first (D21, D12)?

Decided in this order. Our own tools are let through; their server checks what they do. (A stranger's first is left to
the person at the client, where there is one.) A session whose claim was taken
over writes nothing more. An urgent message stops the next call, once, and says where it is to be read; a subagent is
stopped for as long as its session has not heard it. Then the policy: what is refused is written down. Whatever is wrong
with the database, a forbidden act is not waved through: where nobody can tell whose session this is, the person at the
client is asked, which in a client without one is a refusal (B10).
"""

import os
import sys

from musician.hooks.answers import allow, deny
from musician.protocol.policy.glance import OWN_TOOLS, READING, is_harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.place import Held, Place
    from musician.protocol.claim import Claim
    from musician.protocol.policy.forbidden import Act, Refusal

__all__ = ["answer", "trouble"]

_READING = READING | {"TaskOutput"}

_ALIASES_WITHIN_S = 5.0
_MOST_SHOWN_IDS = 5


def answer(event: "HookEvent", place: "Place") -> "Answer | None":
    tool = event.text("tool_name")
    played = tuple(held for held in place.live if held.task_id != "task-00")
    if tool.startswith(OWN_TOOLS):
        return allow(event.name, "the protocol's own tool") if place.held or _is_alone(tool) else None
    if not played:
        return _after_the_end(event, place, tool)
    return _interrupted(event, place, played) or _judged(event, place, tool, played)


def _is_alone(tool: str) -> bool:
    """Nobody is there to be asked, so that the client would refuse it; and it is the plugin's, not a namesake's."""
    return tool.startswith(OWN_TOOLS[0]) and os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "0"


def trouble(event: "HookEvent", place: "Place", problem: str) -> "Answer | None":
    """The database cannot say whose session this is: only what no musician may do is asked about."""
    tool = event.text("tool_name")
    if tool.startswith(OWN_TOOLS):
        return allow(event.name, "the protocol's own tool")
    if tool in _READING:
        return None
    refusal = _refusal(event, place, tool, frozenset())
    if refusal is None:
        return None
    asked = deny(event.name, f"{problem}. If this session is a musician's: {refusal}")
    asked["hookSpecificOutput"]["permissionDecision"] = "ask"
    return asked


def _after_the_end(event: "HookEvent", place: "Place", tool: str) -> "Answer | None":
    """No claim is live: one that was taken over is fenced, one that its session ended has left it free."""
    if tool in _READING:
        return None
    from musician import service

    for held in place.held:
        if held.task_id != "task-00" and service.was_taken(place.store(), _claim(held, event)):
            text = (
                f"This session's claim on {held.task_id} was taken over: nothing more is written by it. "
                "End your turn; work goes on in the successor, or here after /clear."
            )
            return deny(event.name, text)
    return None


def _interrupted(event: "HookEvent", place: "Place", played: "Sequence[Held]") -> "Answer | None":
    for held in played:
        if not held.undelivered:
            continue
        from musician import service
        from musician.protocol.errors import DatabaseUnusable

        claim = _claim(held, event)
        urgent = service.urgent_messages(place.store(), claim)
        if not urgent:
            continue
        if event.agent_id is not None:
            return deny(
                event.name, "Stopped by an urgent message to your session: end now, and say how far you are."
            )
        try:
            service.deliver(place.store(), claim, tuple(message.id for message in urgent))
        except DatabaseUnusable as error:  # it is said once more then, and not left unsaid
            _log(f"{event.name}: {error}")
        ids = ", ".join(str(message.id) for message in urgent[:_MOST_SHOWN_IDS])
        said = f"Stopped by the conductor: urgent message {ids} for {held.task_id}."
        return deny(event.name, f"{said} Read it with `inbox` before anything else.")
    return None


def _judged(event: "HookEvent", place: "Place", tool: str, played: "Sequence[Held]") -> "Answer | None":
    if is_harmless(tool, event.raw.get("tool_input"), database=place.database):
        return None
    refusal = _refusal(event, place, tool, frozenset())
    if refusal is None:
        return None
    try:
        from musician import service

        store = place.store()
        refusal = _refusal(event, place, tool, service.grants_of(store, *(held.task_id for held in played)))
        if refusal is not None:
            service.note_refusal(store, _claim(played[0], event), refusal)
    except Exception as error:  # a musician's forbidden act is refused, written down or not
        _log(f"{event.name}: the refusal is not in the journal: {error}")
    return None if refusal is None else deny(event.name, str(refusal))


def _refusal(event: "HookEvent", place: "Place", tool: str, granted: "frozenset[Act]") -> "Refusal | None":
    from musician.protocol.policy.tool_calls import Surroundings, judge

    given = event.raw.get("tool_input")
    if not isinstance(given, dict):
        return None
    cwd = event.cwd or os.getcwd()
    root = place.root or cwd
    where = Surroundings(
        cwd=cwd,
        root=root,
        tree=_top(cwd, root),
        database=place.database,
        grants=granted,
        aliases=_aliases(cwd) if "git" in str(given.get("command", "")) else {},
        variables={name: os.environ[name] for name in ("HOME", "MUSICIAN_DB") if name in os.environ},
    )
    return judge(tool, given, where)


def _top(cwd: str, root: str) -> str:
    """The working tree around the session's folder."""
    here = cwd
    while here not in (root, os.path.dirname(here)):
        if os.path.lexists(os.path.join(here, ".git")):
            return here
        here = os.path.dirname(here)
    return root


def _aliases(cwd: str) -> "Mapping[str, str]":
    """Git's configured aliases; none where git does not say."""
    import subprocess

    argv = ["git", "config", "--null", "--get-regexp", r"^alias\."]
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ALIASES_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    pairs = (
        record.partition("\n") for record in done.stdout.decode("utf-8", "replace").split("\0") if record
    )
    return {name.removeprefix("alias."): value for name, _, value in pairs}


def _log(text: str) -> None:
    print(f"musician hook {text}", file=sys.stderr)  # noqa: T201  # the client's debug log


def _claim(held: "Held", event: "HookEvent") -> "Claim":
    from musician.protocol.claim import Claim

    return Claim(task_id=held.task_id, session_id=event.session_id or "", epoch=held.epoch)
