"""A session that no driver plays: a person, a script, or an agent that calls the musician's verbs one by one.

It goes the same way as a driven one (D30): a verb is an input of the same engine, whose state is rebuilt from the
database, and whose records are stored in their order, into the same journal and the same files in ``temp/``. The
program still runs the verification and fills in the submission; nobody's word stands for a run (D14, D16).
"""

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from pathlib import Path

from anyio.to_thread import run_sync

from musician import service
from musician.plans.model import TaskSpec
from musician.processes.identity import ProcessIdentity
from musician.protocol.claim import Claim
from musician.protocol.errors import BadField, EvidenceMissing, InvalidPlan
from musician.protocol.journal import Entry, Kind, Progress
from musician.protocol.messages.types import ErrorReport
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.boundary import stance_of
from musician.protocol.musician.engine import step
from musician.protocol.musician.program import Play, Program
from musician.protocol.musician.state import Mode, MusicianState
from musician.protocol.musician.writing import context_advice
from musician.protocol.rules.budget import WARNING_STANCES, Stance
from musician.protocol.rules.deviations import SKIPPED_BY_ITSELF
from musician.protocol.settings import Settings
from musician.protocol.states import VERDICTS, WAITING, State
from musician.protocol.transitions import Actor, Event, find
from musician.protocol.values import replace
from musician.runtime.baselines import Baselines
from musician.runtime.belongings import check_alone, end_what_runs
from musician.runtime.byhand import pieces
from musician.runtime.byhand.rebuilding import rebuilt
from musician.runtime.in_force import settings_of_task
from musician.runtime.noticing import noticed
from musician.runtime.papers import Papers
from musician.runtime.program import load_task_file, program_in
from musician.runtime.recording import Recorder
from musician.runtime.resuming.resumption import unheard_orders, unheard_verdicts
from musician.runtime.tasktree import SharedTree, TaskTree, open_tree
from musician.store.port import Store
from musician.store.rows import MessageRow
from musician.trees.git import Git
from musician.trees.root import Root


