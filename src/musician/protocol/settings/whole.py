"""The settings as a whole: the relations between their numbers, and how they are read and described."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

from musician.protocol.errors import WrongSettings
from musician.protocol.settings.bounds import Section, Value, kind_of, raise_all, wrong
from musician.protocol.settings.sections import (
    Ceilings,
    Conductor,
    Context,
    Coverage,
    Delegation,
    Heartbeat,
    Limits,
    Notify,
    Prompts,
    Time,
    Trees,
    Validity,
    Waiting,
)
from musician.protocol.values import dataclass

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
        raise_all(self._at_odds())

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


class Described(NamedTuple):
    """One row of the settings' reference; ``name`` is ``section.key``, ``unit`` "" for a count and for yes or no."""

    name: str
    default: Value
    unit: str
    least: float
    most: float
    meaning: str


_SECTIONS: dict[str, type[Section]] = Settings.__annotations__


def from_mapping(mapping: Mapping[str, object]) -> Settings:
    """Settings from a parsed TOML file: tables of values; what is not named keeps its default.

    Raises :class:`WrongSettings` with ``name`` ``section`` or ``section.key``: of the first, and ``reason`` of all.
    """
    raise_all(_wrong_in(mapping))
    made = {section: _SECTIONS[section](**table) for section, table in mapping.items()}  # type: ignore[arg-type]
    return Settings(**made)  # type: ignore[arg-type]  # each value is of the class its section names


def _wrong_in(mapping: Mapping[str, object]) -> Iterator[WrongSettings]:
    for section, table in mapping.items():
        if section not in _SECTIONS:
            yield WrongSettings(name=section, reason=f"unknown, the sections are {', '.join(_SECTIONS)}")
        elif not isinstance(table, Mapping):
            yield WrongSettings(name=section, reason=f"must be a table, not {kind_of(table)}")
        else:
            known = _SECTIONS[section].specification()
            for key, value in table.items():
                name = f"{section}.{key}"
                if key not in known:
                    yield WrongSettings(name=name, reason=f"unknown, there are {', '.join(known)}")
                else:
                    yield from wrong(name, value, *known[key])


def describe() -> tuple[Described, ...]:
    """Every setting with its default, in the order of this file: the source of the reference in the docs."""
    return tuple(
        Described(f"{section}.{key}", getattr(kind(), key), *bounds)
        for section, kind in _SECTIONS.items()
        for key, (_, bounds) in kind.specification().items()
    )
