"""Which programs a shell command runs, with which arguments, and which files its redirections write.

Theory. Walks what :mod:`musician.protocol.policy.shell` read, as a shell would run it, taking every branch: variables
that are set in the command itself are known, and so is what a few programs print; everything else that only a shell
can know becomes :data:`UNKNOWN` within a word. It judges nothing and looks into no program's arguments: that is the
policy's part.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import basename, join, normpath

from musician.protocol.policy.shell import KEYWORDS, TooMuch, read_script
from musician.protocol.policy.syntax import Output, Script, Simple, Subshell, Text, Unknown, Variable, Word

__all__ = ["UNKNOWN", "Run", "found_by", "name_of", "resolved", "runs_of"]

UNKNOWN = "\0"
"""Stands in a word for what cannot be known; a real argument never contains it."""

_MOST_FIELDS = 64
_MOST_RUNS = 10_000
_MOST_VALUE_CHARS = 100_000

_DECLARING = frozenset({"export", "declare", "local", "typeset", "readonly"})
_PASSING = frozenset({"cat", "sort", "uniq", "head", "tail", "tee", "sed", "tac"})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_NARROWING = re.compile(
    r"-(?:i?name|i?path|i?wholename|i?regex|newer\w*|[acm](?:min|time)|size|empty|perm|user|group)$"
)
_GLOB = re.compile(r"[*?\[]")


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


def runs_of(command: str, *, cwd: str, known: Mapping[str, str], nesting: int = 0) -> tuple[Run, ...]:
    """Everything a command line runs, in order. ``known``: its environment, and by a command's text what that prints.

    :class:`TooMuch` where it is longer, deeper or wider than anybody would read.
    """
    walk = _Walk(variables={name: (value,) for name, value in known.items()}, cwd=cwd)
    walk.enter(cwd)
    walk.script(read_script(command, nesting=nesting))
    return tuple(walk.found)


def resolved(path: str, cwd: str) -> str:
    """A path as an absolute one, ``..`` taken away by its text; one that begins with what is unknown stays."""
    return path if path.startswith(UNKNOWN) else normpath(join(cwd, path))


def name_of(field: str) -> str:
    """The bare name of a program; unknown where a pattern or a variable decides."""
    name = basename(field)
    if _GLOB.search(name) and name not in ("[", "[["):
        return UNKNOWN
    return UNKNOWN if UNKNOWN in name else name.removesuffix(".exe")


def found_by(arguments: Sequence[str]) -> str:
    """What ``find`` finds: all of a folder, or something within."""
    start = next((word for word in arguments if not word.startswith("-")), ".")
    return join(start, UNKNOWN) if any(map(_NARROWING.match, arguments)) else start


@dataclass(slots=True)
class _Walk:
    """What is known at one point of a script."""

    variables: dict[str, tuple[str, ...]]
    cwd: str
    found: list[Run] = field(default_factory=list)
    printed: str = UNKNOWN
    """What the last command prints, where that is known."""

    def script(self, script: Script) -> None:
        for each in script:
            if isinstance(each, Subshell):
                self._apart().script(each.script)
                self.printed = UNKNOWN
            else:
                self._simple(each)

    def enter(self, folder: str) -> None:
        self.cwd = folder
        self.variables["PWD"] = self.variables["pwd"] = (folder,)

    def _apart(self) -> "_Walk":
        return _Walk(variables=dict(self.variables), cwd=self.cwd, found=self.found)

    def _simple(self, simple: Simple) -> None:
        for array in simple.arrays:
            before = self.variables.get(array.name, ()) if array.adds else ()
            self.variables[array.name] = (
                *before,
                *(text for word in array.words for text in self._fields(word)),
            )
        words = list(simple.words)
        while words and _plain(words[0]) in KEYWORDS:
            words.pop(0)
        if words and _plain(words[0]) == "function":
            words = [word for word in words[2:] if _plain(word) not in KEYWORDS]
        sets = {}
        while words and (match := _ASSIGNMENT.match(_plain(words[0][:1]))):
            sets[match[1]] = self._assigned(match, words.pop(0))
        fields = [text for word in words for text in self._fields(word)]
        if not fields:
            self.variables.update((name, (value,)) for name, value in sets.items())
        writes = tuple(
            text
            for redirect in simple.redirects
            for text in self._fields(redirect.target)
            if ">" in redirect.operator and not (redirect.operator == ">&" and text.isdigit())
        )
        given = self.printed if simple.piped else UNKNOWN
        if simple.stdin is not None:
            given = "".join(self._fields(simple.stdin, split=False))
        if len(self.found) >= _MOST_RUNS:
            raise TooMuch
        run = Run(
            program=name_of(fields[0]) if fields else "",
            arguments=tuple(fields[1:]),
            cwd=self.cwd,
            given=given,
            writes=writes,
            sets=tuple(f"{name}={value}" for name, value in sets.items()),
        )
        self.found.append(run)
        self._after(run)

    def _assigned(self, match: re.Match[str], word: Word) -> str:
        rest = (Text(_plain(word[:1])[match.end() :]), *word[1:])
        before = " ".join(self.variables.get(match[1], ())) if match[2] else ""
        return before + "".join(self._fields(rest, split=False))

    # -- words ------------------------------------------------------------------------------------------------------

    def _fields(self, word: Word, *, split: bool = True) -> list[str]:
        """What a word becomes: usually one text. ``split`` False: always one."""
        done = [""]
        is_there = False
        for part in word:
            texts = self._texts(part, split=split)
            is_there = is_there or bool(texts)
            if len(done) * max(1, len(texts)) > _MOST_FIELDS:
                raise TooMuch
            if isinstance(part, Text):
                done = [before + text for before in done for text in texts]
            elif texts:
                done = [*done[:-1], done[-1] + texts[0], *texts[1:]]
            if len(done[-1]) > _MOST_VALUE_CHARS:
                raise TooMuch
        return done if is_there or not split else []

    def _texts(self, part: Text | Variable | Output | Unknown, *, split: bool) -> list[str]:
        match part:
            case Text(text, quoted):
                return [text] if quoted or not split else _braced(self._tilde(text))
            case Variable(name, quoted):
                known = self.variables.get(name, (UNKNOWN,))
                return list(known) if quoted else [text for each in known for text in each.split()]
            case Output(script, quoted):
                inner = self._apart()
                inner.script(script)
                text = inner.printed.rstrip("\n") if len(script) == 1 else UNKNOWN
                return [text] if quoted or not split else text.split()
            case _:
                self._apart().script(part.within)
                return [UNKNOWN]

    def _tilde(self, text: str) -> str:
        home = self.variables.get("HOME", (UNKNOWN,))[0]
        return home + text[1:] if text == "~" or text.startswith("~/") else text

    # -- programs ---------------------------------------------------------------------------------------------------

    def _after(self, run: Run) -> None:
        """What a command prints, and what it changes for those after it."""
        program, arguments = run.program, list(run.arguments)
        plain = [argument for argument in arguments if argument[:1] != "-"]
        self.printed = self.variables.get(" ".join((program, *arguments)), (UNKNOWN,))[0]
        if program in ("cd", "pushd"):
            target = plain[0] if plain else self.variables.get("HOME", (UNKNOWN,))[0]
            self.enter(UNKNOWN if "-" in arguments else resolved(target, self.cwd))
        elif program in _DECLARING:
            for name, equals, value in (argument.partition("=") for argument in plain):
                if equals:
                    self.variables[name] = (value,)
        elif program in ("for", "select") and plain:
            self.variables[plain[0]] = tuple(plain[2:]) if len(plain) == len(["x", "in", "y"]) else (UNKNOWN,)
        elif program in ("read", "mapfile", "unset"):
            self.variables.update((name, (run.given.strip() or UNKNOWN,)) for name in plain[-1:])
        elif program == "echo":
            self.printed = " ".join(arguments[arguments[:1] in (["-n"], ["-e"]) :])
        elif program == "printf":
            self.printed = " ".join(arguments[len(arguments) > 1 :]).replace("\\n", "\n")
        elif program == "find":
            self.printed = found_by(arguments)
        elif program == "ls":
            self.printed = "\n".join(plain) or UNKNOWN
        elif program == "grep":
            self.printed = "\n".join(f"{line}/{UNKNOWN}" for line in run.given.splitlines())
        elif program == "mktemp":
            self.printed = f"/tmp/{UNKNOWN}"  # noqa: S108  # a place, where nothing is made by us
        elif program in ("which", "command", "type"):
            self.printed = " ".join(plain)
        elif program in _PASSING:
            self.printed = run.given


def _plain(word: Word) -> str:
    """The text of a word that is one unquoted text; "" for any other."""
    return word[0].text if len(word) == 1 and isinstance(word[0], Text) and not word[0].quoted else ""


def _braced(text: str) -> list[str]:
    """``{a,b}`` as a shell spells it out."""
    done, open_ = [], [text]
    while open_:
        here = open_.pop()
        match = _BRACES.search(here)
        if match is None:
            done.append(here)
            continue
        choices = match[1].split(",")
        open_ += [here[: match.start()] + choice + here[match.end() :] for choice in reversed(choices)]
        if len(done) + len(open_) > _MOST_FIELDS:
            raise TooMuch
    return done
