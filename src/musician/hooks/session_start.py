"""A session begins, or begins anew: it learns its own id and, if it is a musician's, who it is (B05).

A client changes the id under a session: after ``/clear`` the process is the same and the id another. What exactly
this process held goes along to the new id, with a new epoch, and the old one is shut out. A fork owns nothing, and
neither does any other beginning whose earlier session was not cleared: whose the claims are is said instead. A
session that is resumed in another process is met there.
"""

import os
import sys

from musician.hooks.answers import additional_context, notice
from musician.hooks.environment import export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.hook_context import HookContext
    from musician.protocol.claim import Claim

_AFRESH = ("", "startup")
"""From these nothing went before in the same process."""

_GOES_ON = ("clear", "compact")
"""From these the conversation before has ended, even if the client did not get to say so."""


_FORKED = (
    "This conversation is a fork: whatever it says above of a task is another session's to do. It owns none: write"
    " nothing for one before you have claimed it with `claim`."
)


def answer(event: "HookEvent", context: "HookContext") -> "Answer | None":
    session_id = event.session_id or ""
    export({"MUSICIAN_SESSION": session_id, **_bounded(context), **_guarded(context)})
    told = additional_context(event.name, "\n".join([_identity(event), *_told(event, context, session_id)]))
    return {**told, **_what_the_person_does(event, context)}


def _what_the_person_does(event: "HookEvent", context: "HookContext") -> "Answer":
    """Only the person can start the monitor again; without it the gate waits, and the prompt with it. Nor does anybody
    else go on with what was handed off because the window was full."""
    gone = [held.task_id for held in context.held if not held.is_live]
    if event.text("source") == "compact" and gone:
        return notice(
            f"musician: {gone[0]} is not this conversation's any more: /clear, then /musician {gone[0]}"
        )
    attended = os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "1"
    if not (attended and event.text("source") == "resume"):
        return {}
    if context.is_conductor:
        return notice(
            "musician: type /conductor, and this session is woken again when something waits for it"
        )
    if not context.played:
        return {}
    return notice(
        "musician: type /musician, and an idle session is woken again; until then it waits inside its last hook"
    )


def _bounded(context: "HookContext") -> "dict[str, str]":
    """Return the variables that confine git to a task's tree, even if the link of the tree is gone (D31)."""
    if context.tree is None:
        return {}
    ceilings = [
        os.environ.get("GIT_CEILING_DIRECTORIES", ""),
        os.path.join(context.tree, ".musician", "trees"),
    ]
    return {"GIT_CEILING_DIRECTORIES": os.pathsep.join(filter(None, ceilings))}


def _guarded(context: "HookContext") -> "dict[str, str]":
    """Return the variables that make git ask before it pushes, in case this session becomes a musician's."""
    if not os.environ.get("CLAUDE_ENV_FILE"):
        return {}
    from musician.hooks.git_hooks import prepare

    try:
        return prepare(context)
    except OSError as error:
        sys.stderr.write(f"musician hook SessionStart: git asks nobody before it pushes: {error}\n")
        return {}


def trouble(event: "HookEvent", _place: "HookContext", problem: str) -> "Answer":
    """The id is known whatever the database is like; the person at the terminal hears about that."""
    return {**additional_context(event.name, _identity(event)), "systemMessage": f"musician: {problem}"}


def _identity(event: "HookEvent") -> str:
    return f"CLAUDE_SESSION_ID={event.session_id}"


def _told(event: "HookEvent", context: "HookContext", session_id: str) -> "list[str]":
    if context.is_conductor:
        from musician.hooks.conducting import come_back

        return [come_back(event, context, session_id)]
    if context.held:
        return _come_back(event, context, session_id)
    source = event.text("source")
    if source in _AFRESH or not context.follows:
        return []
    return _follow(event, context, session_id, source)


def _come_back(event: "HookEvent", context: "HookContext", session_id: str) -> "list[str]":
    from musician import service
    from musician.hooks.client import met
    from musician.hooks.reminder import lost, standing

    if context.played:
        here = met(transcript_path=event.transcript_path, source=event.text("source"))
        service.meet_client(context.store, session_id, here)
    for held in context.played:
        service.beat(context.store, held.claim)
    return [text for text in (standing(context), lost(context)) if text]


def _follow(event: "HookEvent", context: "HookContext", session_id: str, source: str) -> "list[str]":
    from musician import service
    from musician.hooks.client import met
    from musician.hooks.reminder import standing
    from musician.hooks.status_file import note_down

    here = met(transcript_path=event.transcript_path, source=source)
    moved: tuple[Claim, ...] = ()
    if source != "fork":
        moved = service.rebind(context.store, session_id, here, is_cleared=source in _GOES_ON)
        context.look(session_id)
    if context.is_conductor:
        from musician.hooks.conducting import standing as conducting

        return ["The conversation before this one was cleared; you go on.", conducting(context, session_id)]
    if moved:
        note_down(
            context,
            tuple(
                (claim.task_id, service.as_entry(row))
                for claim in moved
                for row in service.journal_of(context.store, claim.task_id)
                if row.claim_epoch == claim.epoch
            ),
        )
        return [
            "The conversation before this one was cleared; its claims are yours.",
            standing(context),
        ]
    told = [
        f"{claim.task_id} stays with session {claim.session_id}: this one owns nothing"
        for claim in service.claims_of_process(context.store, here.identity, but=session_id)
    ]
    return [*told, _FORKED] if source == "fork" else told
