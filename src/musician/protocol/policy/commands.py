"""Which programs a shell command runs, with which arguments, and which files its redirections write.

Theory. Walks what :mod:`musician.protocol.policy.shell` read, as a shell would run it, taking every branch: variables
that are set in the command itself are known, and so is what ``echo`` prints; everything else that only a shell can
know becomes :data:`UNKNOWN` within a word. Programs whose work is to run another (``env``, ``sudo``, ``timeout``,
``xargs``, ``sh -c``, ``find -exec``, ``eval``) are looked through, so that what stands in a :class:`Run` is what is
really run. It judges nothing: that is the policy's part.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from posixpath import basename, join, normpath

from musician.protocol.policy.shell import KEYWORDS, TooMuch, read_script
from musician.protocol.policy.syntax import Output, Script, Simple, Subshell, Text, Unknown, Variable, Word

__all__ = ["UNKNOWN", "Run", "resolved", "runs_of"]

UNKNOWN = "\0"
"""Stands in a word for what cannot be known; a real argument never contains it."""

_MOST_FIELDS = 64
_MOST_RUNS = 2_000

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"})
_DECLARING = frozenset({"export", "declare", "local", "typeset", "readonly"})
_SCRIPT_AFTER_C = frozenset({"su", "script", "flock", "runuser"})
_FEEDING = frozenset({"xargs", "parallel"})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_GLOB = re.compile(r"[*?\[]")
_JOINED = re.compile(r"-[A-Za-z]*c[A-Za-z]*")

_WRAPPERS: Mapping[str, tuple[frozenset[str], int]] = {
    "builtin": (frozenset(), 0),
    "busybox": (frozenset(), 0),
    "chroot": (frozenset({"--userspec", "--groups"}), 1),
    "chrt": (frozenset({"-T", "-P", "-D"}), 1),
    "command": (frozenset(), 0),
    "doas": (frozenset({"-u", "-C"}), 0),
    "env": (frozenset({"-u", "--unset", "-C", "--chdir"}), 0),
    "exec": (frozenset({"-a"}), 0),
    "flock": (frozenset({"-w", "--timeout", "-E"}), 1),
    "ionice": (frozenset({"-c", "-n", "--class", "--classdata"}), 0),
    "nice": (frozenset({"-n", "--adjustment"}), 0),
    "nohup": (frozenset(), 0),
    "parallel": (frozenset({"-j", "--jobs", "-n", "-N", "-a", "--arg-file"}), 0),
    "runuser": (frozenset({"-u", "-g"}), 0),
    "setsid": (frozenset(), 0),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), 0),
    "strace": (frozenset({"-e", "-o", "-p", "-s"}), 0),
    "sudo": (
        frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t", "--user", "--group"}),
        0,
    ),
    "taskset": (frozenset(), 1),
    "time": (frozenset({"-f", "-o"}), 0),
    "timeout": (frozenset({"-s", "--signal", "-k", "--kill-after"}), 1),
    "unshare": (frozenset(), 0),
    "watch": (frozenset({"-n", "--interval"}), 0),
    "xargs": (
        frozenset(
            {"-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a", "--arg-file", "--max-args", "--max-procs"}
        ),
        0,
    ),
}
"""Program -> (its options whose value is the next word, words before the command it runs)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One program. ``program`` is its bare name, with :data:`UNKNOWN` in it where that cannot be known.

    ``cwd`` is an absolute folder or contains :data:`UNKNOWN`. ``writes`` are its redirections' targets as written;
    ``sets`` the variables that its environment is given.
    """

    program: str
    arguments: tuple[str, ...]
    cwd: str
    writes: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()


def runs_of(command: str, *, cwd: str, variables: Mapping[str, str] | None = None) -> tuple[Run, ...]:
    """Everything a command line runs, in order. ``variables``: what is known of its environment.

    :class:`TooMuch` where it is longer, deeper or wider than anybody would read.
    """
    known: dict[str, tuple[str, ...]] = {name: (value,) for name, value in (variables or {}).items()}
    walk = _Walk(variables=known, cwd=cwd)
    walk.script(read_script(command))
    return tuple(walk.found)


def resolved(path: str, cwd: str) -> str:
    """A path as an absolute one, ``..`` taken away by its text; what is unknown in it stays."""
    return normpath(join(cwd, path))


@dataclass(slots=True)
class _Walk:
    """What is known at one point of a script."""

    variables: dict[str, tuple[str, ...]]
    cwd: str
    found: list[Run] = field(default_factory=list)
    printed: str = UNKNOWN
    """What the last command prints, where that is known."""
    nesting: int = 0

    # -- scripts ----------------------------------------------------------------------------------------------------

    def script(self, script: Script) -> None:
        for each in script:
            if isinstance(each, Subshell):
                self._apart().script(each.script)
                self.printed = UNKNOWN
            else:
                self._simple(each)

    def text(self, text: str) -> None:
        """A text that is run as a script."""
        self.nesting += 1
        self.script(read_script(text, nesting=self.nesting))
        self.nesting -= 1

    def _apart(self) -> "_Walk":
        return _Walk(variables=dict(self.variables), cwd=self.cwd, found=self.found, nesting=self.nesting)

    def _simple(self, simple: Simple) -> None:
        for array in simple.arrays:
            self.variables[array.name] = tuple(text for word in array.words for text in self._fields(word))
        words = list(simple.words)
        while words and _plain(words[0]) in KEYWORDS:
            words.pop(0)
        if words and _plain(words[0]) == "function":
            words = [word for word in words[2:] if _plain(word) not in KEYWORDS]
        sets = []
        while words and (assigned := self._assignment(words[0])):
            sets.append(assigned)
            words.pop(0)
        fields = [text for word in words for text in self._fields(word)]
        writes = [
            text
            for redirect in simple.redirects
            for text in self._fields(redirect.target)
            if ">" in redirect.operator and not (redirect.operator == ">&" and text.isdigit())
        ]
        given = self.printed if simple.piped else UNKNOWN
        if simple.stdin is not None:
            given = "".join(self._fields(simple.stdin, split=False))
        if not fields:
            self.variables.update((name, (value,)) for name, value in sets)
        self.printed = UNKNOWN
        self._run(fields, given, tuple(writes), tuple(name for name, _ in sets))

    def _assignment(self, word: Word) -> tuple[str, str] | None:
        match = _ASSIGNMENT.match(_plain(word[:1]))
        if match is None:
            return None
        rest = (Text(_plain(word[:1])[match.end() :]), *word[1:])
        return match[1], "".join(self._fields(rest, split=False))

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
                return [text] if quoted else text.split()
            case _:
                self._apart().script(part.within)
                return [UNKNOWN]

    def _tilde(self, text: str) -> str:
        home = self.variables.get("HOME", (UNKNOWN,))[0]
        return home + text[1:] if text == "~" or text.startswith("~/") else text

    # -- programs ---------------------------------------------------------------------------------------------------

    def _run(self, fields: list[str], given: str, writes: tuple[str, ...], sets: tuple[str, ...]) -> None:
        """One command after expansion; ``given`` is its standard input, where that is known."""
        if len(self.found) >= _MOST_RUNS:
            raise TooMuch
        program = _name_of(fields[0]) if fields else ""
        arguments = fields[1:]
        self.found.append(
            Run(program=program, arguments=tuple(arguments), cwd=self.cwd, writes=writes, sets=sets)
        )
        if program in _SHELLS:
            self._shell(arguments, given)
        elif program == "eval":
            self.text(" ".join(arguments))
        elif program == "trap":
            self.text(arguments[0] if len(arguments) > 1 else "")
        elif program == "find":
            for command in _executed_by_find(arguments):
                self._run(command, UNKNOWN, (), ())
        elif program in _WRAPPERS or program in _SCRIPT_AFTER_C:
            self._wrapper(program, arguments, given)
        else:
            self._builtin(program, arguments, given)

    def _shell(self, arguments: list[str], given: str) -> None:
        """A shell's script: after ``-c``, or its standard input where it is given no file."""
        at, is_text = 0, False
        while at < len(arguments) and arguments[at][:1] in ("-", "+") and arguments[at] != "-":
            is_text = is_text or bool(_JOINED.fullmatch(arguments[at])) or arguments[at] == "--command"
            at += 2 if arguments[at] in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file") else 1
        if is_text:
            self._apart().text(" ".join(arguments[at : at + 1]))
        elif at == len(arguments) or arguments[at] == "-" or "-s" in arguments[:at]:
            self._apart().text(given)

    def _wrapper(self, program: str, arguments: list[str], given: str) -> None:
        valued, before = _WRAPPERS.get(program, (frozenset(), 0))
        at, replaced = 0, ""
        if program in _SCRIPT_AFTER_C:
            for option, value in pairwise(arguments):
                self._apart().text(value if option in ("-c", "--command") else "")
        while at < len(arguments) and arguments[at] != "--":
            here = arguments[at]
            if program == "env" and here.startswith(("-S", "--split-string")):
                value = here.removeprefix("--split-string").removeprefix("-S").removeprefix("=")
                self._apart().text(" ".join([value, *arguments[at + 1 :]]))
                return
            if program == "command" and here in ("-v", "-V"):
                return
            if program in _FEEDING and here.startswith(("-I", "-i")):
                replaced = here[2:] or (
                    arguments[at + 1] if here == "-I" and at + 1 < len(arguments) else "{}"
                )
            if here in valued:
                at += 1
            elif here[:1] != "-" and not (_ASSIGNMENT.match(here) and program in ("env", "sudo", "doas")):
                break
            at += 1
        at += before + (arguments[at : at + 1] == ["--"])
        command = arguments[at:]
        if program in _FEEDING and command:
            fed = [UNKNOWN] if UNKNOWN in given else given.split()
            command = [a.replace(replaced, UNKNOWN) for a in command] if replaced else [*command, *fed]
        if program == "watch":
            self.text(" ".join(command))
        elif command:
            self._run(command, given, (), tuple(a.partition("=")[0] for a in arguments[:at] if "=" in a))

    def _builtin(self, program: str, arguments: list[str], given: str) -> None:
        """What a command changes for those after it."""
        plain = [argument for argument in arguments if argument[:1] != "-"]
        if program in ("cd", "pushd"):
            target = plain[0] if plain else self.variables.get("HOME", (UNKNOWN,))[0]
            self.cwd = UNKNOWN if "-" in arguments else resolved(target, self.cwd)
            self.variables["PWD"] = (self.cwd,)
        elif program in _DECLARING:
            for name, equals, value in (argument.partition("=") for argument in plain):
                if equals:
                    self.variables[name] = (value,)
        elif program in ("for", "select") and arguments:
            values = arguments[2:]
            self.variables[arguments[0]] = tuple(values) if len(values) == 1 else (UNKNOWN,)
        elif program in ("read", "mapfile", "getopts", "unset"):
            self.variables.update((name, (UNKNOWN,)) for name in plain)
        elif program == "echo":
            self.printed = " ".join(arguments[1:] if arguments[:1] in (["-n"], ["-e"]) else arguments)
        elif program == "printf":
            is_plain = len(arguments) == 1 and not set(arguments[0]) & set("%\\")
            self.printed = arguments[0] if is_plain else UNKNOWN
        elif program == "cat" and not arguments:
            self.printed = given


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


def _name_of(field: str) -> str:
    """The bare name of a program; unknown where a pattern or a variable decides."""
    name = basename(field)
    if _GLOB.search(name) and name not in ("[", "[["):
        return UNKNOWN
    return UNKNOWN if UNKNOWN in name else name.removesuffix(".exe")


def _executed_by_find(arguments: Iterable[str]) -> Iterator[list[str]]:
    command: list[str] | None = None
    for argument in arguments:
        if argument in ("-exec", "-execdir", "-ok", "-okdir"):
            command = []
        elif command is not None and argument in (";", "+"):
            yield command
            command = None
        elif command is not None:
            command.append(UNKNOWN if argument == "{}" else argument)
