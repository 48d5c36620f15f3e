"""Leaves a session's agent to a person, in its own terminal, and takes it back (issue 9: watch and talk).

Theory. Who speaks with the agent is a lock: as long as a person's process holds it, the session's driver, which stays
the owner of the task and beats all the while, prompts nothing and has its agent closed. The kernel drops the lock with
the process, so whatever becomes of that, the session goes on; what the person's terminal has left running is ended
first, and what was changed is committed. A lock may go from one person to the next unseen, so it is signed, and who
waits for the agent waits for the session to write that signature down. Nothing here writes to the task.
"""

import os
import shutil
import signal
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum

from musician import service
from musician.agents.port import HasTerminal, Terminal
from musician.processes.life_lock import HeldBy, person_path
from musician.processes.sandbox import confined
from musician.protocol.claim import Claim
from musician.protocol.errors import NotAttachable
from musician.protocol.journal import EntryKind
from musician.protocol.states import TERMINAL, State
from musician.reporting.owners import lives
from musician.runtime.musician.environment import session_environment
from musician.runtime.program import load_task_file
from musician.runtime.world import World
from musician.service import TaskView
from musician.store.port import Store
from musician.store.rows import TaskRow
from musician.trees.root import Root
from musician.trees.task_work import work_of

RELEASE_LIMIT_S = 60.0
"""How long a session may take to end its piece and close its agent, and to take it back."""
_LOOK_S = 0.5
_END_LIMIT_S = 5.0
_LEAVE_SCREEN = b"\x1b[?1049l\x1b[?2004l\x1b[?1000l\x1b[?1006l\x1b[?25h\x1b[0m"
"""What a program prints that gives a terminal back; one that was killed has not."""


class Outcome(StrEnum):
    """What became of the session while a person had its agent."""

    GOES_ON = "goes on"
    ENDED = "ended"
    """It has left, and has kept what was changed."""
    GONE = "gone"
    """Nobody has taken the agent back: the tree is as the person left it."""


def attach(root: Root, store: Store, task_id: str, *, world: World) -> Outcome:
    """Let the person at this terminal speak with the task's agent, and return when the session has it back.

    :class:`NotAttachable` if nothing can be released.
    """
    view = service.task_view(store, task_id)
    claim = _claim(root, view, world)
    agent = world.agent(view.sessions[-1].agent or "")
    terminal_of = agent.terminal if isinstance(agent, HasTerminal) else lambda _token, _env, _model: None
    possible = terminal_of("", {}, "")
    if possible is None:
        raise NotAttachable(
            task_id=task_id,
            reason=f"its agent {view.sessions[-1].agent} has no terminal that can go on with a conversation",
            remedy=f"follow it with `musician log {task_id} -f`, talk to it with `musician send {task_id} TEXT`, and"
            f" try its work in a tree of your own with `musician review checkout {task_id}`",
        )
    _check_installed(task_id, possible)
    token = service.conversation_token(store, claim)
    if not token:
        raise NotAttachable(
            task_id=task_id,
            reason="its agent has no conversation yet",
            remedy=f"try again once `musician log {task_id}` shows what it says",
        )
    me = world.machine.own_identity()
    signature = f"person {me.pid}-{me.started_at_s}"
    held = world.machine.hold(person_path(root.locks_dir, task_id), session_id=signature)
    if isinstance(held, HeldBy):
        pid = "" if held.identity is None else f" {held.identity.pid}"
        raise NotAttachable(
            task_id=task_id,
            reason=f"a person has it already, in process{pid}",
            remedy="end that terminal first",
        )
    try:
        with held:
            service.nudge(store, task_id)
            _await_release(root, store, view, world, signature)
            work = work_of(root, view.row.plan_id, task_id)
            tree = root.path if work is None or work.tree is None else work.tree
            env = session_environment(
                root, store, claim, tree, worked_by=view.row.worked_by or "", pid=me.pid
            )
            task = load_task_file(root, task_id, view.row.instruction_path or "")
            terminal = terminal_of(token, env, task.model) or possible
            with world.sandboxed(root, task, tree), _terminal_given_back():
                argv = confined(terminal.argv, cwd=str(tree), env=terminal.env, keeps=terminal.keeps)
                with subprocess.Popen(argv, cwd=tree, env=terminal.env) as running:
                    _wait(store, claim, running)
    finally:
        service.nudge(store, task_id)
    return _given_back(root, store, claim, signature, world)


