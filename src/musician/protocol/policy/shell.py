"""Reading a shell command as a shell would, without running it: which simple commands it consists of.

Theory. A policy over commands must see what a shell would see: quotes, substitutions, here-documents, comments,
subshells. This reads POSIX and Bash syntax into :class:`Simple` commands and :class:`Subshell` groups, in the order
in which they stand. It knows no program, no variable's value and no file. Rules:

- Nothing that would be executed is left out. Keywords (``if``, ``do``, ``{``) stay where they stand, as the first
  words of a command; whoever walks the script skips them.
- What is only data is no command: quoted text, comments, and the body of a here-document, which is its command's
  standard input.
- What a broken script has before its fault is still read, because a shell runs it line by line.
- Nesting and length are bounded; beyond that :class:`TooMuch`.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby

from musician.protocol.policy.syntax import (
    Array,
    Output,
    Part,
    Redirect,
    Script,
    Simple,
    Subshell,
    Text,
    Unknown,
    Variable,
    Word,
)

__all__ = [
    "KEYWORDS",
    "MOST_CHARACTERS",
    "MOST_NESTING",
    "TooMuch",
    "read_script",
]

MOST_CHARACTERS = 200_000
MOST_NESTING = 24
_MOST_HERE_DOCUMENTS = 64
_MOST_ARITHMETIC_CHARS = 2_000

KEYWORDS = frozenset(
    {"if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!", "coproc"}
)
"""What may stand before a command, or after a compound one before its redirections."""

_BLANK = " \t\r"
_ENDS_WORD = frozenset(_BLANK + "\n;&|<>()")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_REDIRECTS = ("<<<", "<<-", "&>>", "<<", ">>", ">|", "<>", ">&", "<&", "&>", "<", ">")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_CODES = {"x": (16, 2), "u": (16, 4), "U": (16, 8)}
_LAST_CHARACTER = 0x10FFFF
_PLAIN = re.compile(r"[^\s;&|<>()'\"\\$`]+")
_PLAIN_QUOTED = re.compile(r"[^\\$`\"}\0]+")


class TooMuch(ValueError):
    """Longer or more deeply nested than anybody would read."""


def read_script(text: str, *, nesting: int = 0) -> Script:
    """The commands of a script, in order; :class:`TooMuch` past the bounds. ``nesting``: scripts around this one."""
    if len(text) > MOST_CHARACTERS:
        raise TooMuch
    return _Reader(text.replace("\\\n", ""), nesting).script(closed=False)


@dataclass(slots=True)
class _Open:
    """The command being read."""

    words: list[Word] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    stdin: Word | None = None
    piped: bool = False


class _Reader:
    """One text, and how far it is read. A here-document is cut out of the text when its operator is met."""

    def __init__(self, text: str, nesting: int) -> None:
        self.text, self.at, self.nesting = text, 0, nesting
        self.here_documents = 0

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self.nesting += 1
        if self.nesting > MOST_NESTING:
            raise TooMuch
        yield
        self.nesting -= 1

    def script(self, *, closed: bool) -> Script:
        """Commands up to the end; ``closed``: up to a closing parenthesis, which is taken."""
        with self._deeper():
            return self._commands(closed=closed)

    def _commands(self, *, closed: bool) -> Script:
        found: list[Simple | Subshell] = []
        now, cases = _Open(), 0
        while self.at < len(self.text):
            here = self.text[self.at]
            if here in _BLANK:
                self.at += 1
            elif here == "#":
                self._skip_line()
            elif self._is_redirect():
                self._redirect(now)
            elif here == ")" and closed:
                self.at += 1
                cases = max(0, cases + self._end(found, now))
                now = _Open()
                if not cases:
                    break
            elif here == "(" and not now.words and (within := self._arithmetic("((")) is not None:
                now.words.append((within,))
            elif here in "\n;&|()":
                self.at += 1
                cases = max(0, cases + self._end(found, now))
                now = _Open()
                self._after_operator(here, found, now)
            else:
                self._take_word(now)
        self._end(found, now)
        return tuple(found)

    # -- commands ---------------------------------------------------------------------------------------------------

    def _end(self, found: list[Simple | Subshell], now: _Open) -> int:
        """The command is over: 1 if it opened a ``case``, whose patterns end in a parenthesis, -1 if it closed one."""
        if not (now.words or now.arrays or now.redirects):
            return 0
        found.append(
            Simple(
                words=tuple(now.words),
                arrays=tuple(now.arrays),
                redirects=tuple(now.redirects),
                stdin=now.stdin,
                piped=now.piped,
            )
        )
        plain = [word[0].text for word in now.words if len(word) == 1 and isinstance(word[0], Text)]
        first = next((text for text in plain if text not in KEYWORDS), "")
        return (first == "case") - (first == "esac")

    def _after_operator(self, operator: str, found: list[Simple | Subshell], now: _Open) -> None:
        if operator == "(":
            found.append(Subshell(script=self.script(closed=True)))
        elif operator == "|" and not self._take("|"):
            now.piped = True
            self._take("&")

    def _take(self, expected: str) -> bool:
        is_there = self.text.startswith(expected, self.at)
        self.at += len(expected) if is_there else 0
        return is_there

    def _skip_line(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    # -- redirections -----------------------------------------------------------------------------------------------

    def _is_redirect(self) -> bool:
        return self.text[self.at] in "<>&" and self._operator() is not None

    def _operator(self) -> str | None:
        if self.text.startswith(("<(", ">("), self.at):
            return None
        return next((each for each in _REDIRECTS if self.text.startswith(each, self.at)), None)

    def _redirect(self, now: _Open) -> None:
        operator = self._operator() or ""
        if now.words and self.text[self.at - 1].isdigit() and _is_number(now.words[-1]):
            now.words.pop()  # a file descriptor
        self.at += len(operator)
        while self.at < len(self.text) and self.text[self.at] in _BLANK:
            self.at += 1
        target = self._word()
        if operator in ("<<", "<<-"):
            now.stdin = self._cut_here_document(target, indented=operator == "<<-")
        elif operator == "<<<":
            now.stdin = target
        elif target:
            now.redirects.append(Redirect(operator=operator, target=target))

    def _cut_here_document(self, delimiter: Word, *, indented: bool) -> Word:
        ending = "".join(part.text for part in delimiter if isinstance(part, Text))
        is_plain = any(isinstance(part, Text) and part.quoted for part in delimiter)
        start = self.text.find("\n", self.at) + 1
        if not start:
            return ()
        self.here_documents += 1
        if self.here_documents > _MOST_HERE_DOCUMENTS:
            raise TooMuch
        lines, end = [], start
        for line in self.text[start:].splitlines(keepends=True):
            end += len(line)
            bare = line.rstrip("\r\n")
            if (bare.lstrip("\t") if indented else bare) == ending:
                break
            lines.append(line.lstrip("\t") if indented else line)
        self.text = self.text[:start] + self.text[end:]
        body = "".join(lines)
        return (Text(body, quoted=True),) if is_plain else self._inside(body)

    # -- words ------------------------------------------------------------------------------------------------------

    def _take_word(self, now: _Open) -> None:
        word = self._word()
        name = word[0].text if len(word) == 1 and isinstance(word[0], Text) else ""
        if not name.endswith("=") or not self._take("("):
            now.words.append(word)
            return
        words = []
        while self.at < len(self.text) and not self._take(")"):
            if self.text[self.at] in _ENDS_WORD:
                self.at += 1
            else:
                words.append(self._word())
        now.arrays.append(Array(name=name.rstrip("+="), words=tuple(words), adds="+=" in name))

    def _word(self) -> Word:
        parts: list[Part] = []
        while self.at < len(self.text):
            here = self.text[self.at]
            if self.text.startswith(("<(", ">("), self.at):
                self.at += 2
                parts.append(Output(self.script(closed=True)))
            elif here in _ENDS_WORD:
                break
            elif here in "'\"":
                self.at += 1
                parts += [Text(self._up_to("'"), quoted=True)] if here == "'" else self._quoted('"')
            elif here == "\\":
                parts.append(Text(self.text[self.at + 1 : self.at + 2], quoted=True))
                self.at += 2
            elif here in "$`":
                parts += self._dollar(quoted=False)
            else:
                parts.append(Text(self._run_of(_PLAIN)))
        return _merged(parts)

    def _run_of(self, plain: re.Pattern[str]) -> str:
        """Characters that mean only themselves; at least one."""
        match = plain.match(self.text, self.at)
        start, self.at = self.at, match.end() if match else self.at + 1
        return self.text[start : self.at]

    def _up_to(self, end: str) -> str:
        stop = self.text.find(end, self.at)
        stop = len(self.text) if stop < 0 else stop
        taken, self.at = self.text[self.at : stop], stop + len(end)
        return taken

    def _quoted(self, end: str) -> list[Part]:
        """As in double quotes, up to ``end``, which is taken."""
        parts: list[Part] = [Text("", quoted=True)]
        while self.at < len(self.text) and not self._take(end):
            here = self.text[self.at]
            if here == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\"):
                parts.append(Text(self.text[self.at + 1], quoted=True))
                self.at += 2
            elif here in "$`":
                parts += self._dollar(quoted=True)
            else:
                parts.append(Text(self._run_of(_PLAIN_QUOTED), quoted=True))
        return parts

    def _inside(self, text: str) -> Word:
        """Text that is expanded and is no command: an expression, the body of a here-document."""
        inner = _Reader(text, self.nesting)
        parts: list[Part] = []
        while inner.at < len(inner.text):
            parts += inner._quoted("\0")  # no shell text has one
        return _merged(parts)

    def _dollar(self, *, quoted: bool) -> list[Part]:
        """What begins with ``$`` or a backquote."""
        if self._take("`"):
            return [Output(read_script(self._backquoted(), nesting=self.nesting), quoted)]
        within = self._arithmetic("$((")
        if within is not None:
            return [within]
        if self._take("$("):
            return [Output(self.script(closed=True), quoted)]
        if self._take("${"):
            with self._deeper():
                return [self._braced(quoted=quoted)]
        self.at += 1
        if not quoted and self._take("'"):
            return [Text(self._ansi(), quoted=True)]
        if not quoted and self._take('"'):
            return self._quoted('"')
        return [self._name(quoted=quoted)]

    def _name(self, *, quoted: bool) -> Part:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in _NAME:
            self.at += 1
        name = self.text[start : self.at]
        if name and not name[0].isdigit():
            return Variable(name, quoted)
        if name:
            self.at = start + 1
            return Unknown()
        special = self.text[self.at : self.at + 1]
        if special and special in "@*#?-$!":
            self.at += 1
            return Unknown()
        return Text("$", quoted)

    def _braced(self, *, quoted: bool) -> Part:
        start = self.at
        parts = self._quoted("}")
        name = self.text[start : self.at - 1].removesuffix("[@]").removesuffix("[*]")
        if name and set(name) <= _NAME and not name[0].isdigit():
            return Variable(name, quoted)
        return Unknown(_scripts_in(parts))

    def _backquoted(self) -> str:
        taken = ""
        while self.at < len(self.text) and not self._take("`"):
            if self.text[self.at] == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", "\\"):
                self.at += 1
            taken += self.text[self.at]
            self.at += 1
        return taken

    def _ansi(self) -> str:
        """``$'…'`` after its quote."""
        taken = ""
        while self.at < len(self.text) and not self._take("'"):
            here, after = self.text[self.at], self.text[self.at + 1 : self.at + 2]
            self.at += 1
            if here != "\\" or not after:
                taken += here
                continue
            base, most = _CODES.get(after, (8, 3))
            start = self.at + (after in _CODES)
            stop = start
            while stop < start + most and self.text[stop : stop + 1].lower() in tuple(
                "0123456789abcdef"[:base]
            ):
                stop += 1
            self.at = stop if stop > start else self.at + 1
            code = int(self.text[start:stop], base) if stop > start else 0
            taken += chr(min(code, _LAST_CHARACTER)) if code else _ESCAPES.get(after, after)
        return taken

    def _arithmetic(self, opening: str) -> Unknown | None:
        """``((…))`` from its opening on; None, with nothing taken, where it is not closed as such."""
        if not self.text.startswith(opening, self.at):
            return None
        depth, stop = 0, self.at + len(opening)
        while stop < min(len(self.text), self.at + _MOST_ARITHMETIC_CHARS):
            here = self.text[stop]
            if here == ")" and not depth:
                break
            depth += (here == "(") - (here == ")")
            stop += 1
        if not self.text.startswith("))", stop):
            return None
        content = self.text[self.at + len(opening) : stop]
        self.at = stop + 2
        # a shell without arithmetic commands would see subshells
        return Unknown((*_scripts_in(self._inside(content)), *read_script(content, nesting=self.nesting)))


def _merged(parts: Iterable[Part]) -> Word:
    """Neighbours of one kind as one."""
    merged: list[Part] = []
    for is_quoted, group in groupby(parts, lambda part: part.quoted if isinstance(part, Text) else None):
        same = list(group)
        texts = [part.text for part in same if isinstance(part, Text)]
        merged += same if is_quoted is None else [Text("".join(texts), is_quoted)]
    return tuple(merged)


def _scripts_in(parts: Iterable[Part]) -> Script:
    found: list[Simple | Subshell] = []
    for part in parts:
        if isinstance(part, Output):
            found += part.script
        elif isinstance(part, Unknown):
            found += part.within
    return tuple(found)


def _is_number(word: Word) -> bool:
    return len(word) == 1 and isinstance(word[0], Text) and not word[0].quoted and word[0].text.isdigit()
