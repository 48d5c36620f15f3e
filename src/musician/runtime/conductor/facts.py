"""Gathers the facts for the conductor's decisions: from the database, the life locks and git, at one moment."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType

from musician import service
from musician.agents.registry import account_for
from musician.plans.model import Answers, Changes, Isolation, Plan, TaskSpec
from musician.plans.touching import planned_files, shared_paths
from musician.protocol.conductor.means import BUDGET
from musician.protocol.conductor.opinion import Opinion
from musician.protocol.conductor.orchestra import OpenReport, Orchestra, Reviewer, Submitted, TaskFacts, Trial
from musician.protocol.conductor.repeats import what_failed
from musician.protocol.journal import CEILING_REACHED, PROVIDER_REFUSES, Entry, EntryKind
from musician.protocol.messages import submissions
from musician.protocol.messages.forecasts import Meeting, meeting
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.types import ContextWarning, ErrorReport
from musician.protocol.musician.program import CheckpointItem, Program
from musician.protocol.musician.writing import question_asked
from musician.protocol.names import CONDUCTOR
from musician.protocol.resumption.handoff import FROM_OUTSIDE
from musician.protocol.rules.breaker import Giving
from musician.protocol.rules.budget import breaks_estimate
from musician.protocol.rules.ceilings import Accounts, measures_of, within_budget
from musician.protocol.rules.liveness import Owner, heartbeat_status, standing_by_heartbeat
from musician.protocol.rules.review import ROUGHEST, Evidence, Submission, SubmittedWork, Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.protocol.values import dataclass, replace
from musician.reporting.owners import is_about_to_play, owner_of
from musician.reporting.standing import Standing
from musician.runtime.conductor.plan_run import PlanRun
from musician.runtime.conductor.ticks import Ticks
from musician.runtime.resuming.resolutions import open_trouble
from musician.runtime.resuming.resumption import checkpoint_number
from musician.service import TaskView
from musician.store.port import Store
from musician.store.rows import HistoryRow, JournalRow, SubmissionRow, VerificationRow
from musician.verification.earlier import failed_tests_of

_WORK = frozenset(
    {
        EntryKind.COMPLETED,
        EntryKind.RETURNED,
        EntryKind.REWORKED,
        EntryKind.RECONCILED,
        EntryKind.SUBMITTED,
        EntryKind.APPROVED,
    }
)


_NO_ACCOUNTS: Mapping[str, Accounts] = MappingProxyType({})


@dataclass(slots=True)
class Memory:
    """A running conductor's own memory: its processes, and results it could find again at any time."""

    ticks: Ticks
    running: set[str] = field(default_factory=set)
    dead_sessions: set[str] = field(default_factory=set)
    """Sessions whose process we saw end."""
    busy: set[str] = field(default_factory=set)
    """Tasks for which an act of ours is under way."""
    trials: dict[int, Trial] = field(default_factory=dict)
    full_evidence: dict[int, Evidence] = field(default_factory=dict)
    merged: set[str] = field(default_factory=set)
    failed_launches: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gatherer:
    """Makes an :class:`Orchestra` from fresh facts."""

    run: PlanRun
    memory: Memory

    def gather(
        self,
        standings: Iterable[Standing],
        closed: Mapping[str, Giving],
        accounts: Mapping[str, Accounts] = _NO_ACCOUNTS,
    ) -> Orchestra:
        """Return everything at one moment; ``closed`` are the providers' accounts that give nothing. Blocks.

        ``accounts`` are the tasks' own, and that of one that has used nothing by the name "".
        """
        standings = tuple(standings)
        specs = {task.task_id: task for task in self.run.plan.tasks}
        tasks = tuple(
            replace(
                self._facts(each, each.program, specs[each.task_id], closed),
                accounts=within_budget(
                    accounts.get(each.task_id) or accounts.get("", {}), specs[each.task_id].budget
                ),
            )
            for each in standings
            if each.program is not None
        )
        paused = next((each.view.plan_pause.text for each in standings if each.view.plan_pause), "")
        return Orchestra(tasks=tasks, jobs=self.run.options.jobs, settings=self.run.settings, paused=paused)

    def _facts(
        self, standing: Standing, program: Program, spec: TaskSpec, closed: Mapping[str, Giving]
    ) -> TaskFacts:
        view, row = standing.view.this_time, standing.view.row
        owner = self._owner(view)
        isolated = spec.isolation is Isolation.WORKTREE
        account = account_for(spec, self.run.options.agent or spec.agent)
        giving = closed.get(account)
        return TaskFacts(
            task_id=row.task_id,
            state=row.state,
            phase=row.phase or 0,
            epoch=row.claim_epoch,
            owner=owner,
            is_running=row.task_id in self.memory.running
            or (owner is None and is_about_to_play(self.run.root, row.task_id)),
            is_playing=row.state not in (State.ERROR, State.NEEDS_REVIEW) and standing.plays_on,
            is_told_to_pause=bool(view.order_to_pause),
            is_paused=standing.is_paused,
            after=frozenset(spec.after),
            conflicts=self.run.plan.conflicts_of(spec),
            meets=self._meets(standing, spec) if self.run.options.avoids_conflicts else (),
            is_isolated=isolated,
            lacks_tree=isolated and owner not in (None, Owner.DEAD) and self._lacks_tree(view),
            is_merged=isolated and row.state is State.COMPLETE and self._is_merged(view),
            reviewer=Reviewer((self.run.options.review or spec.review).value),
            submitted=self._submitted(standing, program, spec) if row.state is State.NEEDS_REVIEW else None,
            report=_report(view) if row.state is State.ERROR else None,
            question=view.question and (view.question.id, question_asked(view.question.message)),
            is_answered_by_agent=(self.run.options.answers or spec.answers) is Answers.AGENT,
            answers=_answers(view),
            has_open_ask=bool(standing.asks),
            asked_ceilings=frozenset(ask.subject_id for ask in standing.asks if ask.kind == BUDGET),
            settled_asks=frozenset(
                (ask.kind, ask.subject_id) for ask in view.asks if ask.resolved_at is not None
            ),
            empty_sessions=_empty_sessions(view, self.memory),
            was_claimed=bool(view.sessions),
            is_skipped=row.skipped is not None,
            is_limited=giving is Giving.LIMITED,
            is_refused=giving is Giving.REFUSED,
            unproven=account if giving is Giving.UNPROVEN else "",
            failed_launches=self.memory.failed_launches.get(row.task_id, 0),
            exit_reason=(view.sessions[-1].exit_reason or "") if view.sessions else "",
        )

    def _meets(self, standing: Standing, spec: TaskSpec) -> tuple[Meeting, ...]:
        """Return the tasks that will touch, or have touched, what a task that is not begun yet says it will touch."""
        own = planned_files(spec)
        if standing.view.sessions or not own:
            return ()
        others = (each for each in self.run.plan.tasks if each.task_id != spec.task_id)
        both = {
            each.task_id: shared_paths(own, planned_files(each) | self.run.trees.touched(each.task_id))
            for each in others
        }
        return tuple(meeting(other, tuple(sorted(paths))) for other, paths in both.items() if paths)

    def _submitted(self, standing: Standing, program: Program, spec: TaskSpec) -> Submitted | None:
        view = standing.view.this_time
        waiting = view.submissions[-1] if view.submissions else None
        if (
            waiting is None
            or waiting.verdict is not None
            or not view.history
            or view.history[-1].message_id != waiting.message_id
        ):
            return None  # incomplete: its message has not come yet (D5)
        message = waiting.said
        number = checkpoint_number(waiting)
        rounds = [each for each in view.submissions if checkpoint_number(each) == number]
        evidence = _verification_of(view, waiting)
        open_deviations, findings = service.open_rows(view.journal)
        last = max((item.number for item in spec.checkpoints), default=0)
        final = waiting.message_type == MessageType.COMPLETION or number == last
        return Submitted(
            message_id=waiting.message_id,
            submission=Submission(
                work=SubmittedWork(
                    tree_id=None if evidence is None else evidence.tree_id,
                    deviations=standing.progress.deviations,
                ),
                evidence=self.memory.full_evidence.get(waiting.message_id) or _evidence(evidence, waiting),
                # a submission without a score counts as rough, so that nobody gains by leaving it out (D14)
                smoothness=ROUGHEST if message is None or message.smoothness is None else message.smoothness,
                round=len(rounds),
                final=final,
                sent_back=_sent_back(standing, rounds[:-1]),
                findings=tuple(row.text for row in findings),
                estimate_broken=message is not None
                and _is_estimate_broken(standing, program, message, self.run.settings),
                unplayed=_unplayed(standing, program, last if final else number),
                may_change_nothing=spec.changes is Changes.NONE,
            ),
            deviation_ids=tuple(row.id for row in open_deviations),
            finding_ids=tuple(row.id for row in findings),
            trial=self.memory.trials.get(waiting.message_id),
            opinion=_opinion_on(view, waiting),
            is_barrier=(last if final else number) in spec.pause_siblings_at,
        )

    def _owner(self, view: TaskView) -> Owner | None:
        standing = owner_of(self.run.root, view, self.run.settings, self.run.world.machine)
        if standing is not None and view.row.session_id in self.memory.dead_sessions:
            return Owner.DEAD
        if standing in (None, Owner.LIVE, Owner.DEAD):
            self.memory.ticks.forget(view.row.task_id)
            return standing
        if not self.memory.ticks.trusts_ages():
            return Owner.LIVE
        if standing is not Owner.SILENT:
            return standing
        silence_s = self.run.settings.heartbeat.refresh_after_s
        if not self.memory.ticks.has_seen_for(view.row.task_id, silence_s):
            return Owner.LIVE
        return standing_by_heartbeat(heartbeat_status(view.row.heartbeat_age_s, self.run.settings))

    def _lacks_tree(self, view: TaskView) -> bool:
        """Whether a claim left no traces as the program's claims do, and its task has no branch."""
        traces = {row.claim_epoch for row in view.processes} | {row.claim_epoch for row in view.journal}
        if view.row.claim_epoch in traces:
            return False
        task_id = view.row.task_id
        return not self.run.trees.has_branch(task_id) and not is_about_to_play(self.run.root, task_id)

    def _is_merged(self, view: TaskView) -> bool:
        task_id = view.row.task_id
        if task_id not in self.memory.merged and self.run.trees.is_merged(task_id, submitted_commit(view)):
            self.memory.merged.add(task_id)
        return task_id in self.memory.merged


