"""What one check found, and how to mend it."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Level"]


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
