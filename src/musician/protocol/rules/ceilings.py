"""Ceilings: how much a task, a plan and a day may use of money, tokens, turns and time (section ``ceilings``, and
what a plan gives one of its tasks as ``budget`` in the place of the setting).

Theory. An :class:`Account` says what was used and what a person has granted besides; a ceiling is the setting and the
grants together. A grant is given to a task and counts for the task, its plan and the day on which it is given, so that
it helps whichever ceiling stands in the way. A ceiling that is 0 is none, and no grant makes one of it.

A ceiling is *reached* when what was used is not below it. That is asked before a musician is launched, before each of
its pieces, and between two messages of its model; so one session uses at most one message too much, and nobody else
begins. What a running task may still use by its own ceiling is *reserved* of the plan's and the day's: another is
launched beside it only if its own fits in as well. Alone, a task is played with what is left.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum

from musician.protocol.errors import BadField
from musician.protocol.settings import Ceilings
from musician.protocol.values import dataclass, replace

_CENT_USD = 0.01


class Scope(StrEnum):
    """What a ceiling is over. A day ends at midnight, UTC, by the database's clock."""

    TASK = "task"
    PLAN = "plan"
    DAY = "day"


class Measure(StrEnum):
    COST = "cost_usd"
    TOKENS = "tokens"
    TURNS = "turns"
    TIME = "time_s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """How much of each measure. Turns are answers of a model; time is that of playing, side by side counted twice."""

    cost_usd: float = 0.0
    tokens: int = 0
    turns: int = 0
    time_s: float = 0.0

    def of(self, measure: Measure) -> float:
        return float(getattr(self, measure))


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    used: Amounts = Amounts()
    granted: Amounts = Amounts()
    budget: Amounts = Amounts()
    """The ceilings that the plan gives a task, in the place of the settings' for one; 0 is none of its own."""


Accounts = Mapping[Scope, Account]
"""Of a task, of its plan, and of the day. What is missing has used nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A ceiling that is set, and what was used of it. ``ceiling`` is that and what was granted.

    ``is_budget``: the plan sets it for this task.
    """

    scope: Scope
    measure: Measure
    used: float
    ceiling: float
    is_budget: bool = False

    @property
    def setting(self) -> str:
        return "the task's budget" if self.is_budget else f"ceilings.{self.scope}_{self.measure}"

    @property
    def share(self) -> str:
        return f"{say_amount(self.measure, self.used)} of {say_amount(self.measure, self.ceiling)}"

    @property
    def number(self) -> int:
        """Its own among all ceilings, from 1."""
        return NUMBERED.index((self.scope, self.measure)) + 1

    @property
    def text(self) -> str:
        what = {Scope.TASK: "it has", Scope.PLAN: "its plan has", Scope.DAY: "this day has"}[self.scope]
        return f"{what} used {self.share} ({self.setting})"


NUMBERED = tuple((scope, measure) for scope in Scope for measure in Measure)
"""Every ceiling; the order is kept in databases, so what is new comes last."""


def say_amount(measure: Measure, amount: float) -> str:
    match measure:
        case Measure.COST:
            return f"${amount:.4f}" if 0 < amount < _CENT_USD else f"${amount:.2f}"
        case Measure.TIME:
            return f"{amount:,.0f} s"
    return f"{amount:,.0f} {measure}"


_UNITS = {"usd": Measure.COST, "tokens": Measure.TOKENS, "turns": Measure.TURNS, "s": Measure.TIME}
_WHOLE = frozenset({Measure.TOKENS, Measure.TURNS})
_EXAMPLES = dict(zip(Measure, ("5usd", "2000000tokens", "50turns", "3600s"), strict=True))
_WRITTEN = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([a-z]+)")


def example_of(number: int) -> str:
    """Return an amount of the measure of the ceiling with this number, as a person writes it."""
    return _EXAMPLES[NUMBERED[(number - 1) % len(NUMBERED)][1]]


