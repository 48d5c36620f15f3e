"""The result of one check of ``plugin check`` or ``doctor``."""

from enum import StrEnum

from musician.protocol.values import dataclass


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What a check ``found``, and the ``remedy`` ("" if none is needed)."""

    check: str
    level: Level
    found: str
    remedy: str = ""
