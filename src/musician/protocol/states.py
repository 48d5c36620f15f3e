"""The ten states of a task and the groups the rules speak of (DESIGN 3)."""

from enum import StrEnum


class State(StrEnum):
    """The values of the column ``state`` in ``orchestration_tasks``."""

    WATCHING = "watching"
    WORKING = "working"
    NEEDS_REVIEW = "needs_review"
    REVIEW_APPROVED = "review_approved"
    REVIEW_FAILED = "review_failed"
    FIX_PROPOSED = "fix_proposed"
    ERROR = "error"
    EXIT_REQUESTED = "exit_requested"
    EXITED = "exited"
    COMPLETE = "complete"


TERMINAL = frozenset({State.EXITED, State.COMPLETE})
"""A session writes nothing after one of these (D1)."""

ACTIVE = frozenset(set(State) - TERMINAL - {State.WATCHING})
"""A session is, or was last, at work on the task."""

CLAIMABLE = frozenset({State.WATCHING, State.FIX_PROPOSED, State.EXIT_REQUESTED})
"""The sources' guard clause: a claim succeeds only from these."""

WAITING = frozenset({State.NEEDS_REVIEW, State.ERROR})
"""The owner waits for the conductor's verdict."""

VERDICTS = frozenset({State.REVIEW_APPROVED, State.REVIEW_FAILED, State.FIX_PROPOSED})
"""What a conductor may answer to a submission or a report."""
