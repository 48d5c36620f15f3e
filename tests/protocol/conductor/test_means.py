"""Ceilings at the conductor: who is launched, who waits, who is asked (``protocol/conductor/means``)."""

from dataclasses import replace

from musician.protocol.conductor import acts
from musician.protocol.conductor import engine as c
from musician.protocol.conductor.orchestra import Orchestra, Reviewer, TaskFacts
from musician.protocol.rules.ceilings import NUMBERED, Account, Accounts, Amounts, Measure, Scope
from musician.protocol.rules.liveness import Owner
from musician.protocol.settings import Ceilings, Settings
from musician.protocol.states import State
from tests.protocol.conductor.facts import kept, reviewing, task

SETTINGS = Settings(ceilings=Ceilings(task_turns=10, plan_turns=25, day_turns=100))


def decide(*tasks: TaskFacts, jobs: int = 4) -> tuple[acts.Act, ...]:
    return c.decide(Orchestra(tasks=tasks, jobs=jobs, settings=SETTINGS))


def turns(*, task: int = 0, plan: int = 0, day: int = 0) -> Accounts:
    used = {Scope.TASK: task, Scope.PLAN: plan, Scope.DAY: day}
    return {scope: Account(used=Amounts(turns=number)) for scope, number in used.items()}


def number(scope: Scope) -> int:
    return NUMBERED.index((scope, Measure.TURNS)) + 1


def ask(task_id: str, scope: Scope, text: str) -> acts.AskHuman:
    return acts.AskHuman(task_id=task_id, kind="budget", subject_id=number(scope), text=text)


def test_a_task_at_its_ceiling_is_left_to_a_person_and_the_others_are_played() -> None:
    """CEIL-4."""
    spent = task("task-01", accounts=turns(task=10, plan=10))
    other = task("task-02", accounts=turns(plan=10))
    text = "it has used 10 turns of 10 turns (ceilings.task_turns)"
    assert decide(spent, other) == (ask("task-01", Scope.TASK, text), acts.Launch(task_id="task-02"))
    asked = replace(spent, has_open_ask=True, asked_ceilings=frozenset({number(Scope.TASK)}))
    assert decide(asked) == (acts.Standstill(),)


def test_of_a_plans_ceiling_one_person_is_asked_once_beside_one_task_for_all() -> None:
    """CEIL-4: in one look, and in the next."""
    first, second = (task(name, accounts=turns(plan=25)) for name in ("task-01", "task-02"))
    text = "its plan has used 25 turns of 25 turns (ceilings.plan_turns)"
    assert decide(first, second) == (ask("task-01", Scope.PLAN, text),)
    asked = replace(first, has_open_ask=True, asked_ceilings=frozenset({number(Scope.PLAN)}))
    assert decide(asked, second) == (acts.Standstill(),)
    playing = task("task-03", State.WORKING, owner=Owner.LIVE, is_running=True)
    assert decide(asked, second, playing) == ()
    about_itself = replace(asked, asked_ceilings=frozenset({number(Scope.TASK)}))
    assert decide(about_itself, second) == (ask("task-02", Scope.PLAN, text),)


def test_a_days_ceiling_asks_nobody_and_is_waited_for() -> None:
    """CEIL-5: the run goes on by itself, and does not stand still."""
    held = task("task-01", accounts=turns(day=100))
    assert decide(held) == ()
    assert decide(held, jobs=0) == ()
    assert decide(replace(held, accounts=turns(day=0))) == (acts.Launch(task_id="task-01"),)


