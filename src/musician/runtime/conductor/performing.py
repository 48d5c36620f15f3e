"""Carries out the conductor's decisions: one function per act, each safe to repeat after a crash."""

import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import anyio.abc
from anyio.to_thread import run_sync

from musician import service
from musician.agents.registry import account_for
from musician.plans.model import TaskSpec
from musician.protocol.claim import Claim
from musician.protocol.conductor import acts, orchestra
from musician.protocol.conductor.orchestra import is_merge_trouble
from musician.protocol.errors import ConductorError, MusicianError, SessionError, StaleVerdict
from musician.protocol.rules.review import Evidence, Verification
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.reporting.owners import last_epoch, lives
from musician.runtime.conductor.answering import ask_answerer
from musician.runtime.conductor.consulting import REVIEWER, Consultation, Parked
from musician.runtime.conductor.facts import Memory, submitted_commit
from musician.runtime.conductor.merging import Merger
from musician.runtime.conductor.plan_run import PlanRun
from musician.runtime.conductor.reviewing import ask_reviewer
from musician.runtime.meter import Meter
from musician.runtime.provider import Provider
from musician.runtime.resuming.resumption import checkpoint_number
from musician.runtime.takeover import take_over
from musician.runtime.verifying import verify_by_hand, verify_unseen
from musician.runtime.world import Musician
from musician.service import TaskView
from musician.trees.branches import branch_of
from musician.verification.checkpoint import outcome_of
from musician.verification.select import full_commands