class Hand:
    """One claim with its task, tree and files, each opened when it is needed. All calls block."""

    def __init__(self, *, root: Root, store: Store, claim: Claim, settings: Settings) -> None:
        self.root, self.store, self.claim = root, store, claim
        self.settings = settings_of_task(store, claim.task_id, settings)
        self.papers = Papers(root, claim.task_id)

    # -- what there is ------------------------------------------------------------------------------------------

    @cached_property
    def view(self) -> service.TaskView:
        return service.task_view(self.store, self.claim.task_id)

    @cached_property
    def task(self) -> TaskSpec:
        """From its instruction file; :class:`InvalidPlan` where that cannot be read."""
        return load_task_file(self.root, self.claim.task_id, self.view.row.instruction_path or "")

    @property
    def baselines(self) -> Baselines:
        """What failed before the task began; :class:`InvalidPlan` where nobody can read it."""
        return Baselines(
            root=self.root,
            store=self.store,
            settings=self.settings,
            task=self.task,
            plan_id=self.view.row.plan_id,
        )

    @cached_property
    def program(self) -> Program:
        """What is played; only a final checkpoint where nobody can tell (a task opened by raw SQL)."""
        return program_in(self.root, self.view.row)

    @cached_property
    def tree(self) -> TaskTree:
        """Where the task is played; made if it is not there. The user's own where nobody can tell."""
        row = self.view.row
        plan = None if row.plan_id is None else service.plan_row(self.store, row.plan_id)
        base = None if plan is None else plan.base_commit
        try:
            return open_tree(self.root, self.task, self.claim, plan_id=row.plan_id, base=base)
        except InvalidPlan:
            head = base or Git(self.root.path).text("rev-parse", "HEAD")
            return SharedTree(root=self.root, start=head, plan_id=row.plan_id)

    @cached_property
    def progress(self) -> Progress:
        """What the journal adds up to, verdicts it has not heard of included."""
        return Progress().after([*map(service.as_entry, self.view.journal), *self.news()])

    @property
    def open_question(self) -> str:
        """What the conductor was asked and has not answered; "" if nothing."""
        question = service.open_question(self.store, self.claim.task_id)
        return "" if question is None else question.message

    # -- what is written down -----------------------------------------------------------------------------------

    def note(self, *entries: Entry) -> None:
        """Into the journal and the files in ``temp/``."""
        self.store_records([r.Write(entries=entries)])

    def tell(self, told: i.DeviationTold | i.SelfCorrectionTold, context_pct: float | None) -> str:
        """Something was told of what is played; the item it was told of, "" between two."""
        state = self.state(context_pct)
        self.store_records(step(replace(state, mode=Mode.PLAYING), told)[1].records)
        return state.item

    def start(self, item: str, context_pct: float | None) -> None:
        """An item is begun; after a verdict that is going back to work.

        Not while all of the phase pause: that the session has come to this boundary is written down then (PLAN-21).
        """
        self.stand_still()
        missing = "its question to the conductor is not answered" if self.open_question else self.view.pause
        if missing:
            raise EvidenceMissing(
                task_id=self.claim.task_id,
                missing=missing,
                remedy=f"`musician wait {self.claim.task_id}`, then read its inbox",
            )
        self.check_corrected()
        self._check_known(item)
        self._check_context(context_pct)
        if self.view.row.state is not State.WORKING:  # what waits for its answer hears that first
            find(self.view.row.state, Event.RESUME, task_id=self.claim.task_id, actor=Actor.OWNER)
        if not self.progress.is_done(item):  # what is done is begun again to mend it
            self.check_in_order(item)
        pieces.begin(self.root, self.store, self.claim, self.tree, item)
        kind = Kind.LAUNCHED if "agent" in item else Kind.STARTED
        self._go_on(*self.news(), Entry(kind=kind, item=item, context_pct=context_pct))

    def skip(self, item: str, why: str, context_pct: float | None) -> None:
        """An item is left out, for a reason that whoever judges the next submission rules (D29)."""
        self._check_known(item)
        if self.progress.is_done(item):
            raise BadField(field="item", value=item, reason="it is done already")
        skipped = Entry(
            kind=Kind.SKIPPED, item=item, text=why, severity=SKIPPED_BY_ITSELF, context_pct=context_pct
        )
        self._go_on(*self.news(), skipped)

    def _check_known(self, item: str) -> None:
        """Only what the task has can be played; nobody can tell of one whose instructions cannot be read (D29)."""
        try:
            _ = self.task
        except InvalidPlan:
            return
        if not self.program.knows(item):
            steps = dict.fromkeys(
                f"step {each.step}" for each in self.program.items if isinstance(each, Play)
            )
            raise BadField(field="item", value=item, reason=f"the task has {', '.join(steps) or 'no step'}")

    def _has_begun(self, item: str) -> bool:
        """Whether this claim has started an item, or has it done already."""
        begun = any(
            row.item == item
            and row.claim_epoch == self.claim.epoch
            and row.kind in (Kind.STARTED, Kind.LAUNCHED)
            for row in self.view.journal
        )
        return begun or self.progress.is_done(item)

    def correct(self, context_pct: float | None) -> tuple[str, str | None]:
        """The conductor's next correction step is done: which, and its commit's id (D17).

        What is in the tree is committed as that step; a revert is done here, with git, in a tree without
        unfinished work.
        """
        play = self.program.next_item(self.progress)
        if not isinstance(play, Play) or play.correction is None:
            raise EvidenceMissing(
                task_id=self.claim.task_id,
                missing="no correction step waits to be done",
                remedy=f"`musician status {self.claim.task_id}` says where it stands",
            )
        service.beat(self.store, self.claim)  # a lost claim commits nothing
        tree = self.tree
        commit = None
        if not play.is_skip:
            commit = tree.undo(play.undoes, play.item) if play.undoes else tree.keep(play.item, play.title)
        done = Entry(kind=Kind.COMPLETED, item=play.item, context_pct=context_pct, commit_id=commit)
        self._go_on(*self.news(), done, *self.program.done_with(play, self.progress))
        return play.item, commit

    def _go_on(self, *entries: Entry) -> None:
        """Write down at work; after a verdict that is going back to work."""
        write = service.record if self.view.row.state is State.WORKING else service.resume
        write(self.store, self.claim, *entries)
        self._note_in_files(entries)

    def check_in_order(self, item: str) -> None:
        """Nothing is begun, or submitted, while something before it is open (D29)."""
        missing = self.program.open_before(item, self.progress)
        if missing:
            task_id, first = self.claim.task_id, missing[0]
            number = first.removeprefix("step ")
            remedy = f"submit it first: `musician checkpoint {task_id}`"
            if first.startswith("step "):
                remedy = (
                    f"play it; or leave it out, and say why: `musician step {task_id} skipped {number} WHY`"
                )
            raise EvidenceMissing(
                task_id=task_id,
                missing=f"before {item} comes what is not done yet: {', '.join(missing)}",
                remedy=remedy.replace(" agent ", " --agent ") if " agent " in first else remedy,
            )

    def check_corrected(self) -> None:
        for first in self.progress.corrections[:1]:
            raise EvidenceMissing(
                task_id=self.claim.task_id,
                missing=f"{first.item} comes before anything else: {first.title}",
                remedy=f"`musician correction {self.claim.task_id}` once that is done; it does a revert itself",
            )

    def _check_context(self, context_pct: float | None) -> None:
        """From the exit threshold on nothing is begun, whatever was granted (D35)."""
        used_pct, exit_pct = self.state(context_pct).used_pct, self.settings.context.exit_from_pct
        if used_pct is not None and used_pct >= exit_pct:
            raise EvidenceMissing(
                task_id=self.claim.task_id,
                missing=f"{used_pct:.0f} % of the context is used, and from {exit_pct:.0f} % on nothing is begun",
                remedy=f"hand off: `musician exit {self.claim.task_id} --reason context`",
            )

    def stand_still(self) -> None:
        """The session is at a boundary; where all of its phase pause, that it does so too is written down, once."""
        last = self.view.journal[-1].kind if self.view.journal else ""
        if self.view.pause and self.view.row.state not in WAITING and last != Kind.PAUSED:
            self.note(Entry(kind=Kind.PAUSED, text=self.view.pause))

    def finish_item(
        self, item: str, context_pct: float | None, *, commit: bool, claims: str = ""
    ) -> str | None:
        """An item is done; with ``commit`` its tree is committed first. The commit's id.

        ``claims`` is what a subagent told of its piece; the next checkpoint holds it against what it finds (D19).
        """
        service.beat(self.store, self.claim)  # a lost claim commits nothing
        self._check_known(item)
        if not self._has_begun(item):
            raise EvidenceMissing(
                task_id=self.claim.task_id,
                missing=f"{item} was not started",
                remedy=f"start it first (`musician step {self.claim.task_id} start N`), then play it",
            )
        if commit:
            titles = {each.item: each.title for each in self.program.items}
            self.tree.keep(item, titles.get(item, ""))
        commit_id, found = pieces.end(
            self.root,
            self.store,
            self.claim,
            self.tree,
            item,
            plan_id=self.view.row.plan_id,
            commits=commit,
        )
        kind = Kind.RETURNED if "agent" in item else Kind.COMPLETED
        besides = noticed(self.root, self.store, self.claim.task_id, item, self.tree)
        done = Entry(kind=kind, item=item, text=claims, context_pct=context_pct, commit_id=commit_id)
        self.note(*besides, *found, done, *self._absorbed_with(item))
        return commit_id

    def _absorbed_with(self, item: str) -> Iterator[Entry]:
        """The pieces of a step that was played as a whole, without a subagent."""
        launched = {row.item for row in self.view.journal if row.kind == Kind.LAUNCHED}
        for piece in self.program.pieces_of(item):
            if piece.item not in launched and not self.progress.is_done(piece.item):
                yield Entry(kind=Kind.COMPLETED, item=piece.item, text="by the musician, with its step")

    def ask(self, text: str, *, context_pct: float | None) -> int:
        """Ask the conductor something, to be answered before the next item is begun (D21); the message's id."""
        state = replace(self.state(context_pct), mode=Mode.PLAYING)
        return self.store_records(step(state, i.QuestionTold(text=text))[1].records) or 0

    def report(self, text: str, *, report: str | None, context_pct: float | None) -> int | None:
        """Report a failure and wait for the answer; the message's id.

        None: it was the last that the task is allowed, and the session has handed off (D3). The engine decides.
        What waits for an answer does not fail meanwhile, and is no retry.
        """
        if (
            self.view.row.state not in VERDICTS
        ):  # with one the session goes back to work, as by starting a step
            find(self.view.row.state, Event.REPORT, task_id=self.claim.task_id, actor=Actor.OWNER)
        state = self.state(context_pct)
        item = state.item or self.claim.task_id
        # Of a subagent's piece too: who plays by hand has tried again by itself before it reports.
        played = Play(item=item, title="", prose="", scripts=(), step=0)
        failed = i.PieceEnded(item=item, ending=i.PieceEnding.FAILED, detail=text)
        records = step(replace(state, mode=Mode.PLAYING, current=played), failed)[1].records
        return self.store_records(records, report=report)

    def warn(self, context_pct: float | None, *, if_due: bool) -> int | None:
        """Report a context warning with the program's estimate, and wait; the message's id, None if it is not due.

        :class:`BadField` without a reading: a warning says how much is used (D12).
        """
        state = self.state(context_pct)
        if state.used_pct is None and not if_due:
            raise BadField(
                field="context", value="", reason="a context warning says how much is used: --context PCT"
            )
        return self.store_records(step(state, i.WarningChosen(if_due=if_due))[1].records)

    def store_records(self, records: Iterable[r.Record], *, report: str | None = None) -> int | None:
        """What the engine wants stored, the conductor's news first; the id of what awaits an answer."""
        news, message_id = self.news(), None
        service.beat(self.store, self.claim)  # nothing to store is no word of a claim that is lost either
        for record in records:
            if not isinstance(record, r.Acknowledge):
                record = replace(record, entries=(*news, *record.entries))
                news = ()
            if (
                isinstance(record, r.Report)
                and isinstance(record.message, ErrorReport)
                and report is not None
            ):
                record = replace(record, message=replace(record.message, report=report))
            message_id = self.store_record(record) or message_id
        return message_id

    def advice(self, context_pct: float | None) -> str:
        """What a reading asks of the session now (D15); "" if nothing, or if there is none."""
        if context_pct is None:
            return ""
        state = self.state(context_pct)
        stance = stance_of(state)
        if self.view.row.state is State.ERROR and stance is not Stance.EXIT:
            return ""  # it has reported, and waits
        if state.granted and stance in WARNING_STANCES:
            return "go no further than the conductor has answered"
        return context_advice(stance)

    # -- the end ------------------------------------------------------------------------------------------------

    def leave(self, reason: str, *, handoff: str | None, context_pct: float | None, notes: str = "") -> str:
        """Exit; where the HANDOFF is: the session's own, or the program's with the session's ``notes``."""
        service.beat(self.store, self.claim)  # before anything is set aside
        end_what_runs(self.store, self.view, self.tree.path, self.settings)
        chosen = i.LeavingChosen(reason=reason, handoff=handoff or "", notes=notes)
        for record in step(self.state(context_pct), chosen)[1].records:
            self.store_record(record)  # a verdict that it has not heard is its successor's (D7)
        return self.papers.relative(self.papers.handoff)

    def finish(self) -> str:
        """Complete; where the report is. The completion must stand approved."""
        service.beat(self.store, self.claim)
        check_alone(self.store, self.claim, self.tree)
        find(self.view.row.state, Event.COMPLETE, task_id=self.claim.task_id, actor=Actor.OWNER)
        self.check_corrected()
        self.store_records(step(self.state(None), i.CompletionChosen())[1].records)
        return self.papers.relative(self.papers.completion)

    # -- what all of them need ----------------------------------------------------------------------------------

    def state(self, context_pct: float | None) -> MusicianState:
        """The engine's state, as far as the database tells it."""
        return rebuilt(
            self.view,
            self.program,
            self.settings,
            epoch=self.claim.epoch,
            news=self.news(),
            is_asking=bool(self.open_question),
            used_pct=context_pct,
            report_path=self.papers.relative(self.papers.completion),
        )

    def news(self) -> tuple[Entry, ...]:
        """What the conductor decided and ordered, and the journal has not heard of."""
        verdicts = unheard_verdicts(self.view)
        heard = Progress().after([*map(service.as_entry, self.view.journal), *verdicts])
        return (*verdicts, *unheard_orders(heard, self._said))

    @cached_property
    def _said(self) -> tuple[MessageRow, ...]:
        return service.messages_of(self.store, self.claim.task_id)

    def store_record(self, record: r.Record) -> int | None:
        self.papers.begin()
        recorder = Recorder(
            store=self.store,
            claim=self.claim,
            papers=self.papers,
            tree=self.tree,
            worked_by=self.view.row.worked_by or "",
            title=self.program.title,
        )
        return recorder.store_record(record)

    def _note_in_files(self, entries: Iterable[Entry]) -> None:
        self.papers.begin()
        self.papers.note(entries)

    @property
    def log(self) -> Path:
        return self.root.logs_dir / f"{self.claim.task_id}.agent.log"

    def environment(self, item: str) -> dict[str, str]:
        return {
            "MUSICIAN_TASK": self.claim.task_id,
            "MUSICIAN_SESSION": self.claim.session_id,
            "MUSICIAN_TREE": str(self.tree.path),
            "MUSICIAN_ITEM": item,
        }

    async def record_process(self, identity: ProcessIdentity) -> None:
        record = partial(service.record_process, self.store, self.claim, "agent", identity)
        await run_sync(record)
