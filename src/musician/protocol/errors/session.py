"""Errors of a musician's session: the state machine refused its act, and it must do something else."""

from musician.protocol.errors.families import SessionError
from musician.protocol.errors.refused import done_by, instead_for


class IllegalEvent(SessionError):
    """The table has no row for this event in this state.

    The table's own names are for programs: the text says what was tried, and the command to give instead.
    """

    def __init__(
        self, *, task_id: str, state: str | None, event: str, actor: str, allowed: tuple[str, ...]
    ) -> None:
        self.task_id, self.state, self.event, self.actor, self.allowed = task_id, state, event, actor, allowed
        super().__init__(
            f"{task_id} is {state or 'not there'} and cannot be {done_by(event)}",
            remedy=instead_for(task_id, state, is_owner=actor == "the owner"),
        )


class ClaimBlocked(SessionError):
    """The task has a live owner, is not claimable, or has no instruction (D2, D4).

    ``owner`` is the session that owns it, None if there is none.
    """

    exit_code = 5

    def __init__(
        self, *, task_id: str, state: str, reason: str, owner: str | None = None, remedy: str = ""
    ) -> None:
        self.task_id, self.state, self.reason, self.owner = task_id, state, reason, owner
        ask = ""
        if owner:
            ask = f" or have it handed off with `musician handoff {task_id}`"
        elif state == "exited":
            ask = f" or have it opened for a next session with `musician handoff {task_id}`"
        super().__init__(
            f"{task_id} cannot be claimed ({state}): {reason}",
            remedy=remedy or f"this session may end; look with `musician status {task_id}`{ask}",
        )


class PlanPaused(ClaimBlocked):
    """A person has paused the task's plan: nothing of it is claimed before it goes on.

    ``since`` is UTC, ``said`` who has paused it, since when and why, as a clause.
    """

    def __init__(
        self, *, task_id: str, state: str, plan_id: str, who: str, since: str, why: str, said: str
    ) -> None:
        self.plan_id, self.who, self.since, self.why, self.said = plan_id, who, since, why, said
        remedy = f"this session may end; to let the plan go on: `musician plan resume {plan_id}`"
        super().__init__(task_id=task_id, state=state, reason=f"plan {plan_id} is {said}", remedy=remedy)


class ClaimLost(SessionError):
    """The claim is not the task's current one: it was fenced, has ended, or was never made (D2)."""

    def __init__(self, *, task_id: str, session_id: str, epoch: int | None, current_epoch: int) -> None:
        self.task_id, self.session_id = task_id, session_id
        self.epoch, self.current_epoch = epoch, current_epoch
        held = "no live claim" if epoch is None else f"claim {epoch}"
        super().__init__(
            f"session {session_id} holds {held} on {task_id}, which is at claim {current_epoch}",
            remedy="write nothing more and end; a successor has the task or will get it",
        )


class WhichTask(SessionError):
    """The call names no task, and the session has no live claim or several. ``had`` are all tasks it ever claimed."""

    def __init__(self, *, session_id: str, held: tuple[str, ...], had: tuple[str, ...]) -> None:
        self.session_id, self.held, self.had = session_id, held, had
        if held:
            what, remedy = f"owns {', '.join(held)}", "leave all but one: `musician exit TASK`"
        elif had:
            what = f"owns nothing any more, {had[0]} has ended or been taken over"
            remedy = "write nothing more and end; a successor has the task or will get it"
        else:
            what, remedy = "owns no task", "claim one with `musician claim TASK`"
        super().__init__(f"session {session_id} {what}", remedy=remedy)


class BeyondClaim(SessionError):
    """A session's own SQL touched a row that it may not change; everything was rolled back (D6)."""

    def __init__(self, *, session_id: str, what: str) -> None:
        self.session_id, self.what = session_id, what
        super().__init__(
            f"nothing was done, session {session_id} may not {what}",
            remedy="change only your own task's row, and send only your own messages on it",
        )


class EvidenceMissing(SessionError):
    """A guard of the table does not hold, for example because a submission has no fresh verification."""

    def __init__(self, *, task_id: str, missing: str, remedy: str) -> None:
        self.task_id, self.missing = task_id, missing
        super().__init__(f"{task_id}: {missing}", remedy=remedy)


class NotGreen(EvidenceMissing):
    """A checkpoint was verified and may not be reported; ``failing`` has many lines: all that holds it back (D16).

    ``reported`` is the message by which the conductor was told, once it was red too often (D29); ``left``: that was
    the last that the task is allowed, and the session has handed off (D3).
    """

    def __init__(
        self,
        *,
        task_id: str,
        item: str,
        found: str,
        failing: str,
        reported: int | None = None,
        left: bool = False,
    ) -> None:
        self.item, self.found, self.failing = item, found, failing
        self.reported, self.left = reported, left
        remedy = "mend it and run `musician checkpoint` again"
        if reported is not None:
            remedy = f"message {reported} tells the conductor: `musician wait {task_id}`, then do as it says"
        if left:
            remedy = "its retries are used up and the session has handed off: write nothing more"
        super().__init__(task_id=task_id, missing=f"{item} is not green: {found}", remedy=remedy)


class NotConductor(SessionError):
    """A musician's session tried what only the conductor may (D21)."""

    def __init__(self, *, session_id: str, act: str) -> None:
        self.session_id, self.act = session_id, act
        super().__init__(
            f"session {session_id!r:.80} is a musician's and may not {act}",
            remedy="leave it to the conductor, or to a person",
        )