def accounts_of(store: Store, plan: Plan, settings: Settings) -> Mapping[str, Accounts]:
    """Return what :meth:`Gatherer.gather` is told of the ceilings; nothing is looked up where none is set. Blocks."""
    is_bounded = measures_of(settings.ceilings, *{task.budget for task in plan.tasks})
    return service.accounts_of_plan(store, plan.plan_id) if is_bounded else {}


def submitted_commit(view: TaskView) -> str | None:
    """Return the commit that the latest submission named: it is merged, wherever the branch is now (D28)."""
    return view.submissions[-1].commit_id if view.submissions else None


def _verification_of(view: TaskView, submission: SubmissionRow) -> VerificationRow | None:
    for row in reversed(view.verifications):
        if row.submission_id == submission.message_id:
            return row
    return None


def _opinion_on(view: TaskView, submission: SubmissionRow) -> Opinion | None:
    found = next((row for row in view.opinions if row.submission_id == submission.message_id), None)
    return None if found is None else service.as_opinion(found)


def _answers(view: TaskView) -> tuple[tuple[int, Opinion], ...]:
    """The opinions on messages that are no submissions."""
    submitted = {each.message_id for each in view.submissions}
    return tuple(
        (row.submission_id, service.as_opinion(row))
        for row in view.opinions
        if row.submission_id not in submitted
    )


