"""The few settings that a hook needs before it knows whether it has anything to do.

A settings file that changes nothing, as ``musician init`` writes it, is not parsed: the defaults stand here, and a
test holds them against the settings' own.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.hook_context import HookContext

_MOST_BYTES = 100_000


class Numbers:
    """``thresholds_pct`` are economy, handoff and exit (D15); ``window_tokens`` is 0 where the model's own counts."""

    __slots__ = ("beat_every_s", "refresh_after_s", "thresholds_pct", "window_tokens")

    def __init__(
        self,
        *,
        refresh_after_s: float = 480.0,
        beat_every_s: float = 60.0,
        thresholds_pct: "tuple[float, float, float]" = (50.0, 65.0, 75.0),
        window_tokens: int = 0,
    ) -> None:
        self.refresh_after_s, self.beat_every_s = refresh_after_s, beat_every_s
        self.thresholds_pct, self.window_tokens = thresholds_pct, window_tokens


def numbers_of(context: "HookContext") -> Numbers:
    """The repository's own, or the defaults. :class:`WrongSettings` as everywhere."""
    if context.tree is None or not _says_something(os.path.join(context.tree, ".musician", "config.toml")):
        return Numbers()
    settings = context.settings
    thresholds = settings.context
    return Numbers(
        refresh_after_s=settings.heartbeat.refresh_after_s,
        beat_every_s=settings.conductor.beat_every_s,
        thresholds_pct=(thresholds.economy_from_pct, thresholds.handoff_from_pct, thresholds.exit_from_pct),
        window_tokens=thresholds.window_tokens,
    )


def _says_something(path: str) -> bool:
    """Whether a settings file has a line that is neither empty, a comment nor a heading."""
    try:
        with open(path, "rb") as file:
            lines = file.read(_MOST_BYTES).split(b"\n")
    except OSError:
        return os.path.exists(path)
    return any(line.strip() and not line.lstrip().startswith((b"#", b"[")) for line in lines)
