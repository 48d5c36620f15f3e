"""The settings: all that a user may change, within which bounds, and the relations between the numbers.

A :class:`Settings` object is always valid: each value has its type and is within its bounds, and the relations that the
rules rely on hold (a heartbeat is refreshed before it counts as stale, a handoff is prepared before the exit is due).
This module does not read the file: it turns a mapping, as a TOML reader returns it, into settings, or raises one
:class:`WrongSettings` that names ``section.key``. Names end with their unit: ``_s`` seconds, ``_pct`` percent,
``_lines`` lines of code; a number without a unit is a count. Texts and yes-or-no settings have no unit either.

Each section of the file is a class, and its docstring names the decisions that its numbers come from.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, get_args, get_origin, get_type_hints

from musician.protocol.errors import WrongSettings
from musician.protocol.values import dataclass

_BRIEFEST_S = 0.01
_LONGEST_S = 7 * 86_400.0
_MOST_OF_ANYTHING = 1_000
_MOST_LINES = 1_000_000
_MOST_TOKENS = 1_000_000_000
_MOST_USED_TOKENS = 1_000_000_000_000
_MOST_USED_USD = 1_000_000
_MOST_USED_S = 366 * 86_400.0
_MOST_TEXT_CHARS = 2_000
_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", re.ASCII)

Value = float | str
"""Of a setting. A whole number is a float here, too, as is yes or no."""


class _Bounds(NamedTuple):
    """The bounds of one setting. ``least`` and ``most`` are allowed values; of a text, lengths."""

    unit: str
    least: float
    most: float
    meaning: str


class Described(NamedTuple):
    """One row of the settings' reference; ``name`` is ``section.key``, ``unit`` "" for a count and for yes or no."""

    name: str
    default: Value
    unit: str
    least: float
    most: float
    meaning: str


def _seconds(meaning: str) -> _Bounds:
    return _Bounds("s", _BRIEFEST_S, _LONGEST_S, meaning)


def _percent(meaning: str) -> _Bounds:
    return _Bounds("%", 0, 100, meaning)


def _count(least: int, meaning: str) -> _Bounds:
    return _Bounds("", least, _MOST_OF_ANYTHING, meaning)


def _text(meaning: str) -> _Bounds:
    return _Bounds("characters", 0, _MOST_TEXT_CHARS, meaning)


def _yes_or_no(meaning: str) -> _Bounds:
    return _Bounds("", False, True, meaning)


def _dollars(of: str) -> _Bounds:
    return _Bounds("USD", 0, _MOST_USED_USD, f"what {of} may cost; 0 is no ceiling")


def _tokens(of: str) -> _Bounds:
    return _Bounds("tokens", 0, _MOST_USED_TOKENS, f"{of} may use, read from a cache or not; 0 is no ceiling")


def _turns(of: str) -> _Bounds:
    return _Bounds("", 0, _MOST_LINES, f"answers of models for {of}; 0 is no ceiling")


def _playing(of: str) -> _Bounds:
    return _Bounds("s", 0, _MOST_USED_S, f"{of} may be played, all musicians added up; 0 is no ceiling")


