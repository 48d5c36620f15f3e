"""Summarises the end of a run: what was merged, what waits for a person, and which command comes next."""

from collections.abc import Iterator, Sequence

from musician.cli.render import aligned, fields
from musician.protocol.values import dataclass
from musician.reporting.account import Account
from musician.reporting.account_page import document, page, sections
from musician.reporting.asks import answers_to, asked
from musician.reporting.spending import say_usage, spending_document
from musician.reporting.standing import Standing
from musician.reporting.tally import tally_of
from musician.reporting.wording import duration, say_smoothness
from musician.runtime.conductor.conduct import Ending, Outcome
from musician.runtime.conductor.plan_tests import PlanTest
from musician.service import PhaseSmoothness
from musician.store.rows import HumanRow, UsageRow
from musician.trees.base import FastForward, Move
from musician.trees.partial import PARTIALS_KEPT
from musician.verification.findings import counted, named

_MOST_LINES = 10
"""Of one section on the terminal; the page has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """``base_branch`` is the user's branch (None if HEAD was detached), ``integration`` the plan's own."""

    plan_id: str
    outcome: Outcome
    standings: tuple[Standing, ...]
    base_branch: str | None
    integration: str
    again: str
    """The command that continues the run."""
    phases: tuple[PhaseSmoothness, ...]
    took_s: float
    account: Account
    page_path: str | None = None
    """Where the page on the plan is kept, from the project's root; None if it is not."""

    @property
    def asks(self) -> tuple[HumanRow, ...]:
        """The plan's open questions for a person."""
        return tuple(ask for standing in self.standings for ask in standing.asks)

    @property
    def document(self) -> dict[str, object]:
        """The document for ``--json``. Its keys are stable."""
        moved = self.outcome.moved
        return {
            "plan": self.plan_id,
            "ending": self.outcome.ending,
            "tasks": [_task(each) for each in self.standings],
            "phases": [
                fields(phase, spending=spending_document(self._used_in(phase))) for phase in self.phases
            ],
            "needs_human": [_ask(ask, self.plan_id) for ask in self.asks],
            "spending": spending_document(self._used),
            "paused": self.outcome.paused or None,
            "pruned": list(self.outcome.pruned),
            "unmerged": list(self.outcome.unmerged),
            "branch": {
                "name": self.integration,
                "base": self.base_branch,
                "move": None if moved is None else moved.move,
                "reason": None if moved is None else moved.reason,
                "command": None if moved is None else moved.command,
            },
            "tests": [_tests(each) for each in self.outcome.plan_tests],
            **document(self.account),
            "page": self.page_path,
        }

    @property
    def page(self) -> str:
        """The page on the plan, as Markdown."""
        places = [
            *self._branch(),
            ("what happened, by time", "musician timeline"),
            ("how long it took", f"musician trace {self.plan_id}"),
            ("the tasks' own reports", "docs/implementation/reports/"),
            ("what an agent said and did", "musician log TASK"),
        ]
        return page(self.account, self._said(is_page=True), places)

    def _branch(self) -> Iterator[tuple[str, str]]:
        """Yield the branch that has the work. The plan's own goes once the user's has it all."""
        match self.outcome.moved:
            case FastForward(move=Move.MOVED | Move.ALREADY):
                if self.base_branch is not None:
                    yield "your branch", self.base_branch
            case None if self.outcome.ending is Ending.COMPLETE:  # played in the user's own tree
                return
            case _:
                yield "the plan's branch", self.integration

    @property
    def summary(self) -> str:
        """The text for people."""
        return self._said(is_page=False)

    @property
    def headline(self) -> str:
        """How it ended, in one line."""
        return next(self._lines(()))

    def _said(self, *, is_page: bool) -> str:
        """Return the text for people; the page tells what went otherwise by itself."""
        first, *rest = self._lines(() if is_page else tuple(self._otherwise()))
        used = [f"Used by this plan so far: {say_usage(self._used)}."] if self._used else []
        return "\n".join((first, *used, *rest))

    def _lines(self, otherwise: Sequence[str]) -> Iterator[str]:
        match self.outcome.ending:
            case Ending.COMPLETE:
                yield f"{self.plan_id} is complete: {self._tally()}, in {duration(self.took_s)}."
                yield from self._merged()
                for task_id in self.outcome.unmerged:
                    yield f"Nothing of {task_id} was merged: its branch has no commit of its own."
                yield from self._tested()
                yield from self._pruned()
                yield from map(say_smoothness, filter(lambda phase: phase.smoothness, self.phases))
                yield from otherwise
                yield "What happened, by time: musician timeline. The reports: docs/implementation/reports/"
                if self.page_path is not None:
                    yield f"All of it on one page: {self.page_path}"
            case Ending.NEEDS_HUMAN if self.outcome.plan_tests:
                yield f"{self.plan_id} waits for you: {self._tally()}, but it requires green."
                yield from self._tested()
                yield (
                    "Have a task mend it, or take `require: green` out of the plan; then `musician plan amend` it, and"
                    f" run the same command again: {self.again}"
                )
            case Ending.NEEDS_HUMAN if self.outcome.paused:
                yield f"{self.outcome.paused}. {self._tally()}."
                if self.asks:
                    yield from self._asked()
                yield f"To let it go on: musician plan resume {self.plan_id}"
                yield f"Then run the same command again: {self.again}"
            case Ending.NEEDS_HUMAN:
                yield f"{self.plan_id} waits for you: {self._tally()}."
                yield from otherwise
                yield from self._asked()
                yield f"\nThen run the same command again: {self.again}"
            case Ending.INTERRUPTED:
                yield f"{self.plan_id} was interrupted: {self._tally()}. State saved; nothing is lost."
                yield from self._asked()
                yield f"Run the same command again to go on: {self.again}"

    @property
    def _used(self) -> tuple[UsageRow, ...]:
        return tuple(row for each in self.standings for row in each.view.usage)

    def _used_in(self, phase: PhaseSmoothness) -> list[UsageRow]:
        return [row for each in self.standings if each.phase == phase.number for row in each.view.usage]

    def _tally(self) -> str:
        sessions = sum(len(each.view.sessions) for each in self.standings)
        return f"{tally_of(each.view.row for each in self.standings).said}, {counted(sessions, 'session')}"

    def _merged(self) -> Iterator[str]:
        match self.outcome.moved:
            case None:
                yield "The work is in your working tree."
            case FastForward(move=Move.MOVED):
                yield f"Merged and verified; your branch {self.base_branch} was moved to the result."
            case FastForward(move=Move.ALREADY):
                yield f"Merged and verified; your branch {self.base_branch} has it all."
            case FastForward(move=Move.FAILED, reason=reason, command=command):
                yield f"Merged and verified in {self.integration}, but your branch could not be moved to it: {reason}."
                yield f"Run the same command again once that is mended: {self.again}"
                yield f"Or take it by hand: {command}"
            case FastForward(reason=reason, command=command):
                yield f"Merged and verified in {self.integration}. Your branch was left alone: {reason}."
                yield f"To take it: {command}"

    def _tested(self) -> Iterator[str]:
        """Yield what the plan's tests say of the merged result, unless all pass as before."""
        # A test that several commands run is mended once.
        mended = tuple({name: None for each in self.outcome.plan_tests for name in each.mended})
        if mended:
            tests = counted(len(mended), "test")
            yield f"Mended: {tests} that failed before the plan: {named(mended)}."
        for each in self.outcome.plan_tests:
            now = each.now
            if each.new:
                yield f"Failing, and not before the plan: {named(each.new)}."
            old = tuple(name for name in now.failed if name not in each.new)
            if old:
                yield f"Still failing, as before the plan: {counted(len(old), 'test')}: {named(old)}."
            elif now.why and not now.failed and not now.has_no_tests:
                was = "as before the plan" if each.before.why else "and not before the plan"
                yield f"Failing, {was}: {now.why}."
            if now.flaky:
                yield f"Flaky: {now.flaky}."

    def _otherwise(self) -> Iterator[str]:
        for section in sections(self.account):
            yield f"{section.title}:"
            yield from (f"  {line}" for line in section.lines[:_MOST_LINES])
            if len(section.lines) > _MOST_LINES:
                yield f"  and {len(section.lines) - _MOST_LINES} more"

    def _pruned(self) -> Iterator[str]:
        gone = len(self.outcome.pruned)
        if gone:
            states = counted(gone, "older state")
            yield (
                f"Unfinished work that was set aside: the newest {PARTIALS_KEPT} states of each task are kept under"
                f" refs/musician/partial/{self.plan_id}; {states} dropped."
            )

    def _asked(self) -> Iterator[str]:
        if not self.asks and self.outcome.ending is Ending.NEEDS_HUMAN:
            yield "Nothing can go on, and nothing was asked: look at `musician status` and `musician doctor`."
        for ask in self.asks:
            yield f"\n  {ask.task_id}, {asked(ask)}"
            answers = answers_to(ask, plan_id=self.plan_id)
            yield from (f"    {line}" for line in aligned([(each.command, each.effect) for each in answers]))


def _task(each: Standing) -> dict[str, object]:
    return fields(
        each,
        *("task_id", "title", "phase", "done", "context_pct"),
        state=each.shown_state,
        worked_by=each.who,
        sessions=len(each.view.sessions),
        of=each.total,
        report_path=each.view.row.report_path,
        spending=spending_document(each.view.usage),
        anomalies=[fields(found) for found in each.anomalies],
    )


def _tests(each: PlanTest) -> dict[str, object]:
    return {
        "command": each.now.command,
        "before": each.before.why,
        "now": each.now.why,
        "failing": list(each.now.failed),
        "new": list(each.new),
        "mended": list(each.mended),
    }


def _ask(ask: HumanRow, plan_id: str) -> dict[str, object]:
    answers = [each.command for each in answers_to(ask, plan_id=plan_id)]
    return fields(ask, "task_id", "kind", "text", "at", commands=answers)
