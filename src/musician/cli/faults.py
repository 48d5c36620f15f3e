"""Turns every error into one line on standard error and an exit code (DESIGN 8, B36).

The line says what happened and how to mend it. Details that need lines of their own (the problems of a plan, a
difference) come before it. A traceback is shown only with MUSICIAN_DEBUG=1.
"""

import contextlib
import errno
import os
import sys

import click

from musician.interruption import INTERRUPTED
from musician.processes.output import printable
from musician.protocol.errors import InvalidPlan, MusicianError, PlanChanged

FAILED = 1
USAGE = 2
INTERNAL = 70
BROKEN_PIPE = 141
"""The exit code that a shell reports for a program ended by SIGPIPE."""
_OF_OUTPUT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""The errors of writing to an open file. Any other error without a path need not be about the output."""
_MOST_DIFFERENCE = 200
"""How many lines of a plan's difference are shown."""


def explain(error: BaseException) -> int:
    """Print the error on standard error and return the exit code."""
    while isinstance(error, BaseExceptionGroup):  # a task group wraps even a single error
        ours = [each for each in error.exceptions if isinstance(each, MusicianError)]
        error = (ours or error.exceptions)[0]
    if isinstance(
        error.__cause__, KeyboardInterrupt
    ):  # a class that is being made wraps even a Ctrl-C (Python 3.11)
        error = error.__cause__
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.UsageError():
            _complain(_usage(error))
            return USAGE
        case click.ClickException():
            _complain(error.format_message())
            return error.exit_code
        case KeyboardInterrupt() | click.Abort():
            return INTERRUPTED
        case MusicianError():
            _say(_details(error))
            _complain(_closing(error))
            return error.exit_code
        case BrokenPipeError():
            _forget_output()
            return BROKEN_PIPE
        case OSError():
            _debug(error)
            _complain(_system_error(error))
            return FAILED
        case _:
            return _internal(error)


def _usage(error: click.UsageError) -> str:
    command = error.ctx.command_path if error.ctx is not None else "musician"
    return f"{error.format_message().rstrip('.')}: see `{command} --help`"


def _details(error: MusicianError) -> str:
    if isinstance(error, InvalidPlan) and len(error.problems) > 1:
        return "\n".join(error.problems)
    if not isinstance(error, PlanChanged):
        return ""
    lines = error.difference.splitlines()
    rest = [f"(and {len(lines) - _MOST_DIFFERENCE} more lines)"] if len(lines) > _MOST_DIFFERENCE else []
    return "\n".join([*lines[:_MOST_DIFFERENCE], *rest])


def _closing(error: MusicianError) -> str:
    if isinstance(error, InvalidPlan) and len(error.problems) > 1:
        return f"{len(error.problems)} problems: {error.remedy}"
    return str(error)


def _system_error(error: OSError) -> str:
    reason = error.strerror or type(error).__name__
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {reason}: check the path and its permissions"
    if error.errno not in _OF_OUTPUT:
        return f"the system refused something ({reason}): run `musician doctor`; MUSICIAN_DEBUG=1 shows where"
    _forget_output()  # or flushing the rest would fail again when the interpreter ends
    remedy = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "write elsewhere"
    return f"the output cannot be written ({reason}): {remedy} and try again"


def _internal(error: BaseException) -> int:
    _debug(error)
    _complain(
        f"internal error: {type(error).__name__}: {error}: please report it (MUSICIAN_DEBUG=1 shows the traceback)"
    )
    return INTERNAL


def _debug(error: BaseException) -> None:
    if os.environ.get("MUSICIAN_DEBUG") == "1":
        import traceback

        _say("".join(traceback.format_exception(error)).rstrip("\n"))


def _complain(text: str) -> None:
    _say("musician: " + " ".join(printable(text).split()))


def _say(text: str) -> None:
    if not text:
        return
    with contextlib.suppress(OSError, ValueError):  # standard error is closed; the exit code remains
        print(printable(text), file=sys.stderr, flush=True)  # noqa: T201


def _forget_output() -> None:
    """Discard what is still buffered, so that the interpreter's last flush does not fail."""
    if sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
