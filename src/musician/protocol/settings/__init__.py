"""The settings: all that a user may change, within which bounds, and the relations between the numbers.

A :class:`Settings` object is always valid: each value has its type and is within its bounds (``bounds``, ``sections``),
and the relations that the rules rely on hold (``whole``: a heartbeat is refreshed before it counts as stale, a handoff
is prepared before the exit is due). Nothing here reads the file: a mapping, as a TOML reader returns it, is turned into
settings, or into one :class:`WrongSettings` that names ``section.key``. Names end with their unit: ``_s`` seconds,
``_pct`` percent, ``_lines`` lines of code; a number without a unit is a count. Texts and yes-or-no settings have no
unit either.
"""

from musician.protocol.settings.sections import *
from musician.protocol.settings.whole import *
