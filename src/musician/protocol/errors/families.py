"""The base of all errors, its four families, and the defect that no caller can act on."""

from typing import ClassVar


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


class UnexpectedInput(MusicianError):
    """An engine got an input that is impossible now. This is a defect of the program that drives it."""

    exit_code = 70

    def __init__(self, *, what: str, mode: str) -> None:
        self.what, self.mode = what, mode
        super().__init__(f"{what} while {mode}", remedy="this is a defect of Musician, please report it")
