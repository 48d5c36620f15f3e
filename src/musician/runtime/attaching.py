"""Leaves a session's agent to a person, in its own terminal, and takes it back (issue 9: watch and talk).

Theory. Who speaks with the agent is a lock: as long as a person's process holds it, the session's driver, which stays
the owner of the task and beats all the while, prompts nothing and has its agent closed. The kernel drops the lock with
the process, so whatever becomes of that, the session goes on; what the person's terminal has left running is ended
first, and what was changed is committed. Nothing here writes to the task.
"""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from musician import service
from musician.agents.port import HasTerminal
from musician.processes.life_lock import HeldBy, person_path
from musician.processes.sandbox import confined
from musician.protocol.claim import Claim
from musician.protocol.errors import NotAttachable
from musician.protocol.journal import EntryKind
from musician.protocol.states import State
from musician.runtime.musician.environment import session_environment
from musician.runtime.owners import lives
from musician.runtime.program import load_task_file
from musician.runtime.world import World
from musician.service import TaskView
from musician.store.port import Store
from musician.trees.root import Root
from musician.trees.task_work import work_of

RELEASE_LIMIT_S = 60.0
"""How long a session may take to end its piece and close its agent."""
_LOOK_S = 0.5
_END_LIMIT_S = 5.0


def attach(root: Root, store: Store, task_id: str, *, world: World) -> bool:
    """Let the person at this terminal speak with the task's agent, and return when they are done.

    False if the session ended meanwhile, and the terminal with it. :class:`NotAttachable` if nothing can be released.
    """
    view = service.task_view(store, task_id)
    claim = _claim(root, view, world)
    agent = world.agent(view.sessions[-1].agent or "")
    if not isinstance(agent, HasTerminal):
        raise NotAttachable(
            task_id=task_id,
            reason=f"its agent {view.sessions[-1].agent} has no terminal that can go on with a conversation",
            remedy=f"follow it with `musician log {task_id} -f`, and talk to it with `musician send {task_id} TEXT`",
        )
    if not service.conversation_token(store, claim):
        raise NotAttachable(
            task_id=task_id,
            reason="its agent has no conversation yet",
            remedy=f"try again once `musician log {task_id}` shows what it says",
        )
    held = world.machine.hold(person_path(root.locks_dir, task_id), session_id=claim.session_id)
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
            _await_release(root, store, view, world)
            work = work_of(root, view.row.plan_id, task_id)
            tree = root.path if work is None or work.tree is None else work.tree
            env = session_environment(
                root,
                store,
                claim,
                tree,
                worked_by=view.row.worked_by or "",
                pid=world.machine.own_identity().pid,
            )
            task = load_task_file(root, task_id, view.row.instruction_path or "")
            terminal = agent.terminal(service.conversation_token(store, claim), env, task.model)
            with world.sandboxed(root, task, tree), _interrupts_left_to_the_terminal():
                argv = confined(terminal.argv, cwd=str(tree), env=terminal.env, keeps=terminal.keeps)
                with subprocess.Popen(argv, cwd=tree, env=terminal.env) as running:
                    return _wait(store, claim, running)
    finally:
        service.nudge(store, task_id)


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


def _await_release(root: Root, store: Store, before: TaskView, world: World) -> None:
    task_id, deadline_s = before.row.task_id, world.machine.clock_s() + RELEASE_LIMIT_S
    known = {row.id for row in before.journal}
    with store.listen(task_id) as ear:
        while True:
            view = service.task_view(store, task_id)
            claim = _claim(root, view, world)
            if claim.epoch == before.row.claim_epoch and any(
                row.kind == EntryKind.WITH_PERSON and row.id not in known for row in view.journal
            ):
                return
            if world.machine.clock_s() > deadline_s:
                raise NotAttachable(
                    task_id=task_id,
                    reason=f"its session has not released its agent within {RELEASE_LIMIT_S:.0f} s",
                    remedy=f"see what it does with `musician log {task_id}`, and try again",
                )
            ear.wait(_LOOK_S)


def _wait(store: Store, claim: Claim, running: "subprocess.Popen[bytes]") -> bool:
    """Return when the terminal is closed; it is ended if the session is no more: False."""
    while True:
        try:
            running.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            row = service.task_row(store, claim.task_id)
            if (row.session_id, row.claim_epoch) == (claim.session_id, claim.epoch):
                continue
            running.terminate()
            try:
                running.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                running.kill()
            return False
        return True


@contextmanager
def _interrupts_left_to_the_terminal() -> Iterator[None]:
    """Ctrl-C is for the program in the foreground."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
