"""What one check found, and how to mend it."""

from enum import StrEnum

from musician.protocol.values import dataclass


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``remedy`` is "" where nothing is to be mended."""

    check: str
    level: Level
    found: str
    remedy: str = ""
