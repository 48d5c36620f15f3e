"""All that a user may change, section by section, with each one's default and meaning.

Each section of the file is a class, and its docstring names the decisions that its numbers come from.
"""

import re
from collections.abc import Iterator
from typing import Annotated

from musician.protocol.errors import WrongSettings
from musician.protocol.settings.bounds import (
    LONGEST_S,
    MOST_LINES,
    MOST_TOKENS,
    Bounds,
    Section,
    count,
    dollars,
    percent,
    playing,
    raise_all,
    seconds,
    text,
    tokens,
    turns,
    yes_or_no,
)
from musician.protocol.values import dataclass

_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat(Section):
    """Signs of life (D10)."""

    refresh_after_s: Annotated[float, seconds("a heartbeat older than this is refreshed")] = 480.0
    stale_after_s: Annotated[float, seconds("from this age on its owner counts as gone")] = 540.0
    skew_tolerance_s: Annotated[float, Bounds("s", 0, 60, "so far ahead of the clock is rounding")] = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conductor(Section):
    """The conductor's own row (D13)."""

    beat_every_s: Annotated[float, seconds("how often the conductor shows that it lives")] = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Section):
    """Watchers: the slow look that stands behind the wake-up, and patience with the conductor (D11)."""

    timeout_s: Annotated[float, seconds("a wait this long looks at the conductor's heartbeat")] = 900.0
    background_poll_s: Annotated[float, seconds("how often a working musician looks by itself")] = 15.0
    pause_poll_s: Annotated[float, seconds("how often a waiting musician looks by itself")] = 10.0
    limit_s: Annotated[float, seconds("for a provider that limits an agent and does not say how long")] = (
        300.0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Section):
    """The context budget (D15, REF-3)."""

    economy_from_pct: Annotated[float, percent("used: estimate before reads, weigh the way ahead")] = 50.0
    handoff_from_pct: Annotated[float, percent("used: finish the step, prepare the HANDOFF, warn")] = 65.0
    exit_from_pct: Annotated[float, percent("used: stop and exit")] = 75.0
    ask_from_pct: Annotated[float, percent("projected at the checkpoint: ask the conductor")] = 70.0
    pause_over_pct: Annotated[float, percent("projected at the checkpoint: above it, pause")] = 80.0
    default_agent_cost_pct: Annotated[
        float, Bounds("%", 0.1, 100, "what a subagent costs until the session knows its own average")
    ] = 8.0
    self_correction_factor: Annotated[
        float, Bounds("times", 1, 100, "how much dearer subagents get after a self-correction")
    ] = 6.0
    window_tokens: Annotated[
        int, Bounds("tokens", 0, MOST_TOKENS, "the context window; 0 takes what the agent reports")
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation(Section):
    """Subagents (D19)."""

    keep_from_lines: Annotated[
        int, Bounds("lines", 1, MOST_LINES, "work of this size on is not delegated")
    ] = 500
    retries: Annotated[int, count(0, "how often a failed subagent is tried again")] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts(Section):
    """How a model that is prompted piece by piece is to work; by default as the sources have it."""

    subagent_model: Annotated[
        str, text("the model of delegated pieces; empty: opus with claude, else that of the task")
    ] = ""
    test_first: Annotated[bool, yes_or_no("tests are written first where the work allows it")] = True
    style: Annotated[
        str, text("how a musician is to work, in your words; empty: sparing, strict, asking in doubt")
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Section):
    """The limits after which a person must decide (D1, D3, D18)."""

    error_retries: Annotated[int, count(1, "error reports of a task, all its sessions together")] = 5
    review_rounds: Annotated[int, count(1, "the round on one checkpoint that goes to a human")] = 5
    sessions_without_progress: Annotated[int, count(1, "sessions of a task that may end empty-handed")] = 3


_DAY = "one day (UTC), of all plans here,"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings(Section):
    """What agents may use before nothing more is played (``protocol/rules/ceilings``); over all sessions and runs."""

    task_cost_usd: Annotated[float, dollars("one task")] = 0.0
    plan_cost_usd: Annotated[float, dollars("a plan")] = 0.0
    day_cost_usd: Annotated[float, dollars(_DAY)] = 0.0
    task_tokens: Annotated[int, tokens("one task")] = 0
    plan_tokens: Annotated[int, tokens("a plan")] = 0
    day_tokens: Annotated[int, tokens(_DAY)] = 0
    task_turns: Annotated[int, turns("one task")] = 0
    plan_turns: Annotated[int, turns("a plan")] = 0
    day_turns: Annotated[int, turns(_DAY)] = 0
    task_time_s: Annotated[float, playing("one task")] = 0.0
    plan_time_s: Annotated[float, playing("a plan")] = 0.0
    day_time_s: Annotated[float, playing(_DAY)] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Time(Section):
    """How long one thing may take."""

    step_limit_s: Annotated[float, seconds("a piece that plays longer counts as lost")] = 3600.0
    verification_limit_s: Annotated[float, seconds("a verification that runs longer cannot run")] = 1800.0
    review_limit_s: Annotated[float, seconds("a reviewing agent that takes longer gives no verdict")] = 1800.0
    shutdown_grace_s: Annotated[float, seconds("from the request to end to the kill")] = 2.0
    busy_timeout_s: Annotated[float, seconds("how long a write waits for the database")] = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage(Section):
    """Coverage of changed lines (D16)."""

    least_pct: Annotated[float, percent("below it, coverage is improved before anything is reported")] = 80.0
    target_pct: Annotated[float, percent("below it, the report says so")] = 90.0
    explain_drop_pct: Annotated[float, percent("a drop by more points than this is explained")] = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity(Section):
    """Testing the tests: new and changed ones against the code as it was (D16).

    A test that passes there is named in any case. By default that holds a checkpoint back only when not one of them
    fails there, so that tests of older behaviour may come along with a change; 100 demands it of each, 0 of none.
    """

    least_failing_pct: Annotated[
        float, percent("of new and changed tests, so many must fail on the code as it was")
    ] = 1.0
    limit_s: Annotated[
        float, seconds("a run of tests on the code as it was that takes longer tells nothing")
    ] = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees(Section):
    """What becomes of working trees and branches (D32)."""

    keep: Annotated[bool, yes_or_no("trees and branches of a complete plan stay until `musician clean`")] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify(Section):
    """How a person who is not looking is told. Nothing is sent anywhere by default."""

    terminal: Annotated[bool, yes_or_no("ring the bell of the run's terminal and set its title")] = False
    desktop: Annotated[bool, yes_or_no("by notify-send or osascript, where there is one")] = False
    command: Annotated[str, text("a command that gets each message as JSON on standard input")] = ""
    webhook: Annotated[str, text("an address that each message is posted to as JSON")] = ""
    quiet: Annotated[str, text("from when to when nothing is told, local time, as 22:00-07:00")] = ""
    every_s: Annotated[float, Bounds("s", 60, LONGEST_S, "at most one message in this time")] = 60.0

    def __post_init__(self) -> None:
        Section.__post_init__(self)
        raise_all(self._odd())

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