def read_amounts(texts: Iterable[str]) -> Amounts:
    """Read what a person grants, such as ``5usd`` or ``40turns``; the same measure twice adds up."""
    found = dict.fromkeys(Measure, 0.0)
    for text in texts:
        written = _WRITTEN.fullmatch(text.strip().lower())
        measure = None if written is None else _UNITS.get(written[2])
        if written is None or measure is None or float(written[1]) <= 0:
            reason = f"write an amount as {', '.join(_EXAMPLES.values())}"
            raise BadField(field="more", value=text, reason=reason)
        if measure in _WHOLE and not float(written[1]).is_integer():
            raise BadField(
                field="more", value=text, reason=f"{measure} are counted whole: write {_EXAMPLES[measure]}"
            )
        found[measure] += float(written[1])
    return Amounts(
        cost_usd=found[Measure.COST],
        tokens=int(found[Measure.TOKENS]),
        turns=int(found[Measure.TURNS]),
        time_s=found[Measure.TIME],
    )


def write_amounts(amounts: Amounts) -> tuple[str, ...]:
    """Write amounts as :func:`read_amounts` reads them."""
    written = (
        (f"{amounts.of(measure):.6f}".rstrip("0").rstrip("."), unit) for unit, measure in _UNITS.items()
    )
    return tuple(f"{number}{unit}" for number, unit in written if number != "0")


def within_budget(accounts: Accounts, budget: Amounts) -> Accounts:
    """Return the accounts of a task to which its plan gives a budget."""
    return {**accounts, Scope.TASK: replace(accounts.get(Scope.TASK, Account()), budget=budget)}


def bounds_of(accounts: Accounts, ceilings: Ceilings) -> Iterator[Bound]:
    """Yield each ceiling that is set, the narrowest first."""
    for scope, measure in NUMBERED:
        account = accounts.get(scope, Account())
        if set_to := _set_to(account, ceilings, scope, measure):
            yield Bound(
                scope=scope,
                measure=measure,
                used=account.used.of(measure),
                ceiling=set_to + account.granted.of(measure),
                is_budget=account.budget.of(measure) > 0,
            )


def reached(accounts: Accounts, ceilings: Ceilings) -> Bound | None:
    """Return the ceiling that leaves nothing, the narrowest first; None where all leave something."""
    return next((each for each in bounds_of(accounts, ceilings) if each.used >= each.ceiling), None)


def fits_beside(accounts: Accounts, at_work: Collection[Account], ceilings: Ceilings) -> bool:
    """Whether a task may be launched beside those ``at_work``; of one whose ceilings leave something."""
    if not at_work:
        return True
    own = accounts.get(Scope.TASK, Account())
    return all(
        _left(accounts.get(scope, Account()), ceilings, scope, measure)
        - sum(_reserved(each, ceilings, measure) for each in at_work)
        >= _reserved(own, ceilings, measure)
        for scope, measure in NUMBERED
        if scope is not Scope.TASK and _set_to(accounts.get(scope, Account()), ceilings, scope, measure)
    )


def measures_of(ceilings: Ceilings, *budgets: Amounts) -> frozenset[Measure]:
    """Return what any ceiling, or one of these budgets, is set for."""
    accounts = [Account(), *(Account(budget=budget) for budget in budgets)]
    return frozenset(
        measure
        for scope, measure in NUMBERED
        if any(_set_to(account, ceilings, scope, measure) for account in accounts)
    )


def left_of(measure: Measure, accounts: Accounts, ceilings: Ceilings) -> Iterator[float]:
    """Yield what each ceiling of a measure leaves."""
    for scope in Scope:
        account = accounts.get(scope, Account())
        if _set_to(account, ceilings, scope, measure):
            yield _left(account, ceilings, scope, measure)


def _reserved(account: Account, ceilings: Ceilings, measure: Measure) -> float:
    """What a task may still use by its own ceiling; without one nothing is known, and nothing reserved."""
    if not _set_to(account, ceilings, Scope.TASK, measure):
        return 0.0
    return max(0.0, _left(account, ceilings, Scope.TASK, measure))


def _left(account: Account, ceilings: Ceilings, scope: Scope, measure: Measure) -> float:
    return _set_to(account, ceilings, scope, measure) + account.granted.of(measure) - account.used.of(measure)


def _set_to(account: Account, ceilings: Ceilings, scope: Scope, measure: Measure) -> float:
    return account.budget.of(measure) or float(getattr(ceilings, f"{scope}_{measure}"))
