"""Takes a task up by hand: the claim and, if others have worked on the task, the whole resumption (D20).

A session played by hand does the same as a driven one: it looks back (``lookback``), and
asks the conductor first about what it must not decide alone (D17). The result is short: enough to
know where to go on, whatever the task has been through.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio
from anyio.to_thread import run_sync

from musician.plans.model import TaskSpec
from musician.processes.life_lock import HeldBy, lock_path
from musician.processes.output import one_line
from musician.protocol.errors import ClaimLost, MusicianError
from musician.protocol.journal import EntryKind
from musician.protocol.messages.stored import read_resumption
from musician.protocol.messages.types import Resumption
from musician.protocol.musician.writing import resumption_question
from musician.protocol.settings import Settings
from musician.protocol.values import as_dict, dataclass, replace
from musician.runtime.briefing import unlike_the_skill
from musician.runtime.claiming import claim_task
from musician.runtime.in_force import settings_of_task
from musician.runtime.manual.manual_session import ManualSession
from musician.runtime.program import load_task_file
from musician.runtime.resuming.lookback import Lookback, look_back
from musician.runtime.world import WORLD, World
from musician.service import Taken
from musician.store.port import Store
from musician.trees import marks
from musician.trees.root import Root

MOST_ITEMS = 40
"""Of the items done, and of those still to do; ``done_count`` and ``pending_count`` say how many there are."""

_PACE_S = 0.05

MOST_TOLD_CHARS = 1000
"""Of each text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenUp(Taken):
    """A claim that was made, or was the session's already, and where the task stands.

    ``next_item`` and ``next_title`` are "" once everything is played and approved. ``resumption`` is what the session
    has told the conductor, None for the first session of a task; ``question`` what it has asked, and waits for,
    before anything is played, "" if nothing. ``unread`` messages wait in the inbox. ``tree`` is None, and
    ``warning`` says why, where the task cannot be played yet: the claim stands, and claiming again does what is
    missing.
    """

    tree: str | None = None
    next_item: str = ""
    next_title: str = ""
    done: tuple[str, ...] = ()
    done_count: int = 0
    pending: tuple[str, ...] = ()
    pending_count: int = 0
    unread: int = 0
    resumption: Resumption | None = None
    question: str = ""
    rules: str = ""
    """How it is to be played, where the plan or the settings say otherwise than the skill."""
    warning: str = ""
    paused: str = ""
    """Why nothing of it can be begun for now, "" if it can."""


async def take_up(
    root: Root,
    store: Store,
    task_id: str,
    session_id: str | None,
    *,
    settings: Settings,
    context_pct: float | None = None,
    quiet: bool = False,
    out_of_turn: bool = False,
    world: World = WORLD,
) -> TakenUp:
    """Claim a task for a session that is played by hand, and do what a resumption requires (D17, D20).

    That may take as long as the tests of what stands approved; the heartbeat is kept fresh meanwhile. Called again by
    the owner it only does what a killed call has left undone. :class:`ClaimBlocked` as
    :func:`musician.service.claim`; :class:`ClaimLost` if the claim goes to another meanwhile.
    """
    settings = await run_sync(settings_of_task, store, task_id, settings)
    claimed = partial(
        claim_task,
        root,
        store,
        task_id,
        session_id,
        quiet=quiet,
        out_of_turn=out_of_turn,
        settings=settings,
        world=world,
    )
    taken = await run_sync(claimed)
    marks.mark(str(root.git_dir), taken.claim.session_id)
    manual = ManualSession(
        root=root, store=store, claim=taken.claim, settings=settings, context_pct=context_pct, world=world
    )
    standing = TakenUp(**as_dict(taken))
    try:
        async with _one_at_a_time(manual):
            manual = await _look_back_once(manual, taken)
        return await run_sync(_told, manual, standing)
    except ClaimLost:
        raise
    except (MusicianError, OSError) as error:
        return replace(standing, warning=one_line(str(error), MOST_TOLD_CHARS))


@asynccontextmanager
async def _one_at_a_time(manual: ManualSession) -> AsyncIterator[None]:
    """Serialize calls by one session, as from a hook that is registered twice: the second finds everything
    done.
    """
    path = lock_path(manual.root.locks_dir / "takeup", manual.claim.task_id)
    while isinstance(mine := manual.world.machine.hold(path, session_id=manual.claim.session_id), HeldBy):
        await anyio.sleep(_PACE_S)
    with mine:
        yield


async def _look_back_once(manual: ManualSession, taken: Taken) -> ManualSession:
    """Do what a resumption requires, unless an earlier call did; return the session as it is then."""
    if await run_sync(_has_looked_back, manual):
        return manual
    await run_sync(manual.task_files.begin)
    claimed = replace(await run_sync(lambda: manual.claimed), instruction_path=taken.instruction_path)
    found = await look_back(claimed, is_new=taken.is_new, context_pct=manual.context_pct)
    after = manual.read_anew
    if found.notice is not None:
        await run_sync(_ask_first, after(), found)
    return after()


def _ask_first(manual: ManualSession, found: Lookback) -> None:
    """Ask the conductor about what a session must not decide alone (D17, D20)."""
    state = manual.state()
    text = resumption_question(state, found.ownerless_tasks, found.doubts)
    if text and manual.program.next_item(state.progress) is not None:
        manual.ask(text)


def _has_looked_back(manual: ManualSession) -> bool:
    """Whether an earlier call looked back, or there is nothing to look back at."""
    epoch = manual.claim.epoch
    own = {row.kind for row in manual.view.journal if row.claim_epoch == epoch}
    is_first = all(session.claim_epoch == epoch for session in manual.view.sessions)
    return EntryKind.RESUMED in own or (is_first and EntryKind.CLAIMED in own)


def _task(manual: ManualSession, standing: TakenUp) -> TaskSpec:
    return load_task_file(manual.root, standing.claim.task_id, standing.instruction_path)


def _told(manual: ManualSession, standing: TakenUp) -> TakenUp:
    progress, program = manual.progress, manual.program
    upcoming = program.next_item(progress)
    done = [item.item for item in program.items if progress.is_done(item.item)]
    pending = program.remaining(progress)
    announced = [
        row.text
        for row in manual.view.journal
        if row.kind == EntryKind.RESUMED and row.claim_epoch == standing.claim.epoch
    ]
    return replace(
        standing,
        tree=str(manual.tree.path),
        next_item="" if upcoming is None else upcoming.item,
        next_title="" if upcoming is None else one_line(upcoming.title, MOST_TOLD_CHARS),
        done=tuple(done[-MOST_ITEMS:]),
        done_count=len(done),
        pending=tuple(one_line(each, MOST_TOLD_CHARS) for each in pending[:MOST_ITEMS]),
        pending_count=len(pending),
        unread=manual.view.unread,
        resumption=read_resumption(announced[-1]) if announced else None,
        question=manual.open_question[:MOST_TOLD_CHARS],
        paused=one_line(manual.view.pause, MOST_TOLD_CHARS),
        rules=unlike_the_skill(_task(manual, standing), manual.settings),
    )
