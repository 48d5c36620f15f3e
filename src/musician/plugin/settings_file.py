"""Edits single entries of another program's settings file, and keeps every other byte of it.

Theory. Claude Code's settings are JSON objects that people, and other programs, write. Parsing one and writing it anew
would lose its order, its spacing and the spelling of its numbers. So an edit changes the text: a new member is inserted
after the last one in the file's own layout, and removing it restores the bytes that were there before. :meth:`put`
returns what it had to create on the way to a member (the objects around it, the file itself), and :meth:`take` removes
exactly that again once it is empty.

The meaning of settings is not known here. A file that is not a JSON object is refused, with the line, before anything
is written (B09). Links are followed, the file's permissions are kept, and a reader never sees a partial file.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from musician.processes.whole_file import write_whole
from musician.protocol.errors import SettingsUnreadable
from musician.protocol.values import dataclass

Keys = tuple[str, ...]
"""The path of a member: keys from the outermost object inwards."""

_BLANK = " \t\r\n"
_INDENT = "  "
_BOM = "\ufeff"
_MOST_BYTES = 16 * 1024 * 1024
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """The position of ``"key": value`` in the text."""

    key: str
    start: int
    value_start: int
    end: int


@dataclass(slots=True)
class SettingsFile:
    """The text of one file, changed in memory; :meth:`save` writes it."""

    path: Path
    text: str = ""

    @classmethod
    def read(cls, path: Path) -> "SettingsFile":
        """Read the file; a missing or blank one counts as empty.

        Raises :class:`SettingsUnreadable` if it is not a JSON object.
        """
        try:
            with path.open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            return cls(path)
        except OSError as error:
            raise SettingsUnreadable(
                path=str(path), line=0, reason=error.strerror or "cannot be read"
            ) from error
        found = cls(path, _decoded(path, data))
        found._check()
        return found

    def get(self, keys: Keys) -> Any:
        """Return the value at ``keys``, None if there is none."""
        value: Any = json.loads(self._body() or "{}")
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def put(self, keys: Keys, value: object) -> tuple[Keys, ...]:
        """Set one value, and return what had to be created for it, the outermost first; () stands for the file itself.

        Raises :class:`SettingsUnreadable` if a value on the path is not an object.
        """
        made: list[Keys] = []
        if not self._body():
            self.text += "{}\n"
            made.append(())
        for depth in range(1, len(keys)):
            if self.get(keys[:depth]) is None and self._member(keys[:depth]) is None:
                self._insert(keys[:depth], {})
                made.append(keys[:depth])
        member = self._member(keys)
        if member is None:
            self._insert(keys, value)
        elif json.loads(self.text[member.value_start : member.end]) != value:
            written = self._layout(value, len(keys))
            self.text = self.text[: member.value_start] + written + self.text[member.end :]
        return tuple(made)

    def take(self, keys: Keys, *, made: Sequence[Keys] = ()) -> bool:
        """Remove one member, and the objects ``made`` for it that are empty then. Return whether it was there."""
        found = isinstance(self.get(keys[:-1]), dict) and self._remove(keys)
        for parent in sorted(made, key=len, reverse=True):
            if parent and self.get(parent) == {}:
                self._remove(parent)
        return found

    @property
    def is_empty(self) -> bool:
        """Whether nothing is set in the file."""
        return not json.loads(self._body() or "{}")

    def save(self) -> None:
        """Write the file. A link is followed, and the permissions are kept."""
        write_whole(Path(os.path.realpath(self.path)), self.text)

    def _body(self) -> str:
        return self.text.removeprefix(_BOM).strip(_BLANK)

    def _check(self) -> None:
        if not self._body():
            return
        try:
            value = json.loads(self.text.removeprefix(_BOM))
        except (json.JSONDecodeError, RecursionError) as error:
            line, reason = (
                (error.lineno, error.msg)
                if isinstance(error, json.JSONDecodeError)
                else (1, "nested too deeply")
            )
            raise SettingsUnreadable(path=str(self.path), line=line, reason=reason) from error
        if not isinstance(value, dict):
            raise SettingsUnreadable(path=str(self.path), line=1, reason="this is no JSON object")

    def _object(self, keys: Keys) -> int:
        """Return the position at which the object at ``keys`` opens."""
        if not keys:
            return self.text.index("{")
        member = self._member(keys)
        if member is None or self.text[member.value_start] != "{":
            line = self.text.count("\n", 0, member.value_start if member else 0) + 1
            raise SettingsUnreadable(
                path=str(self.path), line=line, reason=f"{'.'.join(keys)} is no JSON object"
            )
        return member.value_start

    def _member(self, keys: Keys) -> _Member | None:
        if not self._body():
            return None
        found = None
        for each in self._members(self._object(keys[:-1])):
            if each.key == keys[-1]:
                found = each  # if a key is repeated, the last one counts, as for every JSON reader
        return found

    def _members(self, opening: int) -> Iterator[_Member]:
        """Yield the members of the object that opens at ``opening``, in order."""
        at = self._skip(opening + 1)
        while self.text[at] == '"':
            start = at
            key, at = _DECODER.raw_decode(self.text, start)
            value_start = self._skip(self._skip(at) + 1)
            _, end = _DECODER.raw_decode(self.text, value_start)
            yield _Member(key=key, start=start, value_start=value_start, end=end)
            at = self._skip(end)
            if self.text[at] == ",":
                at = self._skip(at + 1)

    def _skip(self, at: int) -> int:
        while at < len(self.text) and self.text[at] in _BLANK:
            at += 1
        return at

    def _insert(self, keys: Keys, value: object) -> None:
        opening = self._object(keys[:-1])
        members = list(self._members(opening))
        written = f"{json.dumps(keys[-1], ensure_ascii=False)}: {self._layout(value, len(keys))}"
        if members:
            gap = _gap(self.text, members, opening)
            self._replace(members[-1].end, members[-1].end, f",{gap}{written}")
        else:
            outer = self._newline() + self._indent() * (len(keys) - 1)
            self._replace(opening + 1, opening + 1, f"{outer}{self._indent()}{written}{outer}")

    def _remove(self, keys: Keys) -> bool:
        member = self._member(keys)
        if member is None:
            return False
        opening = self._object(keys[:-1])
        members = list(self._members(opening))
        at = members.index(member)
        if at > 0:
            self._replace(members[at - 1].end, member.end, "")
        elif len(members) > 1:
            self._replace(member.start, members[1].start, "")
        else:
            outer = _outer(self.text[opening + 1 : member.start], len(keys))
            end = member.end + (len(outer) if self.text.startswith(outer, member.end) else 0)
            self._replace(opening + 1, end, "")
        return True

    def _replace(self, start: int, end: int, text: str) -> None:
        self.text = self.text[:start] + text + self.text[end:]

    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _indent(self) -> str:
        """Return the file's indentation, as its first member shows it."""
        shown = re.search(r'\{\r?\n([ \t]+)"', self.text)
        return shown[1] if shown else _INDENT

    def _layout(self, value: object, depth: int) -> str:
        lines = json.dumps(value, ensure_ascii=False, indent=self._indent()).split("\n")
        return (self._newline() + self._indent() * depth).join(lines)


def _outer(before: str, depth: int) -> str:
    """Return what :meth:`SettingsFile._insert` put after an only member, derived from what it put before it."""
    newline = "\r\n" if before.startswith("\r\n") else "\n"
    step, rest = divmod(len(before) - len(newline), depth)
    return before[:-step] if step > 0 and rest == 0 and before.startswith(newline) else ""


def _gap(text: str, members: list[_Member], opening: int) -> str:
    """Return the white space before a member of this object: a new line with its indentation, or a blank."""
    before = text[opening + 1 : members[0].start] if len(members) == 1 else None
    if before is None:
        before = text[members[-2].end : members[-1].start].replace(",", "")
    return before or " "


def _decoded(path: Path, data: bytes) -> str:
    if len(data) > _MOST_BYTES:
        raise SettingsUnreadable(
            path=str(path), line=0, reason=f"more than {_MOST_BYTES} bytes are no settings"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsUnreadable(path=str(path), line=line, reason="this is not UTF-8") from error
