"""What a session and its conductor have agreed on, of a context that runs out (D15): a fold over the journal.

A warning that is approved goes on as far as it proposed, one that is changed as far as the next checkpoint; there, or
once the pieces agreed on are played, the session hands off.
"""

import re
from collections.abc import Iterable

from musician.protocol.journal import Entry, EntryKind
from musician.protocol.values import dataclass, replace

_TO_CHECKPOINT = "to the checkpoint, then hand off"
_PIECES = re.compile(r"([0-9]{1,6}) more, then hand off", re.ASCII)


def granted_text(pieces: int | None) -> str:
    """As the journal says it; None is as far as the checkpoint."""
    return _TO_CHECKPOINT if pieces is None else f"{pieces} more, then hand off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """While it ``holds`` only ``exit_from_pct`` ends the session before what was agreed.

    ``pieces`` are left to play, None as far as the checkpoint. ``reached`` is why the session is to leave, once it is.
    """

    holds: bool = False
    pieces: int | None = None
    reached: str = ""

    def after(self, entries: Iterable[Entry]) -> "Agreement":
        """This and some more entries; each claim begins with none."""
        agreed = self
        for entry in entries:
            match entry.kind:
                case EntryKind.CLAIMED:
                    agreed = Agreement()
                case EntryKind.GRANTED:
                    found = _PIECES.fullmatch(entry.text)
                    agreed = Agreement(holds=True, pieces=int(found[1]) if found else None)
                case EntryKind.COMPLETED | EntryKind.RETURNED | EntryKind.REWORKED if agreed.pieces:
                    agreed = replace(agreed, pieces=agreed.pieces - 1)
                    if not agreed.pieces:
                        agreed = replace(
                            agreed, reached="context exhaustion (handoff after the pieces agreed on)"
                        )
                case EntryKind.APPROVED if agreed.holds:
                    agreed = Agreement(reached="context exhaustion (handoff at the checkpoint, as agreed)")
                case _:
                    pass
        return agreed