def test_what_is_launched_in_one_look_is_reserved_before_the_next() -> None:
    """CEIL-3: 25 for the plan and 10 for each: two of four, and a third when what they have used leaves room."""
    fresh = [task(f"task-0{each}", accounts=turns()) for each in (1, 2, 3, 4)]
    assert decide(*fresh) == (acts.Launch(task_id="task-01"), acts.Launch(task_id="task-02"))
    first, second = (replace(kept(each.task_id), accounts=turns(plan=12)) for each in fresh[:2])
    rest = [replace(each, accounts=turns(plan=12)) for each in fresh[2:]]
    assert decide(first, second, *rest) == ()
    done = task("task-01", State.COMPLETE, is_merged=True)
    working = replace(kept("task-02"), accounts=turns(task=7, plan=12))
    assert decide(done, working, *rest) == (acts.Launch(task_id="task-03"),)
    waiting = replace(second, has_open_ask=True)  # as its place, what it may use is not kept for it meanwhile
    assert decide(done, waiting, *rest) == (acts.Launch(task_id="task-03"),)
    last = task("task-04", accounts=turns(plan=24))
    assert decide(done, last) == (acts.Launch(task_id="task-04"),), "alone, with what is left"


def test_a_reviewing_agent_is_not_asked_where_the_ceiling_is_reached() -> None:
    """CEIL-6: it would use more; a person is asked, or the day is waited for."""
    waiting = reviewing(reviewer=Reviewer.AGENT)
    assert decide(replace(waiting, accounts=turns(task=9, plan=9))) == (
        acts.AskReviewer(task_id="task-01", message_id=7),
    )
    text = "it has used 10 turns of 10 turns (ceilings.task_turns)"
    assert decide(replace(waiting, accounts=turns(task=10, plan=10))) == (ask("task-01", Scope.TASK, text),)
    assert decide(replace(waiting, accounts=turns(day=100))) == ()
    by_rule = reviewing(accounts=turns(task=10, plan=10))
    assert isinstance(decide(by_rule)[0], acts.Judge), "what costs nothing goes on"


def test_what_is_at_its_ceiling_takes_no_place_of_another() -> None:
    held = task("task-01", accounts=turns(task=10))
    free = task("task-02", accounts=turns())
    assert acts.Launch(task_id="task-02") in decide(held, free, jobs=1)
    assert decide(kept("task-03"), held, free, jobs=1) == ()


def test_after_a_limit_one_musician_is_launched_with_its_agent_and_others_with_theirs() -> None:
    """LIMIT-5: the rest once it was given something, or when it has ended, or waits for a person."""
    first, second = (task(name, unproven="claude") for name in ("task-01", "task-02"))
    other = task("task-03", unproven="codex")
    assert decide(first, second, other) == (acts.Launch(task_id="task-01"), acts.Launch(task_id="task-03"))
    probing = replace(kept("task-01"), unproven="claude")
    assert decide(probing, second) == ()
    assert decide(replace(probing, has_open_ask=True), second) == (acts.Launch(task_id="task-02"),)
    by_hand = replace(probing, is_running=False)
    assert decide(by_hand, second) == (acts.Launch(task_id="task-02"),)
    assert decide(kept("task-01"), task("task-02")) == (acts.Launch(task_id="task-02"),)


def test_an_agent_is_asked_for_an_opinion_only_where_its_account_is_given_something() -> None:
    """LIMIT-7: nor beside another that asks first; the musician that waits for the opinion is no such one."""
    asked = (acts.AskReviewer(task_id="task-01", message_id=7),)
    waiting = reviewing(reviewer=Reviewer.AGENT)
    assert decide(waiting) == asked
    assert decide(replace(waiting, is_limited=True)) == (), "and it is waited for"
    assert decide(replace(waiting, is_refused=True)) == ()
    first = replace(waiting, unproven="claude")
    assert decide(first, task("task-02", unproven="claude")) == asked
    assert decide(replace(kept("task-02"), unproven="claude"), first) == ()
    assert decide(replace(kept("task-02"), unproven="codex"), first) == asked
    wondering = replace(kept("task-02"), unproven="claude", question=(9, "which?"), is_answered_by_agent=True)
    answered = (acts.AskAnswerer(task_id="task-02", message_id=9, text="which?"),)
    assert decide(replace(wondering, is_running=False)) == answered
    assert decide(replace(wondering, is_running=False, is_limited=True)) == ()