def _check_installed(task_id: str, terminal: Terminal) -> None:
    program = terminal.argv[0]
    if shutil.which(program, path=terminal.env.get("PATH")) is None:
        raise NotAttachable(
            task_id=task_id,
            reason=f"its agent's terminal is the program {program!r:.80}, which is not on your PATH",
            remedy=f"install it, or talk to the agent with `musician send {task_id} TEXT`",
        )


def _claim(root: Root, view: TaskView, world: World) -> Claim:
    """Return the claim of the session that can be released."""
    row, task_id = view.row, view.row.task_id
    reason = remedy = ""
    if row.state is State.COMPLETE:
        reason, remedy = "it is complete", f"look at its work with `musician review diff {task_id}`"
    elif row.state in (State.NEEDS_REVIEW, State.ERROR):
        reason, remedy = "it waits for an answer", f"see what it asks with `musician review show {task_id}`"
    elif row.session_id is None or not view.sessions:
        reason, remedy = (
            "nobody plays it",
            f"have it played by `musician run PLAN` or `musician work {task_id}`",
        )
    elif view.sessions[-1].agent is None:
        reason, remedy = "its session was opened by hand", "go to the terminal that it was opened in"
    elif not lives(root, view, world.machine):
        reason, remedy = "its session does not run on this machine", "run it again, or attach where it runs"
    if reason:
        raise NotAttachable(task_id=task_id, reason=reason, remedy=remedy)
    return Claim(task_id=task_id, session_id=row.session_id or "", epoch=row.claim_epoch)


def _await_release(root: Root, store: Store, before: TaskView, world: World, signature: str) -> None:
    task_id, deadline_s = before.row.task_id, world.machine.clock_s() + RELEASE_LIMIT_S
    with store.listen(task_id) as ear:
        while True:
            view = service.task_view(store, task_id)
            claim = _claim(root, view, world)
            if claim.epoch == before.row.claim_epoch and _is_last(view, signature):
                return
            if world.machine.clock_s() > deadline_s:
                raise NotAttachable(
                    task_id=task_id,
                    reason=f"its session has not released its agent within {RELEASE_LIMIT_S:.0f} s",
                    remedy=f"see what it does with `musician log {task_id}`, and try again",
                )
            ear.wait(_LOOK_S)


def _is_last(view: TaskView, signature: str) -> bool:
    """Whether the agent is released to whoever has signed so, and not taken back since."""
    kinds = (EntryKind.WITH_PERSON, EntryKind.GIVEN_BACK)
    last = next((row for row in reversed(view.journal) if row.kind in kinds), None)
    return last is not None and (last.kind, last.text) == (EntryKind.WITH_PERSON, signature)


def _wait(store: Store, claim: Claim, running: "subprocess.Popen[bytes]") -> None:
    """Return when the terminal is closed; it is ended if the claim is no more."""
    while True:
        try:
            running.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            if _is_owner(service.task_row(store, claim.task_id), claim):
                continue
            running.terminate()
            try:
                running.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                running.kill()
        return


def _given_back(root: Root, store: Store, claim: Claim, signature: str, world: World) -> Outcome:
    """Return once the session has taken its agent back, or cannot any more."""
    deadline_s = world.machine.clock_s() + RELEASE_LIMIT_S
    with store.listen(claim.task_id) as ear:
        while True:
            view = service.task_view(store, claim.task_id)
            if not _is_last(view, signature):
                return Outcome.GOES_ON if _is_owner(view.row, claim) else Outcome.ENDED
            is_alive = _is_owner(view.row, claim) and lives(root, view, world.machine)
            if not is_alive or world.machine.clock_s() > deadline_s:
                return Outcome.GONE
            ear.wait(_LOOK_S)


def _is_owner(row: TaskRow, claim: Claim) -> bool:
    is_its = (row.session_id, row.claim_epoch) == (claim.session_id, claim.epoch)
    return is_its and row.state not in TERMINAL


@contextmanager
def _terminal_given_back() -> Iterator[None]:
    """Leave Ctrl-C to the program in the foreground, and have the terminal afterwards as it was before."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    attributes = termios.tcgetattr(0)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        with suppress(termios.error, OSError):  # its window may be closed
            if termios.tcgetattr(0) != attributes:
                os.write(1, _LEAVE_SCREEN)
                termios.tcsetattr(0, termios.TCSADRAIN, attributes)
