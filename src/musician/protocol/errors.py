"""The errors of this project, named after who must act.

There are four families: :class:`CallerError` (the call was wrong), :class:`SessionError` (the musician's session must
do something else), :class:`ConductorError` (the conductor must act), :class:`OperatorError` (the person who looks after
the machine must act). Code matches on types and fields, never on text. The text is one line with what happened and the
remedy.
"""

from typing import ClassVar

from musician.protocol.refused import done_by, instead_for


class MusicianError(Exception):
    """The base of all errors of this project. ``exit_code`` is that of the command (DESIGN 8)."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, remedy: str) -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(f"{message}: {remedy}")


class CallerError(MusicianError):
    """The call was wrong; nothing was touched."""

    exit_code = 2


class SessionError(MusicianError):
    """The state machine refused a session's act; its row is as it was."""

    exit_code = 4


class ConductorError(MusicianError):
    """The state machine refused a conductor's act; the row is as it was."""

    exit_code = 4


class OperatorError(MusicianError):
    """The database, the repository or the settings cannot be used."""

    exit_code = 2


class BadId(CallerError):
    """An id that may not become a file name, a branch or a key (D8)."""

    def __init__(self, *, kind: str, value: str, reason: str) -> None:
        self.kind, self.value, self.reason = kind, value, reason
        super().__init__(
            f"{value!r:.80} is no {kind} id", remedy=f"use {reason}" if "A-Z" in reason else reason
        )


class NoSession(CallerError):
    """A missing, empty or "null" session id (D8)."""

    def __init__(self, *, value: str | None) -> None:
        self.value = value
        super().__init__("no session id", remedy="name it with --session or MUSICIAN_SESSION")


class UnknownSeverity(CallerError):
    """A deviation that is neither Low, Medium nor High (REF-5)."""

    def __init__(self, *, value: str) -> None:
        self.value = value
        super().__init__(f"{value!r:.80} is no severity", remedy="use Low, Medium or High")


class UnknownTask(CallerError):
    """No row has this id; lookups are exact (D8)."""

    exit_code = 3

    def __init__(self, *, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(f"no task {task_id!r:.80}", remedy="`musician status` lists the tasks")


class UnknownNumber(CallerError):
    """Nothing of this kind has this number."""

    exit_code = 3

    def __init__(self, *, kind: str, number: int, listed_by: str) -> None:
        self.kind, self.number, self.listed_by = kind, number, listed_by
        super().__init__(f"no {kind} {number}", remedy=f"`{listed_by}` shows their numbers")


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


class MissingTool(CallerError):
    """The user has set neither a difftool nor an editor."""

    def __init__(self) -> None:
        super().__init__(
            "neither a difftool nor an editor is set",
            remedy="set one with `git config --global diff.tool NAME` or EDITOR, or use `musician review diff`",
        )


class UnknownPlan(CallerError):
    """No plan with this id is locked here."""

    exit_code = 3

    def __init__(self, *, plan_id: str) -> None:
        self.plan_id = plan_id
        super().__init__(
            f"no plan {plan_id!r:.80} is locked or archived here",
            remedy="`musician plan list` shows those that are",
        )


class UnknownProposal(CallerError):
    """No proposal has this number."""

    exit_code = 3

    def __init__(self, *, proposal_id: int) -> None:
        self.proposal_id = proposal_id
        super().__init__(
            f"no proposal {proposal_id}", remedy="`musician proposals list --all` shows their numbers"
        )


class InvalidPlan(CallerError):
    """A plan or instruction file that cannot be played; ``problems`` are whole lines ``file:line: what``."""

    def __init__(self, *, problems: tuple[str, ...]) -> None:
        self.problems = problems
        head = problems[0] if len(problems) == 1 else f"{len(problems)} problems, the first: {problems[0]}"
        them = "it" if len(problems) == 1 else "them"
        super().__init__(head, remedy=f"mend {them} and run `musician plan check`")


class PlanChanged(CallerError):
    """The plan differs from the one that was locked (DESIGN 7)."""

    def __init__(self, *, plan_id: str, difference: str) -> None:
        self.plan_id, self.difference = plan_id, difference
        super().__init__(
            f"plan {plan_id!r} was changed after it was locked",
            remedy="take the change up with `musician plan amend`",
        )


class BadField(CallerError):
    """A value that a message may not carry; ``field`` is the attribute (D14)."""

    def __init__(self, *, field: str, value: object, reason: str) -> None:
        self.field, self.value, self.reason = field, value, reason
        super().__init__(f"{field} cannot be {value!r:.80}", remedy=reason)


class UnreadableMessage(CallerError):
    """A text that is not the message it should be. ``field`` is the label as written, ``line`` is 1-based."""

    def __init__(self, *, field: str, line: int, reason: str) -> None:
        self.field, self.line, self.reason = field, line, reason
        super().__init__(
            f"line {line} of the message, {field}: {reason}", remedy="mend that line and send it again"
        )


class StatementRefused(CallerError):
    """A foreign SQL statement was refused or failed; nothing of it was kept (B11, B12)."""

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"nothing was done, {reason}",
            remedy="query runs one statement that reads; execute changes your own task's row and adds your messages",
        )


