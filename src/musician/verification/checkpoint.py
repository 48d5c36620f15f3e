"""The whole verification of a checkpoint: D16's stages, in their order.

Tests by category, tests of the tests, coverage of changed lines, the scan of the change, integration; then
the decision matrix. The first test category that is not green ends it, because failures are fixed first.
Everything the stages need is read from git's objects, so the tree the result names is the tree that was
looked at; coverage alone is read from what the tests just wrote.

A test of a derived category that fails was not asked for by the plan, so it must not fail for what others left
unfinished: it is tried on the code as it was, and excused, and named, where it failed there as well. What a
checkpoint names is never excused, and of the command that the plan has for every task, what failed when the task began.

Nothing raises: a stage that cannot be done is one whose finding says why not.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from musician.processes.identity import ProcessIdentity
from musician.processes.output import one_line
from musician.protocol.errors import GitFailed, NoRepository
from musician.protocol.rules.readiness import CoverageLevel, Facts, StageOutcome, coverage_level, decide
from musician.protocol.rules.referee import Finding, FindingKind
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass, replace
from musician.trees.git import Git
from musician.verification import claimed
from musician.verification.basejudge import IDLE, Judged, judge_by_the_base
from musician.verification.baseline import Before
from musician.verification.categories import Planned, Selection, select_tests
from musician.verification.change import CodeChange, paths_in
from musician.verification.commands import CommandRunner, Ran, command_runner
from musician.verification.covered import changed_coverage, left_out_of_coverage
from musician.verification.earlier import Earlier
from musician.verification.failure import analyse
from musician.verification.findings import (
    Category,
    CategoryRun,
    ChangedCoverage,
    ClaimCheck,
    FailureCause,
    Integration,
    Scan,
    Stages,
    Validity,
    counted,
    named,
)
from musician.verification.imports import Project, change_in_project
from musician.verification.integration import look_at_wholeness
from musician.verification.invocation import folder_of, read_invocation
from musician.verification.oldtree import runner_beside
from musician.verification.reports import CoverageReport, Stamps, fresh_report, put_together, report_stamps
from musician.verification.result import VerificationResult
from musician.verification.run import Settled, result_of, settle
from musician.verification.scan import scan_change
from musician.verification.untested import untested_functions
from musician.verification.validity import never_run_in, try_the_tests

_TROUBLES = (GitFailed, NoRepository, OSError)
"""What keeps a stage from being done."""
_MAX_TROUBLE_CHARS = 200
MAX_IDLE = 2_000
"""Names kept of tests that are skipped or expected to fail."""


async def verify_checkpoint(
    commands: Sequence[str],
    *,
    tree: Path,
    tree_id: str,
    log: Path,
    env: Mapping[str, str],
    settings: Settings,
    checkpoint: int,
    final: bool,
    on_process: Callable[[ProcessIdentity], Awaitable[None]],
    earlier: Earlier,
    claims: Mapping[str, str] | None = None,
    may_change: Sequence[str] = (),
    may_pass_before: bool = False,
    before: Before | None = None,
) -> VerificationResult:
    """Verify ``tree``, which is ``tree_id`` now, by the checkpoint's own ``commands`` and all stages.

    As :func:`musician.verification.run.verify`, with the limits from ``settings``; ``claims`` are what
    subagents said of their work, by subagent (D19); ``may_change`` and ``may_pass_before`` what the task is
    allowed (D26, D16). ``before`` says what failed of the task's own command when it began (D27).
    ``VerificationResult.ready`` says whether it may be reported.
    """
    began_s = anyio.current_time()
    settled: list[Settled] = []
    found = _Found(
        commands=commands,
        tree=tree,
        settings=settings,
        final=final,
        earlier=earlier,
        claims=claims or {},
        may_change=may_change,
        may_pass_before=may_pass_before,
        before=before,
    )
    trouble = "" if commands else "cannot run: no test command"
    try:
        with command_runner(
            tree=tree,
            log=log,
            env=env,
            time_limit_s=settings.time.verification_limit_s,
            on_process=on_process,
        ) as runner:
            await found.look_at_the_change(tree_id)
            if commands:
                await found.run_tests(runner, settled)
            result = result_of(settled, trouble=trouble, tree_id=tree_id, checkpoint=checkpoint, full=final)
            await found.go_through(result, runner, [each.ran for each in settled])
            spent_s = runner.spent_s
    except OSError as error:
        trouble, spent_s = f"cannot run: {error}", 0.0
        result = result_of(settled, trouble=trouble, tree_id=tree_id, checkpoint=checkpoint, full=final)
    checked = await run_sync(partial(found.hold_claims_against, settled, tree_id))
    stages = found.stages(result, checked, overhead_s=max(0.0, anyio.current_time() - began_s - spent_s))
    return replace(result, stages=stages)


def outcome_of(result: VerificationResult) -> Verification:
    """Return a result as the rules of review see it: green only if it is ready."""
    tests = _tests_of(result)
    return Verification.RED if tests is Verification.GREEN and not result.ready else tests


def _tests_of(result: VerificationResult) -> Verification:
    if result.passed:
        return Verification.GREEN
    if result.escalate:
        return Verification.FLAKY
    if not result.commands or not result.commands[-1].could_run:
        return Verification.CANNOT_RUN
    return Verification.RED


@dataclass(slots=True, kw_only=True)
class _Found:
    """A verification in progress: its inputs, and what its stages have found so far."""

    commands: Sequence[str]
    tree: Path
    settings: Settings
    final: bool
    earlier: Earlier
    claims: Mapping[str, str]
    may_change: Sequence[str] = ()
    may_pass_before: bool = False
    before: Before | None = None
    change: CodeChange | None = None
    project: Project | None = None
    stamps: Stamps = field(default_factory=dict)
    report: CoverageReport | str = ""
    selection: Selection = field(default_factory=lambda: Selection(planned=()))
    runs: list[CategoryRun] = field(default_factory=list)
    validity: Validity | None = None
    coverage: ChangedCoverage | None = None
    scan: Scan | None = None
    integration: Integration | None = None
    failure: FailureCause | None = None
    judged: Judged = field(default_factory=Judged)
    idle: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    @property
    def _folders(self) -> tuple[str, ...]:
        """The folders, besides the top, in which the commands run."""
        return tuple(dict.fromkeys(folder for each in self.commands if (folder := folder_of(each))))

    async def look_at_the_change(self, tree_id: str) -> None:
        """Read the change from git and select the tests; without a base only the checkpoint's own commands
        are left.
        """
        self.stamps = await run_sync(partial(report_stamps, self.tree, self._folders))
        own = tuple(Planned(category=Category.OWN, command=command) for command in self.commands)
        self.selection = Selection(planned=own)
        if self.earlier.base is None:
            self.notes.append("the change was not looked at: no checkpoint or start to compare with")
            return
        try:
            change, project = await run_sync(
                partial(change_in_project, Git(self.tree), self.earlier.base, tree_id)
            )
            self.selection = await run_sync(
                partial(
                    select_tests,
                    self.commands,
                    change,
                    project,
                    previously_failed=self.earlier.failed_tests,
                    claimed={
                        name for text in self.claims.values() for name in claimed.read_claim(text).names
                    },
                )
            )
            self.change, self.project = change, project
        except _TROUBLES as error:
            self._trouble("the change was not looked at", error)
        if self.change is not None and self.change.unread:
            self.notes.append(f"{counted(self.change.unread, 'changed file')} not looked into")

    async def run_tests(self, runner: CommandRunner, settled: list[Settled]) -> None:
        """Run the tests by category; ``settled`` ends with the first command that is neither green nor
        excused.
        """
        for planned in self.selection.planned:
            if planned.files:
                done = await self._run_derived(runner, planned)
            else:
                done = await settle(runner, planned.command, before=self.before)
            settled.append(done)
            self.runs.append(
                CategoryRun(
                    category=planned.category,
                    command=planned.command,
                    passed=done.green,
                    excused=bool(done.excused),
                )
            )
            if not done.holds:
                return
            await self._keep_the_report()

    async def _run_derived(self, runner: CommandRunner, planned: Planned) -> Settled:
        first = await runner.run(planned.command)
        if not first.result.passed and await self._failed_before(first, planned, runner):
            return Settled(
                ran=first, green=False, excused=f"failing as before: {', '.join(planned.files[:5])}"
            )
        return await settle(runner, planned.command, first_run=first)

    async def _keep_the_report(self) -> None:
        """Read what this command's tests covered now, because the next command may overwrite the report."""
        found = await fresh_report(self.tree, self.stamps, self._folders)
        self.stamps = await run_sync(partial(report_stamps, self.tree, self._folders))
        if isinstance(self.report, str):
            self.report = found
        elif isinstance(found, CoverageReport):
            self.report = put_together((self.report, found))

    async def _failed_before(self, ran: Ran, planned: Planned, runner: CommandRunner) -> bool:
        """Whether everything that fails now failed on the old code; new tests have no old result.

        Files that the old tree lacks are not named to the runner, which would then run none at all.
        """
        failing = set(ran.result.failed_tests)
        how = read_invocation(planned.command)
        if self.change is None or how is None or not failing:
            return False
        new = {each.path for each in self.change.files if each.kind == "created"}
        asked = [path for path in planned.files if path not in new]
        if not asked:
            return False
        try:
            async with runner_beside(runner, self.change.base, folder=planned.folder) as there:
                before = await there.run(how.of_files(asked) if new else ran.result.command)
        except _TROUBLES as error:
            self._trouble("not tried on the code as it was", error)
            return False
        return failing <= set(before.result.failed_tests)

    async def go_through(self, result: VerificationResult, runner: CommandRunner, ran: Sequence[Ran]) -> None:
        """Run the stages after the tests; if tests fail, only find out why."""
        change, project = self.change, self.project
        if change is None or project is None or not self.commands:
            return
        if not result.passed:
            self.failure = analyse(result.commands[-1], change, project.top_modules)
            return
        await self._ask_the_base(change, project, runner, ran)
        await self._look_for_tests(change, project)
        self.coverage = changed_coverage(change, self.report, baseline_pct=self.earlier.coverage_pct)
        if left_out := left_out_of_coverage(change):
            self.notes.append(f"left out of coverage by the change: {named(left_out)}")
        limit_s = self.settings.validity.limit_s
        try:
            never_run = await run_sync(never_run_in, Git(self.tree), change, ran)
            self.validity = await try_the_tests(
                change, self.commands, runner=runner, time_limit_s=limit_s, never_run=never_run
            )
            if never_run:
                self.notes.append(f"new or changed tests that no command runs: {named(never_run)}")
        except _TROUBLES as error:
            self.validity = Validity(why_not=_short(error))
        await self._scan(change)
        self.integration = await look_at_wholeness(change, project, self.commands, runner)

    async def _ask_the_base(
        self, change: CodeChange, project: Project, runner: CommandRunner, ran: Sequence[Ran]
    ) -> None:
        """Judge by the base. If that is not possible, the reviewer has to be told so."""
        idle = (name for each in ran for name, how in each.outcomes.items() if how in IDLE)
        self.idle = tuple(dict.fromkeys(idle))[:MAX_IDLE]
        try:
            self.judged = await judge_by_the_base(
                change,
                project,
                self.commands,
                ran,
                runner=runner,
                idle_before=self.earlier.idle,
                allowed=self.may_change,
            )
        except _TROUBLES as error:
            text = f"the old tests were not run: {_short(error)}"
            finding = Finding(kind=FindingKind.CHANGED_EXPECTATION, text=text)
            self.judged = Judged(findings=(finding,))
        self.notes += self.judged.notes

    async def _look_for_tests(self, change: CodeChange, project: Project) -> None:
        """Find new functions that no test runs, unless a coverage report, or a program that is no test
        runner, may know better.
        """
        if isinstance(self.report, CoverageReport) or any(
            read_invocation(each) is None for each in self.commands
        ):
            return
        look = partial(untested_functions, Git(self.tree), change, project, allowed=self.may_change)
        try:
            found = await run_sync(look)
        except _TROUBLES as error:
            self._trouble("tests of new functions were not looked for", error)
        else:
            self.judged = replace(self.judged, findings=(*self.judged.findings, *found))

    async def _scan(self, change: CodeChange) -> None:
        try:
            self.scan = await run_sync(scan_change, Git(self.tree), change)
        except _TROUBLES as error:
            self.scan = Scan(why_not=f"the change was not scanned: {_short(error)}")

    def stages(
        self, result: VerificationResult, claims: tuple[ClaimCheck, ...], *, overhead_s: float
    ) -> Stages:
        coverage = self.coverage
        limits = self.settings.coverage
        level = CoverageLevel.UNKNOWN
        if coverage is not None:
            level = coverage_level(
                coverage.pct,
                least_pct=limits.least_pct,
                target_pct=limits.target_pct,
                drop_pct=coverage.drop_pct,
                explain_drop_pct=limits.explain_drop_pct,
            )
        facts = Facts(
            tests=_tests_of(result),
            valid=StageOutcome.UNKNOWN
            if self.validity is None
            else self.validity.check(
                0.0 if self.may_pass_before else self.settings.validity.least_failing_pct
            ),
            coverage=level,
            clean=StageOutcome.UNKNOWN if self.scan is None else self.scan.check,
            whole=StageOutcome.UNKNOWN if self.integration is None else self.integration.check,
            full=result.full,
            final=self.final,
        )
        return Stages(
            base="" if self.change is None else self.change.base,
            selection=tuple(self.runs),
            selection_notes=self.selection.notes,
            validity=self.validity,
            coverage=coverage,
            scan=self.scan,
            integration=self.integration,
            failure=self.failure,
            claims=claims,
            findings=self.judged.findings,
            idle=self.idle,
            decision=decide(facts),
            notes=tuple(self.notes),
            overhead_s=overhead_s,
        )

    def hold_claims_against(self, settled: Sequence[Settled], tree_id: str) -> tuple[ClaimCheck, ...]:
        """Compare subagents' claims with what ran and what is in the tree. Blocks."""
        ran = _what_ran(settled)
        files = {path for text in self.claims.values() for path in claimed.read_claim(text).files}
        missing: set[str] = set()
        if files:
            try:
                missing = files - paths_in(Git(self.tree), tree_id, files)
            except _TROUBLES as error:
                self._trouble("claimed files were not looked for", error)
        return tuple(
            claimed.compare_claim(text, ran, by=item, missing=missing) for item, text in self.claims.items()
        )

    def _trouble(self, what: str, error: Exception) -> None:
        self.notes.append(f"{what}: {_short(error)}")


def _what_ran(settled: Sequence[Settled]) -> claimed.Ran:
    records = [item.ran.record for item in settled if item.ran.record is not None]
    if not records:
        return claimed.Ran(passed=None)
    passed = sum(record.counts.ran - record.counts.failed for record in records)
    names = [name for record in records for name in record.passed_tests]
    return claimed.Ran(
        # two categories may run one test: it counts once, where every test that passed has a name
        passed=len(set(names)) if len(names) == passed else passed,
        failed={name for record in records for name in record.failed_tests},
        passed_names=names,
    )


def _short(error: Exception) -> str:
    return one_line(str(error), _MAX_TROUBLE_CHARS)