def _evidence(row: VerificationRow | None, submission: SubmissionRow) -> Evidence | None:
    if row is None:
        return None
    return Evidence(
        verification=Verification(row.outcome),
        full=row.covers_all,
        changed_files=submission.changed_files,
    )


def _unplayed(standing: Standing, program: Program, number: int | None) -> tuple[str, ...]:
    """Return the items before a checkpoint that are not done; () for a raw writer, who keeps no journal."""
    checks = (each for each in program.items if isinstance(each, CheckpointItem) and each.number == number)
    check = next(checks, None)
    if check is None or all(row.session_id == CONDUCTOR for row in standing.view.this_time.journal):
        return ()
    return program.open_before(check.item, standing.progress)


def _sent_back(standing: Standing, earlier: list[SubmissionRow]) -> SubmittedWork | None:
    rejected = [each for each in earlier if each.verdict is State.REVIEW_FAILED]
    if not rejected:
        return None
    evidence = _verification_of(standing.view.this_time, rejected[-1])
    ruled = tuple(each for each in standing.progress.deviations if each.ruled)
    return SubmittedWork(tree_id=None if evidence is None else evidence.tree_id, deviations=ruled)


def _is_estimate_broken(
    standing: Standing, program: Program, submitted: submissions.Submission, settings: Settings
) -> bool:
    """Whether a self-correction has made the way to the next checkpoint too expensive (D17).

    The submission says what its session has used and what a piece costs it; the plan says what lies ahead.
    False if the session did not measure its context.
    """
    each_pct, checkpoint = submitted.agents_remaining.each_pct, submitted.checkpoint
    if each_pct is None or checkpoint is None or not standing.has_corrected_itself:
        return False
    approved = Entry(kind=EntryKind.APPROVED, item=f"checkpoint {checkpoint.number}")
    ahead = program.pieces_to_checkpoint(standing.progress.after([approved]))
    # the submission's figure includes the factor for self-corrections
    cost_pct = each_pct / settings.context.self_correction_factor
    return breaks_estimate(submitted.context_usage_pct, ahead, (cost_pct,), settings)


