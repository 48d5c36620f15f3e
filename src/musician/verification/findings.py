"""The findings of each stage of a verification: small values that can be stored, compared and quoted.

Knows no file and runs nothing. Every finding says what it could not look at (``why_not``, ``left_out``), so that
silence never passes for a clean bill. All lists are bounded where they are made.
"""

from dataclasses import field
from enum import StrEnum

from musician.protocol.rules.readiness import Decision, StageOutcome
from musician.protocol.rules.referee import Finding
from musician.protocol.values import dataclass

MAX_NAMED = 5
"""Of a list, named in one line; the others are counted."""


class Category(StrEnum):
    """The four categories of tests, in the order they are run (D16), and what else a subagent claims of (D19)."""

    CHANGED = "tests of changed files"
    AFFECTED = "tests of affected modules"
    OWN = "the checkpoint's own tests"
    FAILED = "previously failed tests"
    CLAIMED = "tests a subagent told of"


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryRun:
    """One command as it was run for a category. ``excused``: it fails, and failed alike before the change."""

    category: Category
    command: str
    passed: bool
    excused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """Whether new and changed tests can fail: run against the code as it was, ``examined`` of them.

    ``cannot_fail`` pass there; ``trivial``, a part of them, also assert nothing that depends on anything.
    """

    examined: int = 0
    cannot_fail: tuple[str, ...] = ()
    trivial: tuple[str, ...] = ()
    left_out: int = 0
    why_not: str = ""

    def check(self, least_failing_pct: float) -> StageOutcome:
        """BAD with a trivial test, or when fewer than ``least_failing_pct`` of the examined can fail."""
        failing = self.examined - len(self.cannot_fail)
        too_few = self.examined and 100 * failing < least_failing_pct * self.examined
        return _outcome(self.trivial or too_few, unseen=self.why_not or self.left_out)

    def line(self) -> str:
        if self.trivial:
            return f"assert nothing: {named(self.trivial)}"
        if self.cannot_fail:
            return (
                f"{len(self.cannot_fail)} of {self.examined} new or changed tests also pass on the code as it was:"
                f" {named(self.cannot_fail)}"
            )
        if self.why_not:
            return f"new tests not tested: {self.why_not}"
        return f"{counted(self.examined, 'new or changed test')} can fail" if self.examined else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedCoverage:
    """Of ``lines`` changed lines that a report knows, ``covered`` were run; ``source`` is the report.

    ``total_pct`` is the report's whole, ``baseline_pct`` the same of the last checkpoint; ``missed`` are
    "path:line"; ``absent`` are changed files of code that the report does not know.
    """

    lines: int = 0
    covered: int = 0
    source: str = ""
    total_pct: float | None = None
    baseline_pct: float | None = None
    missed: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def pct(self) -> float | None:
        return 100 * self.covered / self.lines if self.lines else None

    @property
    def drop_pct(self) -> float:
        if self.total_pct is None or self.baseline_pct is None:
            return 0.0
        return max(0.0, self.baseline_pct - self.total_pct)

    def line(self) -> str:
        absent = f"; not in the report: {named(self.absent)}" if self.absent else ""
        if self.pct is None:
            return f"coverage of changed lines not measured ({self.why_not}){absent}"
        return f"coverage of changed lines {self.pct:.0f} % ({self.covered} of {self.lines}){absent}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One place in the added lines. ``is_note``: worth saying, nothing to clean up."""

    path: str
    line: int
    kind: str
    text: str
    is_note: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.kind} {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What the change scan saw; ``left_out`` counts what was over the bound."""

    remarks: tuple[Remark, ...] = ()
    left_out: int = 0
    why_not: str = ""

    @property
    def faults(self) -> tuple[Remark, ...]:
        return tuple(remark for remark in self.remarks if not remark.is_note)

    @property
    def check(self) -> StageOutcome:
        return _outcome(self.faults, unseen=self.why_not or self.left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Integration:
    """``broken`` are "path:line: what" that do not compile; ``cycles`` the new ones, each as "a.py -> b.py -> a.py".

    ``absent`` are "path: imports NAME, …" whose module is not there.
    """

    broken: tuple[str, ...] = ()
    cycles: tuple[str, ...] = ()
    why_not: str = ""
    absent: tuple[str, ...] = ()

    @property
    def faults(self) -> tuple[str, ...]:
        return (
            *(f"does not compile: {each}" for each in self.broken),
            *(f"new import cycle: {each}" for each in self.cycles),
            *(f"cannot be imported: {each}" for each in self.absent),
        )

    @property
    def check(self) -> StageOutcome:
        return _outcome(self.faults, unseen=self.why_not)


class FailureKind(StrEnum):
    """Where a failing test most likely comes from (the sources' decision tree)."""

    TEST = "test"
    IMPLEMENTATION = "implementation"
    ENVIRONMENT = "environment"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCause:
    """``signal`` is the line, or the fact, that says so."""

    kind: FailureKind
    signal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    """A claim compared with what was found; ``mismatches`` are whole phrases (D19)."""

    claimed: str
    mismatches: tuple[str, ...] = ()
    by: str = ""
    why_not: str = ""

    def lines(self) -> tuple[str, ...]:
        who = f"{self.by}: " if self.by else ""
        unchecked = (f"{who}what it claims of tests is not checked ({self.why_not})",) if self.why_not else ()
        return (*(f"claimed otherwise: {who}{each}" for each in self.mismatches), *unchecked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Everything the verification of a checkpoint found besides the tests themselves, in D16's order.

    A stage that was not reached, because tests fail, is None. ``base`` is the tree of the last checkpoint; ``findings``
    are the referee's; ``idle`` are tests that were skipped or are expected to fail; ``overhead_s`` is what the program
    itself took, without anybody's tests.
    """

    base: str = ""
    selection: tuple[CategoryRun, ...] = ()
    selection_notes: tuple[str, ...] = ()
    validity: Validity | None = None
    coverage: ChangedCoverage | None = None
    scan: Scan | None = None
    integration: Integration | None = None
    failure: FailureCause | None = None
    claims: tuple[ClaimCheck, ...] = ()
    findings: tuple[Finding, ...] = ()
    idle: tuple[str, ...] = ()
    decision: Decision
    notes: tuple[str, ...] = ()
    overhead_s: float = field(default=0.0, compare=False)

    def said(self) -> tuple[str, ...]:
        """What the review says about the stages, gravest first."""
        parts = [*map(str, self.findings), *self.faults()]
        if self.validity is not None and (line := self.validity.line()) and line not in parts:
            parts.append(line)
        if self.coverage is not None and (line := self.coverage.line()) not in parts:
            parts.append(line)
            if self.coverage.drop_pct > 0:
                parts.append(f"the project's coverage fell by {self.coverage.drop_pct:.1f} points")
        for stage in (self.scan, self.integration):
            if stage is not None and stage.why_not:
                parts.append(stage.why_not)
        parts += [line for claim in self.claims for line in claim.lines()]
        return (*parts, *self.notes, *self.selection_notes)

    def ways_out(self) -> tuple[str, ...]:
        """The faults that the plan could allow."""
        passes = self.validity is not None and self.validity.cannot_fail and not self.validity.trivial
        is_held = passes and self.decision is Decision.IMPROVE_TESTS
        return (
            ("of a refactoring's tests the plan says `may-pass-before: true` in the task",) if is_held else ()
        )

    def faults(self) -> tuple[str, ...]:
        """What holds the checkpoint back besides failing tests; each must be fixed."""
        faults: list[str] = [] if self.integration is None else [*self.integration.faults]
        if self.decision is Decision.IMPROVE_TESTS and self.validity is not None:
            faults.append(self.validity.line())
        if self.decision is Decision.IMPROVE_COVERAGE and self.coverage is not None:
            faults.append(f"{self.coverage.line()}, not run: {named(self.coverage.missed)}")
        if self.scan is not None and self.scan.faults:
            faults.append(f"to clean up: {named([str(remark) for remark in self.scan.faults])}")
        return tuple(faults)


def _outcome(faults: object, *, unseen: object) -> StageOutcome:
    if faults:
        return StageOutcome.BAD
    return StageOutcome.UNKNOWN if unseen else StageOutcome.GOOD


def named(names: "tuple[str, ...] | list[str]") -> str:
    """Return the first of them, and how many more there are."""
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