@dataclass(kw_only=True)
class Performer:
    """Acts of a running conductor. What takes long runs in tasks of ``group``; ``memory.busy`` says for which tasks."""

    run: PlanRun
    memory: Memory
    merger: Merger
    group: anyio.abc.TaskGroup
    wake: Callable[[], None]

    def __post_init__(self) -> None:
        self.processes: dict[str, Musician] = {}
        self._background: set[anyio.CancelScope] = set()

    async def perform(self, act: acts.Act) -> None:
        """Do one act, or begin it. A refusal means that the facts have changed: the next look decides anew."""
        if not isinstance(act, acts.TaskAct) or act.task_id in self.memory.busy:
            return
        task_id = act.task_id
        match act:
            case acts.Launch():
                try:
                    await self._launch(task_id)
                except OSError as error:  # no room for another process, or for its log
                    await run_sync(self._ask, task_id, "trouble", 0, f"no musician starts: {error}")
            case acts.TryMerge():
                self._in_background(task_id, partial(self._try_merge, act))
            case acts.Equip():
                self._in_background(task_id, partial(self._equip, act))
            case acts.Merge():
                self._in_background(task_id, partial(self._merge, act))
            case acts.AskReviewer():
                self._in_background(task_id, partial(self._ask_reviewer, act))
            case acts.AskAnswerer():
                self._in_background(task_id, partial(self._ask_answerer, act))
            case acts.VerifyFully():
                self._in_background(task_id, partial(self._verify_fully, act))
            case acts.TakeOver():
                self._in_background(task_id, partial(self._take_over, act))
            case _:
                await self._say(act)

    async def _say(self, act: acts.Act) -> None:
        call: Callable[[], object]
        match act:
            case acts.Judge():
                call = partial(
                    service.judge,
                    self.run.store,
                    act.task_id,
                    act.verdict,
                    act.text,
                    submission_id=act.message_id,
                    rules=act.rules,
                )
            case acts.Answer():
                call = partial(
                    service.send, self.run.store, act.task_id, act.text, question_id=act.message_id
                )
            case acts.Pause():
                call = partial(service.pause, self.run.store, act.task_id, act.text)
            case acts.GoOn():
                call = partial(service.go_on, self.run.store, act.task_id)
            case acts.RequestExit():
                call = partial(service.request_exit, self.run.store, act.task_id, act.text, urgent=False)
            case acts.AskHuman():
                call = partial(self._ask, act.task_id, act.kind, act.subject_id, act.text)
            case acts.Reopen():
                call = partial(service.reopen, self.run.store, act.task_id)
            case _:
                return
        if await _unless_changed(call):
            self.wake()

    def _ask(self, task_id: str, kind: str, subject_id: int, text: str) -> None:
        service.ask_human(self.run.store, task_id, kind=kind, subject_id=subject_id, text=text)

    # -- musicians --------------------------------------------------------------------------------------------

    async def _launch(self, task_id: str) -> None:
        session_id = self.run.world.machine.new_id("musician")
        running = await self.run.world.launch(
            self.run.root, self.run.store, task_id, session_id, self.run.options.agent
        )
        self.processes[task_id] = running
        self.memory.running.add(task_id)
        self.group.start_soon(self._mind, task_id, session_id, running)

    async def _mind(self, task_id: str, session_id: str, running: Musician) -> None:
        await running.wait()
        view = await run_sync(service.task_view, self.run.store, task_id)
        claimed = any(session.session_id == session_id for session in view.sessions)
        # whose plan was paused in that moment could not claim it, and is no failure
        failed = 0 if claimed or view.plan_pause else self.memory.failed_launches.get(task_id, 0) + 1
        self.memory.failed_launches[task_id] = failed
        self.memory.running.discard(task_id)
        self.memory.dead_sessions.add(session_id)
        self.processes.pop(task_id, None)
        self.wake()

    async def _take_over(self, act: acts.TakeOver) -> None:
        """Take a task over. What cannot be ended from here is fenced, and a person is asked to see to it."""
        view = await run_sync(service.task_view, self.run.store, act.task_id)
        is_known_dead = (
            view.row.session_id in self.memory.dead_sessions
            or lives(self.run.root, view, self.run.world.machine) is False
        )
        epoch = last_epoch(view)
        inherit = partial(
            take_over,
            self.run.root,
            self.run.store,
            act.task_id,
            self.run.settings,
            is_known_dead=is_known_dead,
            world=self.run.world,
            is_seen_to=("doubtful", epoch) in {(ask.kind, ask.subject_id) for ask in view.asks},
        )
        survivor = await run_sync(inherit)
        if survivor:
            await run_sync(self._ask, act.task_id, "doubtful", epoch, survivor)

    async def _equip(self, act: acts.Equip) -> None:
        """Make what a claim through the program makes by itself, above all the tree: work done elsewhere
        would never be merged.
        """
        row = await run_sync(service.task_row, self.run.store, act.task_id)
        claim = Claim(task_id=act.task_id, session_id=row.session_id or "", epoch=row.claim_epoch)
        tree = await run_sync(self.run.trees.open, self.run.plan.task(act.task_id), claim)
        branch = branch_of(self.run.plan.plan_id, act.task_id)
        text = f"Work in {tree}, and commit there, on branch {branch}: nothing else of yours is merged."
        await run_sync(service.send, self.run.store, act.task_id, text)

    # -- reviewing --------------------------------------------------------------------------------------------

    async def _try_merge(self, act: acts.TryMerge) -> None:
        view = await run_sync(service.task_view, self.run.store, act.task_id)
        earlier = sum(1 for each in view.this_time.submissions if is_merge_trouble(each.verdict_text or ""))
        trial = await self.merger.try_merge(
            self.run.plan.task(act.task_id),
            commit=submitted_commit(view),
            earlier=earlier,
            still_due=partial(self._check_waits, act),
        )
        self.memory.trials[act.message_id] = trial

    def _check_waits(self, act: acts.TryMerge) -> None:
        """Raise :class:`StaleVerdict` if the submission was judged meanwhile, or withdrawn by an exit."""
        view = service.task_view(self.run.store, act.task_id)
        latest = view.submissions[-1].message_id
        if view.row.state is not State.NEEDS_REVIEW or latest != act.message_id:
            raise StaleVerdict(task_id=act.task_id, judged=act.message_id, latest=latest)

    async def _merge(self, act: acts.Merge) -> None:
        view = await run_sync(service.task_view, self.run.store, act.task_id)
        task, commit = self.run.plan.task(act.task_id), submitted_commit(view)
        trial = await self.merger.try_merge(task, commit=commit, earlier=0)
        if trial.outcome is not orchestra.TrialOutcome.GREEN:
            text = f"complete, but its merge is {trial.outcome}: {trial.detail}"
            await run_sync(self._ask, act.task_id, "merge", 0, text)

    async def _ask_reviewer(self, act: acts.AskReviewer) -> None:
        task = self.run.plan.task(act.task_id)
        view = await run_sync(service.task_view, self.run.store, act.task_id)
        consultation = self._consultation(task, view, f"review of message {act.message_id}")
        with suppress(Parked):  # the next look asks a person, or waits; then it is asked anew
            opinion = await ask_reviewer(consultation, task, view, act.message_id, settings=self.run.settings)
            await run_sync(service.keep_opinion, self.run.store, act.task_id, act.message_id, opinion)

    async def _ask_answerer(self, act: acts.AskAnswerer) -> None:
        task = self.run.plan.task(act.task_id)
        view = await run_sync(service.task_view, self.run.store, act.task_id)
        consultation = self._consultation(task, view, f"answer to message {act.message_id}")
        with suppress(Parked):
            opinion = await ask_answerer(consultation, task, view, act, settings=self.run.settings)
            await run_sync(service.keep_opinion, self.run.store, act.task_id, act.message_id, opinion)

    def _consultation(self, task: TaskSpec, view: TaskView, item: str) -> Consultation:
        agent = self.run.options.agent or task.agent
        payer = Claim(task_id=task.task_id, session_id=REVIEWER, epoch=last_epoch(view))
        return Consultation(
            root=self.run.root,
            trees=self.run.trees,
            agent=agent,
            provider=Provider(
                store=self.run.store,
                account=account_for(task, agent),
                session_id=f"{REVIEWER} of {task.task_id}",
            ),
            limit_s=self.run.settings.waiting.limit_s,
            meter=Meter(
                store=self.run.store, claim=payer, ceilings=self.run.settings.ceilings, budget=task.budget
            ),
            item=item,
            world=self.run.world,
        )

    async def _verify_fully(self, act: acts.VerifyFully) -> None:
        """Verify everything up to the submitted checkpoint in the conductor's own process (D18)."""
        task = self.run.plan.task(act.task_id)
        view = await run_sync(service.task_view, self.run.store, act.task_id)
        submitted = view.submissions[-1]
        was_seen = any(row.submission_id == act.message_id for row in view.verifications)
        number = checkpoint_number(submitted) or len(task.checkpoints)
        tree, begun_at = await run_sync(self.run.trees.work_of, task)
        options: dict[str, Any] = {
            "tree": tree,
            "log": self.run.root.logs_dir / f"{act.task_id}.review.log",
            "checkpoint": number,
            "settings": self.run.settings,
            "before": self.merger.baselines(task).at(begun_at),
            "world": self.run.world,
        }
        if was_seen:
            result = await verify_by_hand(self.run.root, task, full_commands(task, number), **options)
        else:
            result = await verify_unseen(self.run.root, task, start=begun_at, **options)
        outcome = outcome_of(result)
        detail = "" if outcome is Verification.GREEN else result.tests_line()
        changed = submitted.changed_files
        if changed is None:  # submitted by raw SQL
            changed = await run_sync(self.run.trees.changed, tree)
        self.memory.full_evidence[act.message_id] = Evidence(
            verification=outcome,
            full=True,
            detail=detail,
            changed_files=changed,
            findings=() if was_seen else result.to_judge(),
        )

    # -- ending -----------------------------------------------------------------------------------------------

    async def stop_all(self, by: signal.Signals = signal.SIGTERM) -> None:
        """End what is under way and ask every musician to end; those that do not are killed with all they started."""
        for scope in tuple(self._background):
            scope.cancel()
        running = list(self.processes.values())
        for process in running:
            process.terminate(by)
        with anyio.move_on_after(self.run.settings.time.shutdown_grace_s + 1):
            for process in running:
                await process.wait()
            return
        for process in running:
            await run_sync(partial(self.run.world.machine.end, process.identity, grace_s=0))

    def _in_background(self, task_id: str, work: Callable[[], Awaitable[None]]) -> None:
        self.memory.busy.add(task_id)
        self.group.start_soon(self._finish_in_background, task_id, work)

    async def _finish_in_background(self, task_id: str, work: Callable[[], Awaitable[None]]) -> None:
        scope = anyio.CancelScope()
        self._background.add(scope)
        try:
            with scope:
                await work()
            self.wake()
        except (ConductorError, SessionError):
            pass  # the row has moved on meanwhile: the next look decides anew
        except MusicianError as error:
            await run_sync(self._ask, task_id, "trouble", 0, str(error))
        finally:
            self._background.discard(scope)
            self.memory.busy.discard(task_id)


async def _unless_changed(call: Callable[[], object]) -> bool:
    """Return whether it was done; a refusal means that the row has moved on meanwhile, which the next look
    shows.
    """
    try:
        await run_sync(call)
    except (ConductorError, SessionError):
        return False
    return True
