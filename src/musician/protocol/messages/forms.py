"""The text layout that all types of message share.

A form is a heading and labelled fields::

    HEADING with a word or two:
      Label: the value's first line
        its next line, and
        Label: this is still the value
      Another label: …

One rule makes it unambiguous: a field starts at the fields' indent, and every further line of its value starts two
columns deeper. The indent decides, not the text, so no value can be mistaken for a field. A blank line within a value
keeps the indent; an empty line is ignored. The fields' indent is the smallest at which there is a known label. It is
two columns in our own texts; people may use any, with list dashes and CRLF.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, ClassVar, Generic, Self, TypeVar

from musician.protocol.errors import BadField, UnreadableMessage
from musician.protocol.values import dataclass

T = TypeVar("T")

_FIELD_INDENT = "  "
_VALUE_INDENT = "    "
_DEEPER = len(_VALUE_INDENT) - len(_FIELD_INDENT)
_FIELD_LINE = re.compile(r"(?P<indent>[ \t]*)(?:[-*] )?(?P<label>[^:]+):(?P<rest>.*)", re.DOTALL)


def _any_value(_name: str, _value: object) -> None:
    """The default check: the value's own class has checked everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec(Generic[T]):
    """Converts a value to text and back. ``unknown`` is the value of a missing field.

    ``parse`` raises :class:`BadField` for a text that is not a value; ``check``, which gets the field's name too,
    raises it for a value that is not allowed in a message.
    """

    render: Callable[[T], str]
    parse: Callable[[str], T]
    unknown: T
    check: Callable[[str, T], None] = _any_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One labelled field. An ``optional`` one is left out of the text while it is unknown.

    ``pattern`` matches the label if it contains words, or if people write it in other ways too.
    """

    label: str
    attribute: str
    codec: Codec[Any]
    pattern: str = ""
    optional: bool = False

    def match(self, label: str) -> re.Match[str] | None:
        return re.fullmatch(self.pattern or re.escape(self.label), label, re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A line that starts with a known label; ``words`` are those inside it, ``rest`` follows the colon."""

    indent: int
    field: Field
    label: str
    words: Mapping[str, str]
    rest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """The text read for one field: the ``lines`` of its value, and the number of the first ``line``."""

    label: str
    line: int
    lines: list[str]
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The layout of one type of message.

    ``heading`` is a format string over ``words``, and ``heading_pattern`` reads it back by groups of the same
    names; a field's label may hold a word too. At least one field is not optional, which keeps the fields'
    indent known. ``closing`` is printed last and means nothing; ``heading_optional`` accepts a text that
    starts with a field.
    """

    heading: str
    heading_pattern: re.Pattern[str]
    words: Mapping[str, Codec[Any]]
    fields: tuple[Field, ...]
    closing: str = ""
    heading_optional: bool = False
    start: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", self.heading.partition("{")[0].rstrip(" ("))

    def check(self, message: object) -> None:
        """Raise :class:`BadField` for the first value that is not allowed in the message."""
        for name, codec in self.words.items():
            codec.check(name, getattr(message, name))
        for each in self.fields:
            each.codec.check(each.attribute, getattr(message, each.attribute))

    def render(self, message: object) -> str:
        """Return the message's text, without a newline at its end."""
        words = {name: codec.render(getattr(message, name)) for name, codec in self.words.items()}
        lines = self.heading.format_map(words).split("\n")
        page = [lines[0], *(_VALUE_INDENT + line for line in lines[1:])]
        for each in self.fields:
            value = getattr(message, each.attribute)
            if each.optional and value == each.codec.unknown:
                continue
            first, *rest = each.codec.render(value).split("\n")
            label = each.label.format_map(words)
            page.append(f"{_FIELD_INDENT}{label}: {first}" if first else f"{_FIELD_INDENT}{label}:")
            page.extend(_VALUE_INDENT + line for line in rest)
        if self.closing:
            page.append(_FIELD_INDENT + self.closing)
        return "\n".join(page)

    def read(self, text: str) -> tuple[dict[str, Any], dict[str, _Entry]]:
        """Return the attributes' values and where each was found. Raises :class:`UnreadableMessage`."""
        lines = _lines(text)
        if not lines:
            raise UnreadableMessage(field="heading", line=1, reason=f"expected {self.start!r}, found nothing")
        headless = self.heading_optional and self._field_at(lines[0][1]) is not None
        top = _Entry(label="heading", line=lines[0][0], lines=[] if headless else [lines[0][1]])
        entries = self._entries(lines if headless else lines[1:], top)
        values: dict[str, Any] = {name: codec.unknown for name, codec in self.words.items()}
        if not headless:
            self._read_heading(top, values)
        for each in self.fields:
            values[each.attribute] = each.codec.unknown
            if (entry := entries.get(each.attribute)) is not None:
                values[each.attribute] = _read(each.codec, "\n".join(entry.lines), entry)
                for name, word in entry.words.items():
                    values[name] = _read(self.words[name], word, entry)
        return values, {**entries, "": top}

    def _read_heading(self, top: _Entry, values: dict[str, Any]) -> None:
        match = self.heading_pattern.fullmatch("\n".join(top.lines))
        if match is None:
            raise UnreadableMessage(
                field="heading", line=top.line, reason=f"{top.lines[0]!r:.60} is not {self.heading!r}"
            )
        for name, word in match.groupdict().items():
            if word is not None:
                values[name] = _read(self.words[name], word, top)

    def _entries(self, lines: list[tuple[int, str]], top: _Entry) -> dict[str, _Entry]:
        """The fields below ``top``, by attribute; what comes before the first goes on with the heading."""
        found = [self._field_at(line) for _, line in lines]
        indent = min((at.indent for at in found if at is not None), default=_no_indent(lines))
        entries: dict[str, _Entry] = {}
        entry = top
        for (number, line), at in zip(lines, found, strict=True):
            if at is not None and at.indent == indent:
                if at.field.attribute in entries:
                    raise UnreadableMessage(field=at.label, line=number, reason="it is there twice")
                entry = _Entry(label=at.label, line=number, lines=[at.rest], words=at.words)
                entries[at.field.attribute] = entry
            elif not self._is_closing(line, indent):
                entry.lines.extend(_continuation(line, indent))
        return entries

    def _field_at(self, line: str) -> _Found | None:
        match = _FIELD_LINE.fullmatch(line)
        if match is None:
            return None
        indent, label, rest = len(match["indent"]), match["label"].strip(), match["rest"].removeprefix(" ")
        for each in self.fields:
            if (said := each.match(label)) is not None:
                return _Found(indent=indent, field=each, label=label, words=said.groupdict(), rest=rest)
        return None

    def _is_closing(self, line: str, indent: int) -> bool:
        words = line.lstrip()
        return bool(self.closing) and len(line) - len(words) <= indent and words.startswith(self.closing)


