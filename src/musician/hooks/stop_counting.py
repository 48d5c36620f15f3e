"""One attempt to stop, so that it is counted once and seen as one of a row."""

import hashlib
import json
import os
import time

from musician.hooks.measure import open_transcript
from musician.service import Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.event import HookEvent

_TAIL_BYTES = 1_048_576
_TOOL = b'"tool_use"'


def this_stop(event: "HookEvent") -> Stop:
    """The attempt that an event reports."""
    size, tool_mark = _transcript(event.transcript_path)
    said = json.dumps([event.raw, size], sort_keys=True).encode()
    return Stop(
        seen=hashlib.sha256(said).hexdigest(),
        is_continued=event.raw.get("stop_hook_active") is True,
        tool_mark=tool_mark,
        started_s=_started_s(),
        now_s=time.clock_gettime(time.CLOCK_BOOTTIME),
    )


def _transcript(path: "str | None") -> "tuple[int, int]":
    """Its size, and where in it the last tool call stands; 0 where there is none in its last part."""
    try:
        with open_transcript(path or "") as file:
            size = os.fstat(file.fileno()).st_size
            start = max(0, size - _TAIL_BYTES)
            file.seek(start)
            at = file.read(_TAIL_BYTES).rfind(_TOOL)
    except OSError:
        return 0, 0
    return size, start + at if at >= 0 else 0


def _started_s() -> float:
    """When this process was started, rounded up to the tick in which that was; now where the system does not say."""
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return (ticks + 1) / os.sysconf("SC_CLK_TCK")
