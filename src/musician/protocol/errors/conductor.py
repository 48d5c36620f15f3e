"""Errors of the conductor, or of the person in its place: the state machine refused the act; the row is as it was."""

from musician.protocol.errors.families import ConductorError


class NotAttachable(ConductorError):
    """A person cannot speak with a task's agent now; ``reason`` is a clause."""

    def __init__(self, *, task_id: str, reason: str, remedy: str) -> None:
        self.task_id, self.reason, self.remedy = task_id, reason, remedy
        super().__init__(f"{task_id}: {reason}", remedy=remedy)


class NoWork(ConductorError):
    """A task has nothing of its own to look at: no branch, or no scratch tree; ``what`` says which."""

    def __init__(self, *, task_id: str, what: str, remedy: str) -> None:
        self.task_id, self.what, self.remedy = task_id, what, remedy
        super().__init__(f"{task_id} has no {what}", remedy=remedy)


class CommitGone(ConductorError):
    """A commit that a change was to be shown from or to is not in the repository any more."""

    def __init__(self, *, commit: str) -> None:
        self.commit = commit
        super().__init__(
            f"commit {commit[:12]} is not in this repository any more: git has cleaned it away",
            remedy="look at the whole change, or at what was merged",
        )


class ScratchTreeInUse(ConductorError):
    """A person's scratch tree has something that is nowhere else; it is not removed or replaced."""

    def __init__(self, *, place: str, held: str) -> None:
        self.place, self.held = place, held
        super().__init__(f"{place} holds {held}", remedy="take out what you need, and delete that folder")


class ProposalDecided(ConductorError):
    """The proposal has been decided already; each is decided once."""

    def __init__(self, *, proposal_id: int, status: str, act: str) -> None:
        self.proposal_id, self.status, self.act = proposal_id, status, act
        super().__init__(
            f"proposal {proposal_id} is {status} already: {act} is not possible",
            remedy=f"`musician proposals show {proposal_id}` says how it was decided",
        )


class StaleVerdict(ConductorError):
    """A verdict on something other than the latest submission or report (D7)."""

    def __init__(self, *, task_id: str, judged: int | None, latest: int | None) -> None:
        self.task_id, self.judged, self.latest = task_id, judged, latest
        super().__init__(
            f"{task_id}: the verdict is on message {judged}, the latest submission is {latest}",
            remedy=f"look at it with `musician review show {task_id}` and judge again",
        )


class AnsweredLate(ConductorError):
    """An answer to a question that is open no more; ``open_id`` is the one that is open now, None if none is."""

    def __init__(self, *, task_id: str, question_id: int | None, open_id: int | None) -> None:
        self.task_id, self.question_id, self.open_id = task_id, question_id, open_id
        now = "nothing is asked now" if open_id is None else f"it asks by message {open_id} now"
        super().__init__(
            f"{task_id}: the question of message {question_id} is open no more, and {now}; nothing was sent",
            remedy=f"`musician messages {task_id}` shows what was asked and answered, `musician send {task_id}`"
            " says something all the same",
        )


class AskedNoMore(ConductorError):
    """An answer to what was settled meanwhile, which would grant something again."""

    def __init__(self, *, task_id: str, kind: str) -> None:
        self.task_id, self.kind = task_id, kind
        super().__init__(
            f"{task_id}: nothing waits any more for an answer about its {kind}; nothing was granted or sent",
            remedy=f"`musician status {task_id}` says how it stands",
        )


class JudgedAlready(ConductorError):
    """A verdict that came too late: somebody else, a person or a rule, has judged the submission."""

    def __init__(self, *, task_id: str, judged: int, verdict: str, message_id: int) -> None:
        self.task_id, self.judged, self.verdict, self.message_id = task_id, judged, verdict, message_id
        super().__init__(
            f"{task_id}: too late, message {judged} was judged already: {verdict}, by message {message_id}",
            remedy=f"that verdict stands; `musician messages {task_id}` shows it",
        )


class NotConducting(ConductorError):
    """Only the session that conducts speaks for the conductor, and it plays nothing."""

    def __init__(self, *, session_id: str, reason: str) -> None:
        self.session_id, self.reason = session_id, reason
        super().__init__(
            f"session {session_id} does not conduct here: {reason}",
            remedy="the user makes a session conduct with /conductor, one that plays no task",
        )


class ConductorTaken(ConductorError):
    """Another session conducts this repository, and lives."""

    def __init__(self, *, session_id: str, since: str, pid: int, host: str) -> None:
        self.session_id, self.since, self.pid, self.host = session_id, since, pid, host
        super().__init__(
            f"session {session_id} conducts here since {since} UTC (process {pid} on {host})",
            remedy="go on there, or end that session first, then call /conductor again",
        )


class StillPlayed(ConductorError):
    """A task is not taken out of its plan, nor a plan put away, while a session owns it."""

    def __init__(self, *, task_id: str, session_id: str) -> None:
        self.task_id, self.session_id = task_id, session_id
        super().__init__(
            f"{task_id} is not free, session {session_id} plays it",
            remedy=f"have it end first with `musician stop {task_id}`, then try again",
        )


class NothingAgain(ConductorError):
    """A task cannot be played again, because of where it stands; ``reason`` is a clause."""

    def __init__(self, *, task_id: str, reason: str, remedy: str) -> None:
        self.task_id, self.reason = task_id, reason
        super().__init__(f"{task_id} is not played again, {reason}", remedy=remedy)


class TaskIsOver(ConductorError):
    """Nobody plays a task that was taken out of its plan or skipped, so nobody would read what is said to it."""

    def __init__(self, *, task_id: str, is_skipped: bool) -> None:
        self.task_id, self.is_skipped = task_id, is_skipped
        how = "was skipped" if is_skipped else "was withdrawn from its plan"
        super().__init__(
            f"{task_id} {how}: nobody would read it, and nothing was sent",
            remedy=f"`musician task retry {task_id} TEXT` has it played after all, and says that to whoever does"
            if is_skipped
            else "put it into the plan again, and `musician plan amend PLAN.md`",
        )


class DependentsWait(ConductorError):
    """Tasks are to be played after one that is to be skipped, and nobody has said what becomes of them."""

    def __init__(self, *, task_id: str, waiting: tuple[str, ...]) -> None:
        self.task_id, self.waiting = task_id, waiting
        super().__init__(
            f"{', '.join(waiting)} {'waits' if len(waiting) == 1 else 'wait'} for {task_id}",
            remedy="skip that too (`--dependents skip`), or have it played without (`--dependents play`)",
        )


class PlanStands(ConductorError):
    """The plan's place in its life does not allow that: what is open is not dropped, nor an archived one locked."""

    def __init__(self, *, plan_id: str, reason: str, remedy: str) -> None:
        self.plan_id, self.reason = plan_id, reason
        super().__init__(f"plan {plan_id!r:.80} {reason}", remedy=remedy)


class ConductorRunning(ConductorError):
    """Another `musician run` conducts this repository (D13)."""

    def __init__(self, *, session_id: str, detail: str) -> None:
        self.session_id, self.detail = session_id, detail
        super().__init__(
            f"a conductor is already running ({detail})",
            remedy="let it end, or end it with Ctrl-C where it runs; `musician status` shows what it does",
        )
