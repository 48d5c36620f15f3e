"""What a shell command consists of, before anything is expanded or run."""

from dataclasses import dataclass

__all__ = [
    "Array",
    "Output",
    "Part",
    "Redirect",
    "Script",
    "Simple",
    "Subshell",
    "Text",
    "Unknown",
    "Variable",
    "Word",
]


@dataclass(frozen=True, slots=True)
class Text:
    """Characters as they are."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """``$name``, ``${name}`` or ``${name[@]}``."""

    name: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """What the script prints stands here: ``$(…)``, a backquoted command, ``<(…)``."""

    script: "Script"
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """Only a shell can work it out: arithmetic, ``${x%y}``, ``$@``. ``within``: what it runs on the way."""

    within: "Script" = ()


Part = Text | Variable | Output | Unknown
Word = tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """``name=(…)``, or ``name+=(…)``, which ``adds``."""

    name: str
    words: tuple[Word, ...]
    adds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    operator: str
    target: Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Simple:
    """One command, keywords included. ``stdin``: its here-document or here-string. ``piped``: it reads what the
    command before it prints."""

    words: tuple[Word, ...] = ()
    arrays: tuple[Array, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    stdin: Word | None = None
    piped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subshell:
    """``(…)``: what it changes of variables and of the current folder is forgotten after it."""

    script: "Script"


Script = tuple[Simple | Subshell, ...]
