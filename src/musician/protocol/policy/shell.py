"""Finds the programs that a shell command runs, with their arguments, and the files that its redirections write.

Theory. A text is read once from left to right, as POSIX shells and Bash read it, and interpreted at the same time, with
every branch taken. Variables that it sets are known afterwards, and so is the output of a few programs. Anything that
only a real shell can know becomes :data:`UNKNOWN` within a word. Rules:

- Everything that would be run is found: substitutions, here-documents that are expanded, all branches of a ``case``.
- Data is no command: quoted text, comments, the body of a here-document, which is standard input.
- Commands before a syntax error are found too, because a shell runs them.
- Syntax that would need a real parser (arithmetic, arrays) is read as if it were commands, so nothing is missed.
- Length, nesting, width and results are bounded; beyond the bounds :class:`TooMuch` is raised.

Programs and their arguments are not judged here; the other modules of the policy do that.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field

from musician.protocol.policy.run import UNKNOWN, Run, name_of, printed_by, resolved
from musician.protocol.values import dataclass

MOST_CHARACTERS = 200_000
_MOST_NESTING = 24
_MOST_FIELDS = 64
_MOST_RUNS = 3_000
_MOST_WRITES = 300
_MOST_VALUE_CHARS = 100_000
_MOST_HERE_DOCUMENTS = 64

_KEYWORDS = frozenset(
    {"if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!", "coproc"}
)
"""What may stand before a command, or after a compound one before its redirections."""
_DECLARING = frozenset({"export", "declare", "local", "typeset", "readonly"})

_PARAMETER = re.compile(r"[0-9]+|[@*]")
_BETWEEN = "\x1f"
"""Between the words of ``$@``: white space to what splits a value, and in no word."""
_FUNCTION = re.compile(r"(?<![\w$])([A-Za-z_][\w-]*)\s*\(\s*\)\s*\{(\s.{0,2000}?[;\n]\s*)\}", re.DOTALL)

_ENDS_WORD = frozenset(" \t\r\n;&|<>()")
_REDIRECT = re.compile(r"\d*(<<<|<<-|&>>|<<(?!\s*\d)|>>|>\||<>|>&|<&|&>|<(?!\()|>(?!\())")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[@*]\])?")
_PLAIN = re.compile(r"[^\s;&|<>()'\"\\$`]+")
_PLAIN_QUOTED = re.compile(r"[^\\$`\"}\0]+")
_ANSI = re.compile(r"((?:\\.|[^'\\])*)'?", re.DOTALL)
_ESCAPED = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_BACKQUOTED = re.compile(r"((?:\\.|[^`\\])*)`?", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


class TooMuch(ValueError):
    """Longer, deeper or wider than anybody would read."""


def runs_of(command: str, *, cwd: str, known: Mapping[str, str]) -> tuple[Run, ...]:
    """Everything a command line runs, in order. ``known``: its environment, and by a command's text what that prints.

    :class:`TooMuch` where it is longer, deeper or wider than anybody would read.
    """
    shell = _Shell(command, dict(known), cwd, [], 0)
    shell.enter(cwd)
    shell.commands(closed=False)
    return tuple(shell.found)


def parameters(words: Sequence[str]) -> dict[str, str]:
    """Return what a script knows of the words it is called with, the first of them its name."""
    if not words:
        return {}
    every = _BETWEEN.join(words[1:])
    return {str(at): word for at, word in enumerate(words)} | {"@": every, "*": every}


@dataclass(slots=True)
class _Open:
    """The command being read."""

    words: list[str] = field(default_factory=list)
    sets: dict[str, str] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)
    given: str = UNKNOWN


class _Shell:
    """One text, how far it is read, and what is known there. A here-document is cut out when its operator is met."""

    def __init__(self, text: str, known: dict[str, str], cwd: str, found: list[Run], nesting: int) -> None:
        if len(text) > MOST_CHARACTERS or nesting > _MOST_NESTING:
            raise TooMuch
        self.text, self.at = text.replace("\\\n", ""), 0
        self.known, self.cwd, self.found, self.nesting = known, cwd, found, nesting
        self.functions = dict(_FUNCTION.findall(text)) if "(" in text else {}
        self.printed = UNKNOWN  # by the last command
        self.here_documents = 0

    # -- commands ---------------------------------------------------------------------------------------------------

    def commands(self, *, closed: bool) -> None:
        """Commands up to the end; ``closed``: up to a closing parenthesis, which is taken."""
        now = _Open()
        while self.at < len(self.text):
            here = self.text[self.at]
            if here in " \t\r":
                self.at += 1
            elif here == "#":
                self.at = self._next("\n")
            elif match := _REDIRECT.match(self.text, self.at):
                self.at = match.end()
                self._redirect(match[1], now)
            elif here in "\n;&|()":
                self.at += 1
                self._end(now)
                now = _Open()
                if here == ")" and closed:
                    break
                if here == "(":
                    self.printed = self._apart()
                elif here == "|" and not self._take("|"):
                    now.given = self.printed
                    self._take("&")
            else:
                self._take_word(now)
        self._end(now)

    def _apart(self) -> str:
        """Commands up to a closing parenthesis, whose changes are forgotten after it; what they print."""
        known, cwd = dict(self.known), self.cwd
        self._deeper(1)
        self.commands(closed=True)
        self._deeper(-1)
        self.known, self.cwd = known, cwd
        printed, self.printed = self.printed, UNKNOWN
        return printed.rstrip("\n")

    def _deeper(self, by: int) -> None:
        self.nesting += by
        if self.nesting > _MOST_NESTING:
            raise TooMuch

    def _inner(self, text: str) -> "_Shell":
        """Another text, read with what is known here."""
        return _Shell(text, dict(self.known), self.cwd, self.found, self.nesting + 1)

    def _next(self, character: str) -> int:
        """Where it stands next, or the end."""
        stop = self.text.find(character, self.at)
        return len(self.text) if stop < 0 else stop

    def _take(self, expected: str) -> bool:
        is_there = self.text.startswith(expected, self.at)
        self.at += len(expected) if is_there else 0
        return is_there

    def _take_word(self, now: _Open) -> None:
        match = _ASSIGNMENT.match(self.text, self.at)
        if match is None or not _KEYWORDS.issuperset(now.words):
            now.words += self._word()
            return
        self.at = match.end()
        before = self.known.get(match[1], "") + " " if match[2] else ""
        value = UNKNOWN if self.text.startswith("(", self.at) else "".join(self._word(split=False))
        now.sets[match[1]] = (before + value).strip(" ")

    def _redirect(self, operator: str, now: _Open) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1
        start = self.at
        target = self._word(split=operator != "<<<")
        if operator in ("<<", "<<-"):
            is_plain = bool(set("'\"\\") & set(self.text[start : self.at]))
            body = self._cut_here_document("".join(target), indented=operator == "<<-")
            now.given = body if is_plain else self._inner(body).quoted(UNKNOWN)
        elif operator == "<<<":
            now.given = "".join(target)
        elif ">" in operator:
            now.writes += [text for text in target if operator != ">&" or not text.isdigit()]

    def _cut_here_document(self, ending: str, *, indented: bool) -> str:
        self.here_documents += 1
        if self.here_documents > _MOST_HERE_DOCUMENTS:
            raise TooMuch
        start = end = min(self._next("\n") + 1, len(self.text))
        lines = []
        for line in self.text[start:].splitlines(keepends=True):
            end += len(line)
            line = line.lstrip("\t") if indented else line
            if line.rstrip("\r\n") == ending:
                break
            lines.append(line)
        self.text = self.text[:start] + self.text[end:]
        return "".join(lines)

    def _end(self, now: _Open) -> None:
        """The command is over: it is run."""
        words = now.words
        while words and words[0] in _KEYWORDS:
            words = words[1:]
        if words[:1] == ["function"]:
            words = [word for word in words[2:] if word not in _KEYWORDS]
        if not words:
            self.known |= now.sets
        if not (words or now.sets or now.writes):
            return
        if len(self.found) >= _MOST_RUNS or len(now.writes) > _MOST_WRITES:
            raise TooMuch
        run = Run(
            program=name_of(words[0]) if words else "",
            arguments=tuple(words[1:]),
            cwd=self.cwd,
            given=now.given,
            writes=tuple(now.writes),
            sets=tuple(f"{name}={value}" for name, value in now.sets.items()),
        )
        self.found.append(run)
        self._play(run)

    # -- words ------------------------------------------------------------------------------------------------------

    def _word(self, *, split: bool = True) -> list[str]:
        """What a word becomes: usually one text, none where all of it expands to nothing. ``split`` False: one."""
        done, is_there = [""], not split
        while self.at < len(self.text):
            here = self.text[self.at]
            if self._take("<(") or self._take(">("):
                texts, is_there = [self._apart()], True
            elif here in _ENDS_WORD:
                break
            elif here in "$`" and not self.text.startswith(("$'", '$"'), self.at):
                value = self._dollar()
                texts = value.split() if split else [value]
                is_there = is_there or bool(texts)
                done, texts = [*done[:-1], done[-1] + "".join(texts[:1]), *texts[1:]], [""]
            else:
                is_there = True
                texts = self._literal(split=split)
            done = [before + text for before in done for text in texts]
            if len(done) > _MOST_FIELDS or len(done[-1]) > _MOST_VALUE_CHARS:
                raise TooMuch
        return done if is_there else []

    def _literal(self, *, split: bool) -> list[str]:
        """Quoted, escaped or plain characters; braces are spelled out."""
        if split and self._take('"$@"'):
            return self.known.get("@", UNKNOWN).split(_BETWEEN)
        if self._take("$'"):
            return [_ESCAPED.sub(_unescaped, self._matched(_ANSI))]
        if self._take("'"):
            start, self.at = self.at, self._next("'") + 1
            return [self.text[start : self.at - 1]]
        if self._take('$"') or self._take('"'):
            return [self.quoted('"')]
        if self._take("\\"):
            self.at += 1
            return [self.text[self.at - 1 : self.at]]
        text = self._matched(_PLAIN)
        if split and (text == "~" or text.startswith("~/")):
            text = self.known.get("HOME", UNKNOWN) + text[1:]
        return _braced(text) if split else [text]

    def _matched(self, pattern: re.Pattern[str]) -> str:
        """Take what matches here, or one character. Return its group if it has one."""
        match = pattern.match(self.text, self.at)
        start, self.at = self.at, match.end() if match else self.at + 1
        return match[1] if match and match.re.groups else self.text[start : self.at]

    def quoted(self, end: str) -> str:
        """As in double quotes, up to ``end``, which is taken."""
        parts = []
        while self.at < len(self.text) and not self._take(end):
            here = self.text[self.at]
            if here == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\"):
                parts.append(self.text[self.at + 1])
                self.at += 2
            else:
                parts.append(self._dollar() if here in "$`" else self._matched(_PLAIN_QUOTED))
        return "".join(parts)

    def _dollar(self) -> str:
        """Return the expansion of ``$`` or a backquote, as far as it is known."""
        if self._take("`"):
            inner = self._inner(re.sub(r"\\([$`\\])", r"\1", self._matched(_BACKQUOTED)))
            inner.commands(closed=False)
            return inner.printed.rstrip("\n")
        if self._take("$("):
            return self._apart()
        if self._take("${"):
            start = self.at
            self._deeper(1)
            self.quoted("}")
            self._deeper(-1)
            name = _VARIABLE.fullmatch(self.text, start, self.at - 1)
            name = name or _PARAMETER.fullmatch(self.text, start, self.at - 1)
            return self.known.get(name[name.lastindex or 0], UNKNOWN) if name else UNKNOWN
        self.at += 1
        if name := _VARIABLE.match(self.text, self.at):
            self.at += len(name[1])
            return self.known.get(name[1], UNKNOWN)
        if self.text[self.at : self.at + 1] in tuple("0123456789@*#?-$!"):
            self.at += 1
            return self.known.get(self.text[self.at - 1], UNKNOWN)
        return "$"

    # -- programs ---------------------------------------------------------------------------------------------------

    def enter(self, folder: str) -> None:
        self.cwd = folder
        self.known |= {"PWD": folder, "pwd": folder}

    def _call(self, name: str, arguments: list[str]) -> None:
        """Read a function again, with the words that it is called with; one within itself is not read anew."""
        body = self._inner(self.functions[name])
        body.functions = {each: text for each, text in self.functions.items() if each != name}
        body.known |= parameters((name, *arguments))
        body.commands(closed=False)
        self.printed = body.printed

    def _play(self, run: Run) -> None:
        """Return what a command prints, and apply what it changes for later commands."""
        program, arguments = run.program, list(run.arguments)
        plain = [argument for argument in arguments if argument[:1] != "-"]
        printed = printed_by(run)
        self.printed = (
            self.known.get(" ".join((program, *arguments)), UNKNOWN) if printed is None else printed
        )
        if program in ("cd", "pushd"):
            target = plain[0] if plain else self.known.get("HOME", UNKNOWN)
            self.enter(UNKNOWN if "-" in arguments else resolved(target, self.cwd))
        elif program in self.functions:
            self._call(program, arguments)
        elif program == "set" and "--" in arguments:
            self.known |= parameters(arguments[arguments.index("--") :])
        elif program in _DECLARING:
            self.known |= {name: value for name, equals, value in (a.partition("=") for a in plain) if equals}
        elif program in ("for", "select") and plain:
            self.known[plain[0]] = plain[2] if len(plain) == len(["x", "in", "y"]) else UNKNOWN
        elif program in ("read", "mapfile", "unset"):
            self.known |= dict.fromkeys(plain[-1:], run.given.strip() or UNKNOWN)


def _unescaped(match: re.Match[str]) -> str:
    """One escape within ``$'…'``."""
    code, base = match[1].lstrip("xuU"), 8 if match[1].isdigit() else 16
    if match[1][0] in "xuU01234567" and code:
        return chr(min(int(code, base), sys.maxunicode)).replace(UNKNOWN, "")
    return _ESCAPES.get(match[1], match[1])


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
