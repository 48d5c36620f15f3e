"""What the fields of a message may hold. Each check raises :class:`BadField`, with what to write instead."""

import re
from math import isfinite

from musician.protocol.errors import BadField

MOST_COUNTED = 999_999_999
"""No count in a message is larger."""

MOST_PCT = 10_000.0
"""No percentage in a message is larger; estimates, unlike usage, may be over 100."""

ABSENT = frozenset({"", "-", "n/a", "none", "unknown"})
"""Words for "there is none", in any case; no name or path that may be absent is one of them."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ABSOLUTE = re.compile(r"[/\\~]|[A-Za-z]:[/\\]", re.ASCII)


def check_text(field: str, value: str) -> None:
    """Any text, as long as it can be stored as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadField(field=field, value=value, reason="decode it first, it has lone surrogates") from None


def check_said(field: str, value: str) -> None:
    """A text that says something."""
    check_text(field, value)
    if not value.strip():
        raise BadField(field=field, value=value, reason="say something")


def check_line(field: str, value: str) -> None:
    """One line with something on it."""
    check_text(field, value)
    if value != value.strip() or not value or _CONTROL.search(value):
        raise BadField(field=field, value=value, reason="use one line without spaces around it")


def check_path(field: str, value: str) -> None:
    """A path inside the project, relative to its root."""
    check_line(field, value)
    if _ABSOLUTE.match(value) or ".." in re.split(r"[/\\]", value):
        raise BadField(field=field, value=value, reason="use a path below the project's root, relative to it")


def check_optional_line(field: str, value: str | None) -> None:
    """None, or one line that does not say that there is none."""
    if value is not None:
        check_line(field, value)
        _check_present(field, value)


def check_optional_path(field: str, value: str | None) -> None:
    """None, or a path inside the project that does not say that there is none."""
    if value is not None:
        check_path(field, value)
        _check_present(field, value)


def check_count(field: str, value: int | None) -> None:
    if value is not None and not 0 <= value <= MOST_COUNTED:
        raise BadField(field=field, value=value, reason=f"use 0 to {MOST_COUNTED}")


def check_pct(field: str, value: float | None, *, most: float = 100.0) -> None:
    if value is not None and not (isfinite(value) and 0 <= value <= most):
        raise BadField(field=field, value=value, reason=f"use 0 to {most:g} per cent, or None for unknown")


def _check_present(field: str, value: str) -> None:
    if value.lower() in ABSENT:
        raise BadField(field=field, value=value, reason="use None for none")
