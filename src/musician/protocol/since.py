"""What made the path to a submission rough, counted since the one before it (D14).

A fold over the journal like :class:`musician.protocol.journal.Progress`, so that a session that resumes, or one that
is played by hand, scores what happened before it as the session that lived through it would have.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from musician.protocol.journal import Entry, Kind

__all__ = ["Since"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    failed_verifications: int = 0
    errors: int = 0
    agent_retries: int = 0
    self_corrected: bool = False

    def after(self, entries: Iterable[Entry]) -> "Since":
        """This and some more entries; a submission or its approval starts anew."""
        since = self
        for entry in entries:
            match entry.kind:
                case Kind.SUBMITTED | Kind.APPROVED:
                    since = Since()
                case Kind.NOT_VERIFIED:
                    since = replace(since, failed_verifications=since.failed_verifications + 1)
                case Kind.ERROR:
                    since = replace(since, errors=since.errors + 1)
                case Kind.RETRIED:
                    since = replace(since, agent_retries=since.agent_retries + 1)
                case Kind.SELF_CORRECTION:
                    since = replace(since, self_corrected=True)
                case _:
                    pass
        return since