def _report(view: TaskView) -> OpenReport | None:
    change = view.history[-1] if view.history else None  # a report that cannot be read counts as none (D39)
    if change is None or change.message_id is None:
        return None
    if change.message_type == MessageType.CONTEXT_WARNING:
        row = view.reports.get(change.message_id)
        warning = row.said if row is not None and isinstance(row.said, ContextWarning) else None
        return OpenReport(
            message_id=change.message_id,
            text="" if row is None else row.message,
            is_context=True,
            used_pct=None if warning is None else warning.context_usage_pct,
            projected_pct=None if warning is None else warning.projected_pct,
        )
    errors = [
        each
        for each in view.history
        if each.message_type == MessageType.ERROR and each.claim_epoch > view.started_over_after
    ]
    said = _error_of(view, change)
    return OpenReport(
        message_id=change.message_id,
        text=said,
        is_context=False,
        is_repeat=len(errors) > 1 and _is_repeat(view, errors),
        is_unplayable=_is_unplayable(view),
        trouble=open_trouble(view),
    )


def _is_repeat(view: TaskView, errors: list[HistoryRow]) -> bool:
    """Whether the same failure was reported before. A raw writer's report has no journal entry, so its text
    is compared.
    """
    reports = [row for row in view.journal if row.kind == EntryKind.ERROR]
    if len(reports) != view.error_count or len(reports) < 2:
        return len({what_failed(_error_of(view, each)) for each in errors[-2:]}) == 1
    before, now = reports[-2:]
    return before.item == now.item and _failure(view, before) == _failure(view, now)


def _failure(view: TaskView, report: JournalRow) -> str:
    """Return what identifies a failure: the failing tests of a red checkpoint, otherwise the text."""
    red = [
        row for row in view.verifications if row.journal_id < report.id and row.outcome == Verification.RED
    ]
    is_check = report.item.startswith("checkpoint ")
    return what_failed(report.text, failed_tests_of(red[-1]) if red and is_check else ())


def _is_unplayable(view: TaskView) -> bool:
    """Whether the last error report directly follows the note that the plan lacks something."""
    errors = [number for number, row in enumerate(view.journal) if row.kind == EntryKind.ERROR]
    return bool(errors) and any(row.kind == EntryKind.UNPLAYABLE for row in view.journal[: errors[-1]][-1:])


def _error_of(view: TaskView, change: HistoryRow) -> str:
    row = view.reports.get(change.message_id or 0)
    if row is None:
        return ""
    return row.said.error if isinstance(row.said, ErrorReport) else row.message


def _empty_sessions(view: TaskView, memory: Memory) -> int:
    """Return how many of the latest sessions in a row ended by themselves without progress (D1).

    A session that a signal ended while this conductor goes on counts too: its own work may have sent the
    signal, and might again.
    """
    fruitful = {row.claim_epoch for row in view.journal if row.kind in _WORK}
    count = 0
    for session in reversed(view.sessions):
        if session.ended_at is None or session.claim_epoch in fruitful:
            break
        if (session.exit_reason or "").startswith((PROVIDER_REFUSES, CEILING_REACHED)):
            continue
        from_outside = (session.exit_reason or "").startswith(FROM_OUTSIDE)
        count += not from_outside or session.session_id in memory.dead_sessions
    return count
