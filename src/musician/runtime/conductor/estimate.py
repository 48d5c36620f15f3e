"""Whether a self-correction has made the way to the next checkpoint too dear, as the conductor sees it (D17).

What a session has used, and what a piece costs it, stands in its submission; what lies ahead, in the plan. An answer
to it is any verdict given since, and any answer to a context warning.
"""

from musician import service
from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.messages.submissions import Submission
from musician.protocol.musician.program import Program
from musician.protocol.rules.budget import breaks_estimate
from musician.protocol.settings import Settings
from musician.service import TaskView

_ANSWERED = frozenset({EntryKind.APPROVED, EntryKind.SENT_BACK, EntryKind.CONTEXT})


def is_estimate_broken(view: TaskView, program: Program, submitted: Submission, settings: Settings) -> bool:
    """Of the session that submitted; False where it did not measure its context."""
    each_pct, checkpoint = submitted.agents_remaining.each_pct, submitted.checkpoint
    if each_pct is None or checkpoint is None or not _has_corrected_itself(view):
        return False
    entries = map(service.as_entry, view.journal)
    approved = Entry(kind=EntryKind.APPROVED, item=f"checkpoint {checkpoint.number}")
    ahead = program.pieces_to_checkpoint(Progress().after([*entries, approved]))
    cost_pct = (
        each_pct / settings.context.self_correction_factor
    )  # a submission tells what a piece costs by now
    return breaks_estimate(submitted.context_usage_pct, ahead, (cost_pct,), settings)


def _has_corrected_itself(view: TaskView) -> bool:
    """Whether its latest session has, and nobody has answered since."""
    corrected = False
    for row in view.journal:
        if row.kind == EntryKind.SELF_CORRECTION:
            corrected = row.claim_epoch == view.row.claim_epoch
        elif row.kind in _ANSWERED:
            corrected = False
    return corrected
