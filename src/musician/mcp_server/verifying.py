"""The two tools that run tests: ``claim`` and ``checkpoint``. Both are asynchronous and run in the background."""

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.mcp_server.acts import END_YOUR_TURN
from musician.mcp_server.served_session import ServedSession
from musician.mcp_server.table import cut
from musician.protocol.errors import NotGreen
from musician.protocol.names import parse_launch_reference
from musician.runtime.manual.submitting import submit_checkpoint
from musician.runtime.manual.takeup import TakenUp, take_up

MOST_FAILING_BYTES = 3000
"""How much of a red checkpoint's failures is shown. The rest is in its log."""


async def claim(served: ServedSession, *, task: str = "") -> str:
    """Claim a task and take it up, or say again where the session's own task stands (D20)."""
    task_id, session_id = await run_sync(_which, served, task)
    await run_sync(served.lock, task_id, session_id)
    try:
        taken = await take_up(served.root, served.store, task_id, session_id, settings=served.settings)
        await run_sync(served.meet_client, session_id)
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(served.settle, task_id)
    return _describe(taken)


def _which(served: ServedSession, task: str) -> tuple[str, str]:
    """Return the ids of the task and the session. An unknown task is refused before anything is touched (D8, B43)."""
    if not task:
        own = served.claim
        return own.task_id, own.session_id
    task_id = parse_launch_reference(task)
    return service.task_row(served.store, task_id).task_id, served.session_id


def _describe(taken: TakenUp) -> str:
    upcoming = f"{taken.next_item} ({taken.next_title})" if taken.next_item else "the final report: complete"
    lines = [
        f"{taken.claim.task_id} {'claimed' if taken.is_new else 'is yours'}, as {taken.worked_by}",
        f"instruction: {taken.instruction_path}",
        f"work only in: {taken.tree}" if taken.tree else "",
        f"how to play it: {taken.rules}" if taken.rules else "",
        f"next: {upcoming}; {taken.done_count} done, {taken.pending_count} to do",
        f"{taken.unread} unread: call inbox" if taken.unread else "",
        taken.resumption.render() if taken.resumption is not None else "",
        f"not yet: {taken.paused}; end your turn, play nothing before it goes on" if taken.paused else "",
        f"asked the conductor, wait for the answer: {taken.question}" if taken.question else "",
        f"warning: {taken.warning}" if taken.warning else "",
    ]
    return "\n".join(line for line in lines if line)


async def checkpoint(served: ServedSession, *, summary: str, smoothness: int | None = None) -> str:
    """Commit, verify and submit, or say exactly what failed (D16)."""
    manual = await run_sync(lambda: served.manual)
    try:
        found, message_id = await submit_checkpoint(manual, None, summary=summary, smoothness=smoothness)
    except NotGreen as red:
        failing = cut(red.failing, MOST_FAILING_BYTES)
        following = "Mend it and call checkpoint again."
        if red.reported is not None:
            following = f"The conductor is told by message {red.reported}. {END_YOUR_TURN}"
        if red.left:
            await run_sync(served.release_lock, manual.claim.task_id)
            following = "That was the last retry, and the task is handed off. Write nothing more."
        return f"{red.item} is not green, nothing was submitted. {following}\n{failing}"
    result = found.result
    return f"checkpoint {result.checkpoint}: {result.tests_line()}; submitted as message {message_id}. {END_YOUR_TURN}"
