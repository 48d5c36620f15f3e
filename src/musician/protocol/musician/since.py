"""The facts since the last submission: what made the way rough (D14), and what was done for each rejected point.

They are folded from the journal like :class:`musician.protocol.journal.Progress`. So a session that resumes, and a
session by hand, count what happened before them exactly as the session in which it happened.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field

from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.corrections import corrections_in
from musician.protocol.messages.feedback import numbered_answer, points_of
from musician.protocol.values import dataclass, replace

SENT_BACK = "sent back"
"""The feedback of a rejection without a text."""

IS_RED = "the verification is red"
"""The feedback of a verification that was red and said no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """``reds`` counts the red verifications in a row.

    ``points`` are the points of the rejection that is being mended, ``answers`` the agent's answers by number, and
    ``mended_in`` the items played for them.
    """

    failed_verifications: int = 0
    reds: int = 0
    errors: int = 0
    lacks: bool = False
    """The last entry says that the plan lacks something. An error report about that is no fault of the work."""
    agent_retries: int = 0
    self_corrected: bool = False
    points: tuple[str, ...] = ()
    answers: Mapping[int, str] = field(default_factory=dict)
    mended_in: tuple[str, ...] = ()
    feedback: str = ""
    """The text of the rejection until it is mended; "" if correction steps mend it (D17)."""
    is_red: bool = False
    """This session's last verification was red, and it has mended nothing since. Its successor verifies anew first."""

    def after(self, entries: Iterable[Entry]) -> "Since":
        """Return the facts after further entries. A submission or its approval starts anew, and who is started over.

        A person's verdict settles everything before it, as it does deviations (D17).
        """
        since = self
        for entry in entries:
            lacked, since = since.lacks, replace(since, lacks=entry.kind is EntryKind.UNPLAYABLE)
            match entry.kind:
                case EntryKind.SUBMITTED | EntryKind.APPROVED | EntryKind.STARTED_OVER:
                    since = Since()
                case EntryKind.NOTE if entry.judged_by_person:
                    since = replace(since, failed_verifications=0, reds=0, errors=0, agent_retries=0)
                    since = replace(since, self_corrected=False)
                case EntryKind.NOT_VERIFIED:
                    failed = since.failed_verifications + 1
                    since = replace(since, failed_verifications=failed, reds=since.reds + 1, is_red=True)
                case EntryKind.VERIFIED:
                    since = replace(since, reds=0, is_red=False)
                case EntryKind.CLAIMED:
                    since = replace(since, is_red=False)
                case EntryKind.WAIVED:
                    since = replace(since, is_red=False, feedback="")
                case EntryKind.ERROR:
                    since = replace(since, errors=since.errors + (not lacked), reds=0)
                case EntryKind.RETRIED:
                    since = replace(since, agent_retries=since.agent_retries + 1)
                case EntryKind.SELF_CORRECTION:
                    since = replace(since, self_corrected=True)
                case EntryKind.SENT_BACK:
                    feedback = "" if corrections_in(entry.text, 0) else entry.text or SENT_BACK
                    points = points_of(entry.text)
                    since = replace(since, points=points, answers={}, mended_in=(), feedback=feedback)
                case EntryKind.ANSWER:
                    since = replace(since, answers={**since.answers, **numbered_answer(entry.text)})
                case EntryKind.REWORKED | EntryKind.COMPLETED | EntryKind.RETURNED:
                    if entry.kind is EntryKind.REWORKED:
                        since = replace(since, is_red=False, feedback="")
                    mended_in = (*since.mended_in, entry.item) if since.points else ()
                    since = replace(since, mended_in=mended_in)
                case _:
                    pass
        return since