class AgentUnavailable(CallerError):
    """The agent a plan or a command names cannot be played with."""

    def __init__(
        self, *, agent: str, remedy: str = "the agents are shell, claude, codex, opencode and acp:<command>"
    ) -> None:
        self.agent = agent
        super().__init__(f"agent {agent!r:.80} is not available", remedy=remedy)


class PriceUnknown(CallerError):
    """A ceiling of money cannot hold with an agent that does not say what it costs."""

    def __init__(self, *, agent: str) -> None:
        self.agent = agent
        super().__init__(
            f"agent {agent!r:.80} does not say what it costs, so a ceiling in dollars cannot hold",
            remedy="name another with --agent, or set a ceiling of tokens, turns or time instead"
            " ([ceilings] in .musician/config.toml; of a locked plan, `musician plan amend` takes it up)",
        )


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

    def __init__(self, *, task_id: str, state: str, reason: str, owner: str | None = None) -> None:
        self.task_id, self.state, self.reason, self.owner = task_id, state, reason, owner
        ask = ""
        if owner:
            ask = f" or have it handed off with `musician handoff {task_id}`"
        elif state == "exited":
            ask = f" or have it opened for a next session with `musician handoff {task_id}`"
        super().__init__(
            f"{task_id} cannot be claimed ({state}): {reason}",
            remedy=f"this session may end; look with `musician status {task_id}`{ask}",
        )


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


class NoRepository(OperatorError):
    """No git repository here, or no git."""

    def __init__(
        self,
        *,
        path: str,
        reason: str,
        remedy: str = "go into a git repository, or make one with `git init`",
    ) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: {reason}", remedy=remedy)


class GitFailed(OperatorError):
    """A git command that should have worked did not; ``stderr`` is all that git said (D24).

    ``returncode`` is negative when a signal or our time limit ended it.
    """

    SAID_MAX: ClassVar[int] = 1000
    """Of git's message, folded: names of what is in the way, and git's own remedy, stand at its end."""

    def __init__(self, *, argv: tuple[str, ...], returncode: int, stderr: str) -> None:
        self.argv, self.returncode, self.stderr = argv, returncode, stderr
        lines = [line.strip().removeprefix("hint: ") for line in stderr.splitlines()]
        said = "; ".join(line for line in lines if line).replace(":; ", ": ")
        if len(said) > self.SAID_MAX:
            said = f"{said[: self.SAID_MAX // 2]} … {said[-self.SAID_MAX // 2 :]}"
        super().__init__(
            f"git {argv[0] if argv else ''} ended with {returncode} ({said})",
            remedy="mend what git says, then run it again",
        )


class NotInitialised(OperatorError):
    """The repository has no database yet, or the named one does not exist (D25: never a new file)."""

    def __init__(self, *, path: str, named: bool) -> None:
        self.path, self.named = path, named
        super().__init__(
            f"no database at {path}", remedy="name an existing one" if named else "run `musician init` here"
        )


class DatabaseUnusable(OperatorError):
    """The database is corrupt, foreign, locked, read-only or its disk is full; ``kind`` says which."""

    def __init__(self, *, path: str, kind: str, detail: str, remedy: str) -> None:
        self.path, self.kind, self.detail = path, kind, detail
        super().__init__(f"{path}: {detail}", remedy=remedy)


class TreeNotReady(OperatorError):
    """The working tree cannot be used as it is. ``paths`` would be lost, or are in the way."""

    def __init__(self, *, reason: str, paths: tuple[str, ...], remedy: str) -> None:
        self.reason, self.paths = reason, paths
        named = ", ".join(paths[:10]) + (f" and {len(paths) - 10} more" if len(paths) > 10 else "")
        super().__init__(f"{reason} ({named})" if paths else reason, remedy=remedy)


class SandboxUnavailable(OperatorError):
    """A task must be played in a sandbox, and here there can be none."""

    def __init__(self, *, task: str, reason: str) -> None:
        self.task, self.reason = task, reason
        super().__init__(
            f"{task} may only be played in a sandbox, and {reason}",
            remedy="mend that (`musician doctor` looks again), or write `sandbox: auto` and no `network` into the plan",
        )


class WrongSettings(OperatorError):
    """A setting is unknown, out of range, or at odds with another."""

    def __init__(self, *, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"setting {name}: {reason}", remedy="mend .musician/config.toml")


class SettingsUnreadable(OperatorError):
    """A settings file of another program is invalid. ``line`` is 1-based, 0 if there is none."""

    def __init__(self, *, path: str, line: int, reason: str) -> None:
        self.path, self.line, self.reason = path, line, reason
        place = f"{path}:{line}" if line else path
        super().__init__(f"{place}: {reason}", remedy="mend it, then try again; nothing was written")


class UnexpectedInput(MusicianError):
    """An engine got an input that is impossible now. This is a defect of the program that drives it."""

    exit_code = 70

    def __init__(self, *, what: str, mode: str) -> None:
        self.what, self.mode = what, mode
        super().__init__(f"{what} while {mode}", remedy="this is a defect of Musician, please report it")
