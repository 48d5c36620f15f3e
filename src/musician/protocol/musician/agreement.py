"""The agreement of a session and its conductor about a context that runs out (D15), folded from the journal.

If a context warning is approved, the session goes on as far as it proposed; if it is changed, up to the next
checkpoint. There, or once the agreed pieces are played, the session hands off.
"""

import re
from collections.abc import Iterable

from musician.protocol.journal import Entry, EntryKind
from musician.protocol.values import dataclass, replace

_TO_CHECKPOINT = "to the checkpoint, then hand off"
_PIECES = re.compile(r"([0-9]{1,6}) more, then hand off", re.ASCII)


def granted_text(pieces: int | None) -> str:
    """Return the agreement as the journal has it. None stands for all pieces up to the checkpoint."""
    return _TO_CHECKPOINT if pieces is None else f"{pieces} more, then hand off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """While it ``holds``, only ``exit_from_pct`` can end the session earlier than agreed.

    ``pieces`` is how many are left to play, None up to the checkpoint. ``reached`` is the reason for exiting, once the
    agreed point is reached.
    """

    holds: bool = False
    pieces: int | None = None
    reached: str = ""

    def after(self, entries: Iterable[Entry]) -> "Agreement":
        """Return the agreement after further entries. Each claim begins without one."""
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
