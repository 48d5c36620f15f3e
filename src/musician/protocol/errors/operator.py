"""Errors of the machine: the person who looks after it must act, because the database, the repository or the settings
cannot be used."""

from typing import ClassVar

from musician.protocol.errors.families import OperatorError


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


class ExtraMissing(OperatorError):
    """``what`` needs packages that are installed on demand; ``command`` installs them for this program."""

    def __init__(self, *, what: str, command: str) -> None:
        self.what, self.command = what, command
        super().__init__(f"{what} needs packages that are not installed", remedy=command)


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
