"""Errors of a call that was wrong: nothing was touched."""

from musician.protocol.arguments import as_argument
from musician.protocol.errors.families import CallerError


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
    """The plan differs from the one that was locked (DESIGN 7). ``path`` is its file."""

    def __init__(self, *, plan_id: str, path: str, difference: str) -> None:
        self.plan_id, self.path, self.difference = plan_id, path, difference
        super().__init__(
            f"plan {plan_id!r} was changed after it was locked",
            remedy=f"take the change up with `musician plan amend {as_argument(path)}`",
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
            " ([ceilings] in .musician/config.toml, or `budget` in the plan;"
            " of a locked plan, `musician plan amend` takes it up)",
        )
