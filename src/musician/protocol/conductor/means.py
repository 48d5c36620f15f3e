"""Decides whether there are means for what the conductor would have an agent do (``protocol/rules/ceilings``).

Where a ceiling is reached, a person is asked; where it is the plan's, once, beside one task for all. A day's asks
nobody: it lifts by itself. On an account that is given nothing (``rules/breaker``) nobody is launched or asked; after a
limit one is, and the others once that was given something. While a person has paused the plan nobody is given
anything, and nobody is asked about a ceiling.
"""

from musician.protocol.conductor.acts import Act, AskAnswerer, AskHuman, AskReviewer, Launch
from musician.protocol.conductor.orchestra import Orchestra, TaskFacts, is_at_work, waits_for_person
from musician.protocol.rules.ceilings import (
    NUMBERED,
    Account,
    Bound,
    Scope,
    fits_beside,
    reached,
)
from musician.protocol.states import WAITING

BUDGET = "budget"
"""The kind of what a person is asked; its subject is the ceiling's number."""


class Means:
    """The means while one decision is made. What it allows is reserved at once, before the next is asked about."""

    def __init__(self, orchestra: Orchestra) -> None:
        self._is_paused = bool(orchestra.paused)
        self._ceilings = orchestra.settings.ceilings
        self._at_work = [
            _own(task) for task in orchestra.tasks if is_at_work(task) and not waits_for_person(task)
        ]
        self._is_plan_asked_about = any(_asks_for_plan(task) for task in orchestra.tasks)
        self._probed = {task.unproven for task in orchestra.tasks if _asks_its_provider(task)}
        self.waits_for_tomorrow = False
        """Something was held back that goes on by itself when the day is over."""

    def allowed(self, task: TaskFacts, act: Act | None) -> Act | None:
        """Return the act that is due instead: the same, a question for a person, or none before others have ended."""
        if not isinstance(act, Launch | AskReviewer | AskAnswerer):
            return act
        if self._is_paused:
            return None
        found = reached(task.accounts, self._ceilings)
        if found is not None:
            return self._held_back(task, found)
        is_probed = bool(task.unproven) and task.unproven in self._probed
        if task.is_limited or task.is_refused or is_probed:
            return None
        if isinstance(act, Launch):
            if not fits_beside(task.accounts, self._at_work, self._ceilings):
                return None
            self._at_work.append(_own(task))
        self._probed.add(task.unproven)
        return act

    def _held_back(self, task: TaskFacts, found: Bound) -> AskHuman | None:
        if found.scope is Scope.DAY:
            self.waits_for_tomorrow = True
            return None
        if found.scope is Scope.PLAN:
            if self._is_plan_asked_about:
                return None
            self._is_plan_asked_about = True
        return AskHuman(task_id=task.task_id, kind=BUDGET, subject_id=found.number, text=found.text)


def _own(task: TaskFacts) -> Account:
    return task.accounts.get(Scope.TASK, Account())


def _asks_its_provider(task: TaskFacts) -> bool:
    """Whether its session is at work on something, and not only waiting for a verdict or an answer."""
    waits = task.state in WAITING or (task.question is not None and not task.is_playing)
    return task.is_running and not waits and not waits_for_person(task)


def _asks_for_plan(task: TaskFacts) -> bool:
    return any(
        0 < number <= len(NUMBERED) and NUMBERED[number - 1][0] is Scope.PLAN
        for number in task.asked_ceilings
    )
