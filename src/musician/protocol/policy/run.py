"""One program that a shell would run, and what it prints, as far as that can be known without running it."""

import re
from collections.abc import Sequence
from posixpath import basename, join, normpath

from musician.protocol.values import dataclass

UNKNOWN = "\0"
"""Stands in a word for what cannot be known; a real argument never contains it."""

PATTERN = re.compile(r"[*?\[]")
"""What a shell takes for the names of files."""

_PASSING = frozenset({"cat", "sort", "uniq", "head", "tail", "tee", "sed", "tac"})
_NARROWING = re.compile(
    r"-(?:i?name|i?path|i?wholename|i?regex|newer\w*|[acm](?:min|time)|size|empty|perm|user|group)$"
)
_EXPRESSION = re.compile(r"-(?![HLP]$|O\d$|D$)|[!(]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One program. ``program`` is its bare name, with :data:`UNKNOWN` in it where that cannot be known.

    ``cwd`` is an absolute folder or begins with :data:`UNKNOWN`. ``given`` is its standard input, as far as it is
    known. ``writes`` are its redirections' targets as written; ``sets`` what its environment is given: ``NAME=value``.
    """

    program: str
    arguments: tuple[str, ...]
    cwd: str
    given: str = UNKNOWN
    writes: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()


def resolved(path: str, cwd: str) -> str:
    """A path as an absolute one, ``..`` taken away by its text; one that begins with what is unknown stays."""
    return path if path.startswith(UNKNOWN) else normpath(join(cwd, path))


def name_of(field: str) -> str:
    """The bare name of a program; unknown where a pattern or a variable decides."""
    name = basename(field)
    if PATTERN.search(name) and name not in ("[", "[["):
        return UNKNOWN
    return UNKNOWN if UNKNOWN in name else name.removesuffix(".exe")


def printed_by(run: Run) -> str | None:
    """Return what a program prints; None of one that is not known here."""
    program, arguments = run.program, run.arguments
    plain = [argument for argument in arguments if argument[:1] != "-"]
    match program, arguments[:1]:
        case "echo", _:
            return " ".join(arguments[arguments[:1] in (("-n",), ("-e",)) :])
        case "printf", _:
            return " ".join(arguments[len(arguments) > 1 :]).replace("\\n", "\n")
        case "find", _:
            return "\n".join(found_by(arguments))
        case "git", ("ls-files",):
            return "\n".join(_tracked_by(arguments[1:]))
        case "git", ("ls-tree",):
            return "\n".join(_tracked_by(plain[2:]))
        case "rg", _ if "--files" in arguments:
            return "\n".join(_tracked_by(arguments))
        case "ls", _:
            return "\n".join(plain) or "./*"
        case "grep", _:
            return "\n".join(f"{line}/{UNKNOWN}" for line in run.given.splitlines())
        case "mktemp", _:
            return f"/tmp/{UNKNOWN}"  # noqa: S108  # a place, where nothing is made by us
        case (("which" | "command" | "type"), _):
            return " ".join(plain)
    return run.given if program in _PASSING else None


def found_by(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return what ``find`` finds: all of its folders, or something within them."""
    expression = next((at for at, word in enumerate(arguments) if _EXPRESSION.match(word)), len(arguments))
    folders = [word for word in arguments[:expression] if not word.startswith("-")] or ["."]
    padded = ("", *arguments, "", "")
    is_narrow = any(
        _NARROWING.match(word) and before not in ("!", "-not") and value != "*" and after != "-prune"
        for before, word, value, after in zip(padded, padded[1:], padded[2:], padded[3:], strict=False)
    )
    return tuple(join(folder, UNKNOWN) if is_narrow else folder for folder in folders)


def _tracked_by(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return what ``git ls-files`` and ``rg --files`` list: all of the folders given, or something by a pattern."""
    given = [word for word in arguments if not word.startswith("-")]
    return tuple(UNKNOWN if PATTERN.search(word) else word for word in given) or (".",)