class Message:
    """A message that has a form. Subclasses are frozen dataclasses whose fields are the form's attributes."""

    __slots__ = ()
    form: ClassVar[Form]

    def __post_init__(self) -> None:
        self.form.check(self)

    def render(self) -> str:
        """The text to store; it has no line end at its end."""
        return self.form.render(self)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a text. Raises :class:`UnreadableMessage`, with the field and the line, if it is not such a message."""
        values, entries = cls.form.read(text)
        try:
            return cls(**values)
        except BadField as error:
            entry = entries.get(error.field, entries[""])
            raise UnreadableMessage(field=entry.label, line=entry.line, reason=str(error)) from error


def _lines(text: str) -> list[tuple[int, str]]:
    """The lines that are not empty, numbered from 1.

    Carriage returns are line ends only if every line has one: a rendered text always has a line without.
    """
    lines = text.split("\n")
    if len(lines) > 1 and all(line.endswith("\r") for line in lines[:-1]):
        lines = [line.removesuffix("\r") for line in lines]
    return [(number, line) for number, line in enumerate(lines, start=1) if line]


def _no_indent(lines: list[tuple[int, str]]) -> int:
    """Deeper than any line stands: without a field nothing is the rest of a value."""
    return max((len(line) for _, line in lines), default=0)


def _continuation(line: str, indent: int) -> Iterator[str]:
    deep = " " * (indent + _DEEPER)
    if line.startswith(deep):
        yield line.removeprefix(deep)
    elif line.strip():  # not indented as we write it, but it can be nothing else
        yield line.strip()


def _read(codec: Codec[T], text: str, entry: _Entry) -> T:
    try:
        return codec.parse(text)
    except BadField as error:
        raise UnreadableMessage(field=entry.label, line=entry.line, reason=str(error)) from error
