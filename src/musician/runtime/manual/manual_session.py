"""A session that no driver plays: a person, a script, or an agent that calls the musician's verbs one by one.

It works like a driven one (D30): a verb is an input of the same engine, whose state is rebuilt from the
database, and whose records are stored in their order, into the same journal and the same files in ``temp/``. The
program still runs the verification and fills in the submission; nobody's word stands for a run (D14, D16).
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Self

from musician import service
from musician.plans.model import TaskSpec
from musician.project import Project
from musician.protocol.claim import Claim
from musician.protocol.errors import EvidenceMissing, InvalidPlan
from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.boundary import stance_of
from musician.protocol.musician.engine import step
from musician.protocol.musician.program import Play, Program
from musician.protocol.musician.state import MusicianState
from musician.protocol.musician.writing import context_advice
from musician.protocol.rules.budget import WARNING_STANCES, Stance
from musician.protocol.settings import Settings
from musician.protocol.states import VERDICTS, WAITING, State
from musician.protocol.transitions import Actor, Event, find
from musician.protocol.values import replace
from musician.reporting.owners import driver_of
from musician.runtime.belongings import check_alone, end_what_runs
from musician.runtime.claimed import ClaimedSession
from musician.runtime.in_force import settings_of_task
from musician.runtime.manual import pieces
from musician.runtime.manual.rebuilding import arrived, rebuilt, unheard
from musician.runtime.noticing import noticed
from musician.runtime.program import load_task_file, program_in
from musician.runtime.recording import store_record
from musician.runtime.task_files import TaskFiles
from musician.runtime.tasktree import SharedTree, TaskTree
from musician.runtime.world import WORLD, World
from musician.store.port import Store
from musician.trees.git import Git
from musician.trees.root import Root

_TOLD = (i.DeviationTold, i.SelfCorrectionTold, i.QuestionTold, i.WaitTimedOut)
_EVENTS = {
    i.BeginningChosen: Event.RESUME,
    i.CorrectionChosen: Event.RESUME,
    i.SkippingChosen: Event.RESUME,
    i.CheckpointChosen: Event.SUBMIT,
    i.FailureChosen: Event.REPORT,
    i.CompletionChosen: Event.COMPLETE,
}
"""What a choice is in the table of states; at work there is nothing to resume."""


class ManualSession:
    """One claim with its task, tree and files, each opened when it is needed. All calls block.

    ``context_pct`` is how much of its context it has used now, None if nobody says.
    """

    def __init__(
        self,
        *,
        root: Root,
        store: Store,
        claim: Claim,
        settings: Settings,
        context_pct: float | None = None,
        world: World = WORLD,
    ) -> None:
        self.root, self.store, self.claim, self.world = root, store, claim, world
        self.context_pct = context_pct
        self.settings = settings_of_task(store, claim.task_id, settings)
        self.task_files = TaskFiles(root, claim.task_id)
        self._has_told_news = False

    @classmethod
    def of(cls, project: Project, claim: Claim, *, context_pct: float | None = None) -> Self:
        return cls(
            root=project.root,
            store=project.store,
            claim=claim,
            settings=project.settings,
            context_pct=context_pct,
        )

    def read_anew(self) -> "ManualSession":
        """Return the same session with fresh data from the database."""
        return ManualSession(
            root=self.root,
            store=self.store,
            claim=self.claim,
            settings=self.settings,
            context_pct=self.context_pct,
            world=self.world,
        )

    # -- what there is ------------------------------------------------------------------------------------------

    @cached_property
    def view(self) -> service.TaskView:
        return service.task_view(self.store, self.claim.task_id).this_time

    @cached_property
    def task(self) -> TaskSpec:
        """The task, from its instruction file; :class:`InvalidPlan` if that cannot be read."""
        return load_task_file(self.root, self.claim.task_id, self.view.row.instruction_path or "")

    @cached_property
    def program(self) -> Program:
        """The program to play; only a final checkpoint if the task cannot be read (one opened by raw SQL)."""
        return program_in(self.root, self.view.row)

    @property
    def tree(self) -> TaskTree:
        return self.claimed.tree

    @cached_property
    def claimed(self) -> ClaimedSession:
        """What the claim is played with. The tree is made if it does not exist; it is the user's own if the task cannot
        be read.
        """
        row, tree, task = self.view.row, None, None
        base = service.base_of_plan(self.store, row.plan_id)
        try:
            task = self.task
            tree = self.world.open_tree(self.root, task, self.claim, plan_id=row.plan_id, base=base)
        except InvalidPlan:
            head = base or Git(self.root.path).head()
            tree = SharedTree(root=self.root, start=head, plan_id=row.plan_id)
        return ClaimedSession(
            root=self.root,
            store=self.store,
            settings=self.settings,
            claim=self.claim,
            worked_by=row.worked_by or "",
            instruction_path=row.instruction_path or "",
            plan_id=row.plan_id,
            task=task,
            program=self.program,
            tree=tree,
            environment={
                "MUSICIAN_TASK": self.claim.task_id,
                "MUSICIAN_SESSION": self.claim.session_id,
                "MUSICIAN_TREE": str(tree.path),
            },
            world=self.world,
        )

    @cached_property
    def progress(self) -> Progress:
        """The progress by the journal, including verdicts it has not recorded yet."""
        return self.state().progress

    @property
    def open_question(self) -> str:
        """The question the conductor has not answered yet; "" if there is none."""
        return "" if self.view.question is None else self.view.question.message

    # -- what is written down -----------------------------------------------------------------------------------

    def note(self, *entries: Entry) -> None:
        """Write entries into the journal and the files in ``temp/``."""
        self.store_records([r.Write(entries=entries)])

    def tell(self, told: i.DeviationTold | i.SelfCorrectionTold) -> str:
        """Record what was reported of the current item, and return that item, "" between two."""
        state, ready = self.choose(told)
        self.store_records(ready.records)
        return state.item

    def start(self, item: str) -> None:
        """Begin an item; after a verdict this is the return to work.

        Refused while the phase pauses: then only the session's arrival at this boundary is recorded
        (PLAN-21).
        """
        self.stand_still()
        _, ready = self.choose(i.BeginningChosen(item=item))
        pieces.begin(self.root, self.store, self.claim, self.tree, item)
        self.store_records(ready.records)

    def skip(self, item: str, why: str) -> None:
        """Leave an item out, for a reason that the judge of the next submission rules on (D29)."""
        self.store_records(self.choose(i.SkippingChosen(item=item, why=why))[1].records)

    def correct(self) -> tuple[str, str | None]:
        """Finish the conductor's next correction step; return which it was, and its commit's id (D17).

        The tree's changes are committed as that step; a revert is done here, with git, in a tree without
        unfinished work.
        """
        state, ready = self.choose(i.CorrectionChosen())
        service.beat(self.store, self.claim)  # a lost claim commits nothing
        play, commit = state.current, None
        assert isinstance(play, Play)  # noqa: S101  # else the engine has refused
        if not play.is_skip:
            undoes, tree = play.undoes, self.tree
            commit = tree.undo(undoes, play.item) if undoes else tree.keep(play.item, play.title)
        self.store_records([*ready.records, *_done(state, play.item, commit)])
        return play.item, commit

    def stand_still(self) -> None:
        """Note that the session is at a boundary; if its phase pauses, record once that it pauses too."""
        last = self.view.journal[-1].kind if self.view.journal else ""
        if self.view.pause and self.view.row.state not in WAITING and last != EntryKind.PAUSED:
            self.note(Entry(kind=EntryKind.PAUSED, text=self.view.pause))

    def finish_item(self, item: str, *, commit: bool, claims: str = "") -> str | None:
        """Finish an item; with ``commit`` its tree is committed first. Returns the commit's id.

        ``claims`` is what a subagent told of its piece; the next checkpoint compares it with what it finds
        (D19).
        """
        service.beat(self.store, self.claim)  # a lost claim commits nothing
        state, ready = self.choose(i.EndingChosen(item=item))
        if commit:
            self.tree.keep(item, self.program.play(item).title)
        commit_id, found = pieces.end(
            self.root,
            self.store,
            self.claim,
            self.tree,
            item,
            plan_id=self.view.row.plan_id,
            commits=commit,
        )
        besides = noticed(self.root, self.store, self.claim.task_id, item, self.tree)
        seen = [r.Write(entries=(*besides, *found))] if besides or found else []
        self.store_records([*ready.records, *seen, *_done(state, item, commit_id, claims)])
        return commit_id

    def keep_rework(self, state: MusicianState, rework: r.ReworkPiece) -> None:
        """Commit as rework what was done since a checkpoint was sent back or red."""
        commit = self.tree.keep(rework.item, rework.check.title)
        self.store_records(_done(state, rework.item, commit))

    def ask(self, text: str) -> int:
        """Ask the conductor something, to be answered before the next item is begun (D21); return the
        message's id.
        """
        return self.store_records(self.choose(i.QuestionTold(text=text))[1].records) or 0

    def report(self, text: str, *, report: str | None) -> int | None:
        """Report a failure, whose answer is then awaited; return the message's id.

        None means it was the last failure that the task is allowed, and the session has handed off (D3).
        """
        failed = i.FailureChosen(text=text, report=report or "")
        return self.store_records(self.choose(failed)[1].records)

    def warn(self) -> int:
        """Report a context warning with the program's estimate, whose answer is then awaited; return the
        message's id.
        """
        return self.store_records(self.choose(i.WarningChosen())[1].records) or 0

    def hear_nothing(self, *, conductor_is_fresh: bool) -> bool:
        """End a wait for the conductor without an answer; return whether the session must leave (D11)."""
        _, ready = self.choose(i.WaitTimedOut(conductor_is_fresh=conductor_is_fresh))
        if any(isinstance(record, r.ExitClaim) for record in ready.records):
            return True
        self.store_records(ready.records)
        return False

    def choose(self, given: i.Input) -> tuple[MusicianState, r.Ready]:
        """Return the engine's answer; nothing is stored yet. The table decides whether the row's state allows
        it.

        The engine hears the conductor's decisions first, except for an input that only reports something.
        """
        if isinstance(given, _TOLD):
            return step(self._rebuilt(), given)
        self.check_undriven()
        event, state = _EVENTS.get(type(given)), self.view.row.state
        is_at_work = state is State.WORKING or (event is Event.REPORT and state in VERDICTS)
        if event is not None and not (is_at_work and event in (Event.RESUME, Event.REPORT)):
            find(state, event, task_id=self.claim.task_id, actor=Actor.OWNER)
        hearing, heard = self._hear()
        chosen, ready = step(hearing, given)
        return chosen, replace(ready, records=(*heard, *ready.records))

    def _hear(self) -> tuple[MusicianState, tuple[r.Record, ...]]:
        """Return the engine's state after hearing the row's verdict, and the records that follow from it."""
        state, answer = self._rebuilt(), self._unheard[1]
        if answer is None:
            return state, ()
        state, ready = step(state, arrived(self.view, state, answer))
        return state, ready.records

    def check_undriven(self) -> None:
        """Refuse a claim whose process is alive: what that process plays may report something, and no more
        (D2).
        """
        driver = driver_of(self.view, self.world.machine)
        if driver is not None:
            raise EvidenceMissing(
                task_id=self.claim.task_id,
                missing=f"process {driver.pid} plays it, and begins and ends everything itself",
                remedy=f"leave it to that, or end it first: `musician stop {self.claim.task_id}`",
            )

    def store_records(self, records: Iterable[r.Record]) -> int | None:
        """Store the engine's records, the conductor's news first; return the id of the message that awaits an
        answer.
        """
        news, message_id = () if self._has_told_news else self._unheard[0], None
        # checked even if there is nothing to store: a lost claim must be noticed
        service.beat(self.store, self.claim)
        for record in records:
            if isinstance(record, r.Acknowledge):
                continue  # a session by hand acknowledges by `inbox`
            record = replace(record, entries=(*news, *record.entries))
            news, self._has_told_news = (), True
            message_id = self.store_record(record) or message_id
        return message_id

    def advice(self) -> str:
        """Return what its context requires of the session now (D15); "" if nothing, or without a reading."""
        if self.context_pct is None:
            return ""
        state = self.state()
        stance = stance_of(state)
        if self.view.row.state is State.ERROR and stance is not Stance.EXIT:
            return ""  # it has reported, and waits
        if state.agreement.holds and stance in WARNING_STANCES:
            return "go no further than the conductor has answered"
        return context_advice(stance)

    # -- the end ------------------------------------------------------------------------------------------------

    def exit(self, reason: str, *, handoff: str | None, notes: str = "") -> str:
        """Exit; return where the HANDOFF is: the session's own, or the program's with the session's
        ``notes``.
        """
        service.beat(self.store, self.claim)  # before anything is set aside
        chosen = i.LeavingChosen(reason=reason, handoff=handoff or "", notes=notes)
        _, ready = self.choose(chosen)
        end_what_runs(self.store, self.view, self.tree.path, self.settings, machine=self.world.machine)
        self.note()  # what the conductor decided is heard first: the HANDOFF tells of it
        self.store_records(ready.records)
        return self.task_files.relative(self.task_files.handoff)

    def complete(self) -> str:
        """Complete the task; return where the report is. The completion must be approved."""
        service.beat(self.store, self.claim)
        check_alone(self.store, self.claim, self.tree, self.world.machine)
        self.store_records(self.choose(i.CompletionChosen())[1].records)
        return self.task_files.relative(self.task_files.completion)

    # -- what all of them need ----------------------------------------------------------------------------------

    def state(self) -> MusicianState:
        """The engine's state by the database, with the conductor's decisions heard."""
        return self._hear()[0]

    def _rebuilt(self) -> MusicianState:
        return rebuilt(
            self.view,
            self.program,
            self.settings,
            epoch=self.claim.epoch,
            news=self._unheard[0],
            has_heard=self._unheard[1] is None,
            is_asking=bool(self.open_question),
            used_pct=self.context_pct,
            report_path=self.task_files.relative(self.task_files.completion),
        )

    @cached_property
    def _unheard(self) -> tuple[tuple[Entry, ...], str | None]:
        return unheard(self.view, self.program, service.messages_of(self.store, self.claim.task_id))

    def store_record(self, record: r.Record) -> int | None:
        self.task_files.begin()
        return store_record(self.claimed, record)


def _done(state: MusicianState, item: str, commit_id: str | None, detail: str = "") -> tuple[r.Record, ...]:
    ended = i.PieceEnded(item=item, ending=i.PieceEnding.DONE, detail=detail, commit_id=commit_id)
    return step(state, ended)[1].records