class _Part:
    """A section: checks its own values when it is made."""

    __slots__ = ()
    section: ClassVar[str]

    def __post_init__(self) -> None:
        for key, (kind, bounds) in _specification(self.section).items():
            _raise_all(_wrong(f"{self.section}.{key}", getattr(self, key), kind, bounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat(_Part):
    """Signs of life (D10)."""

    section: ClassVar[str] = "heartbeat"
    refresh_after_s: Annotated[float, _seconds("a heartbeat older than this is refreshed")] = 480.0
    stale_after_s: Annotated[float, _seconds("from this age on its owner counts as gone")] = 540.0
    skew_tolerance_s: Annotated[float, _Bounds("s", 0, 60, "so far ahead of the clock is rounding")] = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conductor(_Part):
    """The conductor's own row (D13)."""

    section: ClassVar[str] = "conductor"
    beat_every_s: Annotated[float, _seconds("how often the conductor shows that it lives")] = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(_Part):
    """Watchers: the slow look that stands behind the wake-up, and patience with the conductor (D11)."""

    section: ClassVar[str] = "waiting"
    timeout_s: Annotated[float, _seconds("a wait this long looks at the conductor's heartbeat")] = 900.0
    background_poll_s: Annotated[float, _seconds("how often a working musician looks by itself")] = 15.0
    pause_poll_s: Annotated[float, _seconds("how often a waiting musician looks by itself")] = 10.0
    limit_s: Annotated[float, _seconds("for a provider that limits an agent and does not say how long")] = (
        300.0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(_Part):
    """The context budget (D15, REF-3)."""

    section: ClassVar[str] = "context"
    economy_from_pct: Annotated[float, _percent("used: estimate before reads, weigh the way ahead")] = 50.0
    handoff_from_pct: Annotated[float, _percent("used: finish the step, prepare the HANDOFF, warn")] = 65.0
    exit_from_pct: Annotated[float, _percent("used: stop and exit")] = 75.0
    ask_from_pct: Annotated[float, _percent("projected at the checkpoint: ask the conductor")] = 70.0
    pause_over_pct: Annotated[float, _percent("projected at the checkpoint: above it, pause")] = 80.0
    default_agent_cost_pct: Annotated[
        float, _Bounds("%", 0.1, 100, "what a subagent costs until the session knows its own average")
    ] = 8.0
    self_correction_factor: Annotated[
        float, _Bounds("times", 1, 100, "how much dearer subagents get after a self-correction")
    ] = 6.0
    window_tokens: Annotated[
        int, _Bounds("tokens", 0, _MOST_TOKENS, "the context window; 0 takes what the agent reports")
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation(_Part):
    """Subagents (D19)."""

    section: ClassVar[str] = "delegation"
    keep_from_lines: Annotated[
        int, _Bounds("lines", 1, _MOST_LINES, "work of this size on is not delegated")
    ] = 500
    retries: Annotated[int, _count(0, "how often a failed subagent is tried again")] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts(_Part):
    """How a model that is prompted piece by piece is to work; by default as the sources have it."""

    section: ClassVar[str] = "prompts"
    subagent_model: Annotated[
        str, _text("the model of delegated pieces; empty: opus with claude, else that of the task")
    ] = ""
    test_first: Annotated[bool, _yes_or_no("tests are written first where the work allows it")] = True
    style: Annotated[
        str, _text("how a musician is to work, in your words; empty: sparing, strict, asking in doubt")
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(_Part):
    """The limits after which a person must decide (D1, D3, D18)."""

    section: ClassVar[str] = "limits"
    error_retries: Annotated[int, _count(1, "error reports of a task, all its sessions together")] = 5
    review_rounds: Annotated[int, _count(1, "the round on one checkpoint that goes to a human")] = 5
    sessions_without_progress: Annotated[int, _count(1, "sessions of a task that may end empty-handed")] = 3


_DAY = "one day (UTC), of all plans here,"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings(_Part):
    """What agents may use before nothing more is played (``protocol/rules/ceilings``); over all sessions and runs."""

    section: ClassVar[str] = "ceilings"
    task_cost_usd: Annotated[float, _dollars("one task")] = 0.0
    plan_cost_usd: Annotated[float, _dollars("a plan")] = 0.0
    day_cost_usd: Annotated[float, _dollars(_DAY)] = 0.0
    task_tokens: Annotated[int, _tokens("one task")] = 0
    plan_tokens: Annotated[int, _tokens("a plan")] = 0
    day_tokens: Annotated[int, _tokens(_DAY)] = 0
    task_turns: Annotated[int, _turns("one task")] = 0
    plan_turns: Annotated[int, _turns("a plan")] = 0
    day_turns: Annotated[int, _turns(_DAY)] = 0
    task_time_s: Annotated[float, _playing("one task")] = 0.0
    plan_time_s: Annotated[float, _playing("a plan")] = 0.0
    day_time_s: Annotated[float, _playing(_DAY)] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Time(_Part):
    """How long one thing may take."""

    section: ClassVar[str] = "time"
    step_limit_s: Annotated[float, _seconds("a piece that plays longer counts as lost")] = 3600.0
    verification_limit_s: Annotated[float, _seconds("a verification that runs longer cannot run")] = 1800.0
    review_limit_s: Annotated[float, _seconds("a reviewing agent that takes longer gives no verdict")] = (
        1800.0
    )
    shutdown_grace_s: Annotated[float, _seconds("from the request to end to the kill")] = 2.0
    busy_timeout_s: Annotated[float, _seconds("how long a write waits for the database")] = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage(_Part):
    """Coverage of changed lines (D16)."""

    section: ClassVar[str] = "coverage"
    least_pct: Annotated[float, _percent("below it, coverage is improved before anything is reported")] = 80.0
    target_pct: Annotated[float, _percent("below it, the report says so")] = 90.0
    explain_drop_pct: Annotated[float, _percent("a drop by more points than this is explained")] = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity(_Part):
    """Testing the tests: new and changed ones against the code as it was (D16).

    A test that passes there is named in any case. By default that holds a checkpoint back only when not one of them
    fails there, so that tests of older behaviour may come along with a change; 100 demands it of each, 0 of none.
    """

    section: ClassVar[str] = "validity"
    least_failing_pct: Annotated[
        float, _percent("of new and changed tests, so many must fail on the code as it was")
    ] = 1.0
    limit_s: Annotated[
        float, _seconds("a run of tests on the code as it was that takes longer tells nothing")
    ] = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees(_Part):
    """What becomes of working trees and branches (D32)."""

    section: ClassVar[str] = "trees"
    keep: Annotated[bool, _yes_or_no("trees and branches of a complete plan stay until `musician clean`")] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify(_Part):
    """How a person who is not looking is told. Nothing is sent anywhere by default."""

    section: ClassVar[str] = "notify"
    terminal: Annotated[bool, _yes_or_no("ring the bell of the run's terminal and set its title")] = False
    desktop: Annotated[bool, _yes_or_no("by notify-send or osascript, where there is one")] = False
    command: Annotated[str, _text("a command that gets each message as JSON on standard input")] = ""
    webhook: Annotated[str, _text("an address that each message is posted to as JSON")] = ""
    quiet: Annotated[str, _text("from when to when nothing is told, local time, as 22:00-07:00")] = ""
    every_s: Annotated[float, _Bounds("s", 60, _LONGEST_S, "at most one message in this time")] = 60.0

    def __post_init__(self) -> None:
        _Part.__post_init__(self)
        _raise_all(self._odd())

    def _odd(self) -> Iterator[WrongSettings]:
        if self.quiet and _HOURS.fullmatch(self.quiet) is None:
            yield WrongSettings(name="notify.quiet", reason='must be two times, as in "22:00-07:00"')
        if self.webhook and not self.webhook.startswith(("http://", "https://")):
            yield WrongSettings(
                name="notify.webhook", reason="must be an address that begins with http:// or https://"
            )

    def is_quiet(self, minute: int) -> bool:
        """Whether nothing is told at a ``minute`` of the day, from 0."""
        hours = _HOURS.fullmatch(self.quiet)
        if hours is None:
            return False
        begins, ends = (60 * int(hours[each]) + int(hours[each + 1]) for each in (1, 3))
        return begins <= minute < ends if begins <= ends else minute >= begins or minute < ends


_STRICTLY_BELOW = (
    ("heartbeat.refresh_after_s", "heartbeat.stale_after_s"),
    ("conductor.beat_every_s", "heartbeat.stale_after_s"),
    ("waiting.background_poll_s", "waiting.timeout_s"),
    ("waiting.pause_poll_s", "waiting.timeout_s"),
    ("context.economy_from_pct", "context.handoff_from_pct"),
    ("context.handoff_from_pct", "context.exit_from_pct"),
    ("context.economy_from_pct", "context.ask_from_pct"),
    ("context.ask_from_pct", "context.pause_over_pct"),
    ("coverage.least_pct", "coverage.target_pct"),
)
"""Each first value must be below its second."""

_WITHIN = tuple(
    (f"ceilings.task_{measure}", f"ceilings.{scope}_{measure}")
    for measure in ("cost_usd", "tokens", "turns", "time_s")
    for scope in ("plan", "day")
)
"""Each first value must not be above its second, where both are ceilings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings; ``Settings()`` has the defaults. A relation that fails is :class:`WrongSettings`."""

    heartbeat: Heartbeat = field(default_factory=Heartbeat)
    conductor: Conductor = field(default_factory=Conductor)
    waiting: Waiting = field(default_factory=Waiting)
    context: Context = field(default_factory=Context)
    delegation: Delegation = field(default_factory=Delegation)
    prompts: Prompts = field(default_factory=Prompts)
    limits: Limits = field(default_factory=Limits)
    ceilings: Ceilings = field(default_factory=Ceilings)
    time: Time = field(default_factory=Time)
    coverage: Coverage = field(default_factory=Coverage)
    validity: Validity = field(default_factory=Validity)
    trees: Trees = field(default_factory=Trees)
    notify: Notify = field(default_factory=Notify)

    def __post_init__(self) -> None:
        _raise_all(self._at_odds())

    def _at_odds(self) -> Iterator[WrongSettings]:
        for lower, upper in _STRICTLY_BELOW:
            if not self._value(lower) < self._value(upper):
                reason = f"{self._value(lower):g} must be below {upper} ({self._value(upper):g})"
                yield WrongSettings(name=lower, reason=reason)
        for lower, upper in _WITHIN:
            if self._value(upper) and self._value(lower) > self._value(upper):
                reason = f"{self._value(lower):g} must not be above {upper} ({self._value(upper):g})"
                yield WrongSettings(name=lower, reason=reason)
        # A watcher refreshes at its first look after the refresh age: that look must come before staleness.
        margin_s = self.heartbeat.stale_after_s - self.heartbeat.refresh_after_s
        for name in ("waiting.background_poll_s", "waiting.pause_poll_s"):
            if not self._value(name) < margin_s:
                yield WrongSettings(
                    name=name,
                    reason=f"{self._value(name):g} must be below heartbeat.stale_after_s"
                    f" - heartbeat.refresh_after_s ({margin_s:g})",
                )

    def _value(self, name: str) -> float:
        section, key = name.split(".")
        return float(getattr(getattr(self, section), key))


_PARTS: dict[str, type[_Part]] = {
    part.section: part
    for part in (
        Heartbeat,
        Conductor,
        Waiting,
        Context,
        Delegation,
        Prompts,
        Limits,
        Ceilings,
        Time,
        Coverage,
        Validity,
        Trees,
        Notify,
    )
}


def from_mapping(mapping: Mapping[str, object]) -> Settings:
    """Settings from a parsed TOML file: tables of values; what is not named keeps its default.

    Raises :class:`WrongSettings` with ``name`` ``section`` or ``section.key``: of the first, and ``reason`` of all.
    """
    _raise_all(_wrong_in(mapping))
    made = {section: _PARTS[section](**table) for section, table in mapping.items()}  # type: ignore[arg-type]
    return Settings(**made)  # type: ignore[arg-type]  # each value is of the class its section names


def _wrong_in(mapping: Mapping[str, object]) -> Iterator[WrongSettings]:
    for section, table in mapping.items():
        if section not in _PARTS:
            yield WrongSettings(name=section, reason=f"unknown, the sections are {', '.join(_PARTS)}")
        elif not isinstance(table, Mapping):
            yield WrongSettings(name=section, reason=f"must be a table, not {_kind_of(table)}")
        else:
            known = _specification(section)
            for key, value in table.items():
                name = f"{section}.{key}"
                if key not in known:
                    yield WrongSettings(name=name, reason=f"unknown, there are {', '.join(known)}")
                else:
                    yield from _wrong(name, value, *known[key])


def _raise_all(found: Iterable[WrongSettings]) -> None:
    """One error that says all that is wrong; nothing where nothing is."""
    errors = tuple(found)
    if errors:
        also = (f"setting {each.name}: {each.reason}" for each in errors[1:])
        raise WrongSettings(name=errors[0].name, reason="; ".join((errors[0].reason, *also)))


def describe() -> tuple[Described, ...]:
    """Every setting with its default, in the order of this file: the source of the reference in the docs."""
    return tuple(
        Described(f"{section}.{key}", getattr(part(), key), *bounds)
        for section, part in _PARTS.items()
        for key, (_, bounds) in _specification(section).items()
    )


@cache
def _specification(section: str) -> dict[str, tuple[type, _Bounds]]:
    """Key -> (its type, bounds), read off the annotations so that each setting is written down once."""
    hints = get_type_hints(_PARTS[section], include_extras=True)
    return {key: get_args(hint) for key, hint in hints.items() if get_origin(hint) is Annotated}


def _wrong(name: str, value: object, kind: type, bounds: _Bounds) -> Iterator[WrongSettings]:
    is_kind = (
        isinstance(value, str) if kind is str else isinstance(value, int if kind is int else int | float)
    )
    if isinstance(value, bool) is not (kind is bool) or not is_kind:
        yield WrongSettings(name=name, reason=f"must be {_WANTED[kind]}, not {_kind_of(value)}")
    elif not bounds.least <= _size(value) <= bounds.most:  # NaN fails both comparisons
        span = f"{bounds.least:,.10g} to {bounds.most:,.10g} {bounds.unit}".rstrip()
        yield WrongSettings(name=name, reason=f"must be {span}")


def _size(value: Any) -> float:
    return len(value) if isinstance(value, str) else value


_WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def _kind_of(value: object) -> str:
    return {bool: "true or false", str: "a text", float: "a fraction", int: "a number"}.get(
        type(value), f"a {type(value).__name__}"
    )
