"""A session that no driver plays: a person, a script, or an agent that calls the musician's verbs one by one.

It goes the same way as a driven one: the same journal, the same files in ``temp/``, the same records of the same
engine. What a driver remembers is found in the database here, at each verb anew. The program still runs the
verification and fills in the submission; nobody's word stands for a run (D14, D16).
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
from musician.protocol.musician import ready as r
from musician.protocol.musician.engine import step
from musician.protocol.musician.inputs import PieceEnded, PieceEnding
from musician.protocol.musician.program import Play, Program
from musician.protocol.musician.since import Since
from musician.protocol.musician.state import Mode, MusicianState
from musician.protocol.musician.writing import leaving, question
from musician.protocol.rules.deviations import SKIPPED_BY_ITSELF
from musician.protocol.settings import Settings
from musician.protocol.states import WAITING, State
from musician.protocol.transitions import Actor, Event, find
from musician.protocol.values import replace
from musician.runtime.baselines import Baselines
from musician.runtime.belongings import check_alone, end_what_runs
from musician.runtime.byhand import pieces
from musician.runtime.byhand.readings import is_granted, used_in
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
            return SharedTree(root=self.root, start=head)

    @cached_property
    def progress(self) -> Progress:
        """What the journal adds up to, verdicts it has not heard of included."""
        return Progress().after([*map(service.as_entry, self.view.journal), *self.news()])

    @property
    def current_item(self) -> str:
        """The item that was started last and is not done; "" if there is none."""
        started = [row.item for row in self.view.journal if row.kind in (Kind.STARTED, Kind.LAUNCHED)]
        return started[-1] if started and not self.progress.is_done(started[-1]) else ""

    @property
    def open_question(self) -> str:
        """What the conductor was asked and has not answered; "" if nothing."""
        question = service.open_question(self.store, self.claim.task_id)
        return "" if question is None else question.message

    # -- what is written down -----------------------------------------------------------------------------------

    def note(self, *entries: Entry) -> None:
        """Into the journal and the files in ``temp/``."""
        news = (*self.news(), *entries)
        service.record(self.store, self.claim, *news)
        self._note_in_files(news)

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
        said = question(self.state(context_pct), text)
        entry = Entry(kind=Kind.QUESTION, item=self.current_item, text=text, context_pct=context_pct)
        news = (*self.news(), entry)
        message_id = service.ask(self.store, self.claim, said, *news)
        self._note_in_files(news)
        return message_id

    def report(self, text: str, *, report: str | None, context_pct: float | None) -> int | None:
        """Report a failure and wait for the answer; the message's id.

        None: it was the last that the task is allowed, and the session has handed off (D3). The engine decides.
        """
        item = self.current_item or self.claim.task_id
        played = Play(item=item, title="", prose="", scripts=(), step=0)
        state = replace(self.state(context_pct), mode=Mode.PLAYING, current=played)
        failed = PieceEnded(item=item, ending=PieceEnding.FAILED, detail=text)
        return self.store_records(step(state, failed)[1].records, report=report)

    def store_records(self, records: Iterable[r.Record], *, report: str | None = None) -> int | None:
        """What the engine wants stored, the conductor's news before it; the id of what awaits an answer."""
        news = tuple(self.news())
        if news:
            self.note(*news)
        message_id = None
        for record in records:
            if (
                isinstance(record, r.Report)
                and isinstance(record.message, ErrorReport)
                and report is not None
            ):
                record = replace(record, message=replace(record.message, report=report))
            message_id = self.store_record(record) or message_id
        return message_id

    # -- the end ------------------------------------------------------------------------------------------------

    def leave(self, reason: str, *, handoff: str | None, context_pct: float | None, notes: str = "") -> str:
        """Exit; where the HANDOFF is: the session's own, or the program's with the session's ``notes``."""
        service.beat(self.store, self.claim)  # before anything is set aside
        end_what_runs(self.store, self.view, self.tree.path, self.settings)
        state = replace(self.state(context_pct), leave_reason=reason)
        self.store_record(replace(leaving(state), notes=notes, handoff=handoff or ""))
        return self.papers.relative(self.papers.handoff)

    def finish(self) -> str:
        """Complete; where the report is. The completion must stand approved."""
        service.beat(self.store, self.claim)
        check_alone(self.store, self.claim, self.tree)
        find(self.view.row.state, Event.COMPLETE, task_id=self.claim.task_id, actor=Actor.OWNER)
        self.check_corrected()
        self.store_record(r.Finish(entries=tuple(self.news())))
        return self.papers.relative(self.papers.completion)

    # -- what all of them need ----------------------------------------------------------------------------------

    def state(self, context_pct: float | None) -> MusicianState:
        """The engine's state, as far as the database tells it."""
        row = self.view.row
        return MusicianState(
            program=self.program,
            settings=self.settings,
            progress=self.progress,
            used_pct=used_in(self.view, self.claim.epoch) if context_pct is None else context_pct,
            errors=self.view.error_count,
            retry_limit=row.retry_limit,
            report_path=self.papers.relative(self.papers.completion),
            since=Since().after(map(service.as_entry, self.view.journal)),
            earlier_self_corrections=sum(
                row.kind == Kind.SELF_CORRECTION and row.claim_epoch != self.claim.epoch
                for row in self.view.journal
            ),
            granted=is_granted(self.view, self.claim.epoch),
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
