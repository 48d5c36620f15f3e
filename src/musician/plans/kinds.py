"""What the value of a key may be: each kind is a function that returns the value, or raises :class:`Unfit`.

Values are untrusted input and are never coerced: ``no`` is not text, and ``007`` is not an id. Paths stay inside the
project, and ids are checked before anything is named after them (D8, B43).
"""

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import PurePosixPath

from musician.plans.model import MAX_COMMAND_BYTES, MAX_TITLE_CHARACTERS, Sandboxing
from musician.plans.problems import control_characters
from musician.protocol.errors import BadField, BadId
from musician.protocol.names import check_plan_id, check_task_id
from musician.protocol.rules.ceilings import Amounts, read_amounts, write_amounts

_AGENT = re.compile(r"shell|claude|codex|opencode|acp:.*\S.*")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[1-9][0-9]{0,4})?")
_ACCOUNT = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.@-]{0,62}[A-Za-z0-9])?")
_MODEL = re.compile(r"[^\s\x00-\x1f\x7f-][^\s\x00-\x1f\x7f]{0,199}|")


class Unfit(Exception):
    """A value is of the wrong kind. The text says what was expected."""


UNREADABLE = object()
"""Stands for every YAML value that is not text, a number, yes or no, or a list of these."""

Check = Callable[[object], object]


def a_text(value: object) -> str:
    if not isinstance(value, str):
        raise Unfit('text; put it in quotes, "…"')
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in value):  # YAML's escapes can write both
        raise Unfit("text without a NUL character or half of a surrogate pair")
    return value


def a_title(value: object) -> str:
    text = a_text(value)
    if control_characters(text) or len(text) > MAX_TITLE_CHARACTERS:
        raise Unfit(
            f"one line of at most {MAX_TITLE_CHARACTERS} characters, none of them a control character"
        )
    return text


def a_command(value: object) -> str:
    text = a_text(value)
    if len(text.encode()) > MAX_COMMAND_BYTES:
        raise Unfit(f"a command of at most {MAX_COMMAND_BYTES} bytes; put what is longer into a script")
    return text


def list_of(check: Check, example: str) -> Check:
    def check_all(value: object) -> tuple[object, ...]:
        if not isinstance(value, list):
            raise Unfit(f"a list, such as {example}")
        return tuple(check(item) for item in value)

    return check_all


texts = list_of(a_text, "[docs, quick]")


def an_id(value: object, check: Callable[[str], str] = check_task_id) -> str:
    try:
        return check(a_text(value))
    except BadId as error:
        raise Unfit(f"an id ({error.remedy})") from None


def a_plan_id(value: object) -> str:
    return an_id(value, check_plan_id)


ids = list_of(an_id, "[task-01, task-02]")


def a_path(value: object) -> str:
    text = a_text(value)
    path = PurePosixPath(text)
    if not text or "\\" in text or "\0" in text or path.is_absolute() or ".." in path.parts:
        raise Unfit("a path inside the project, written from its root, such as docs/notes.md")
    return text


paths = list_of(a_path, "[src/greeter.py]")


globs = list_of(a_path, "[tests/test_greeter.py, 'tests/data/**']")


def a_number(value: object, expected: str = "the number of a checkpoint") -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unfit(expected)
    return value


def a_size(value: object) -> int:
    return a_number(value, "about how many lines it changes, such as 120")


def yes_or_no(value: object) -> bool:
    if not isinstance(value, bool):
        raise Unfit("yes or no")
    return value


numbers = list_of(a_number, "[1, 2]")


def an_agent(value: object) -> str:
    if not isinstance(value, str) or not _AGENT.fullmatch(value):
        raise Unfit("shell, claude, codex, opencode or acp:<command>")
    return value


def an_account(value: object) -> str:
    if not isinstance(value, str) or not (_ACCOUNT.fullmatch(value) or not value):
        raise Unfit("a name for the login, of letters, digits and -_.@, such as claude or work@example.com")
    return value


def a_budget(value: object) -> Amounts:
    texts = tuple(map(a_text, value)) if isinstance(value, list) else (a_text(value),) if value != "" else ()
    try:
        amounts = read_amounts(texts)
    except BadField as error:
        raise Unfit(f"a budget ({error.reason})") from None
    if len(write_amounts(amounts)) != len(texts):
        raise Unfit("each of usd, tokens, turns and s once, such as [5usd, 2000000tokens]")
    return amounts


def a_model(value: object) -> str:
    if not isinstance(value, str) or not _MODEL.fullmatch(value):
        raise Unfit("a model as the agent names it, such as opus")
    return value


def one_of(values: type[StrEnum]) -> Check:
    def check(value: object) -> StrEnum:
        if not isinstance(value, str) or value not in list(values):
            raise Unfit("one of " + ", ".join(values))
        return values(value)

    return check


def a_sandbox(value: object) -> object:
    return Sandboxing.OFF if value is False else one_of(Sandboxing)(value)  # `off` is YAML's word for no


def a_host(value: object) -> str:
    if not isinstance(value, str) or not _HOST.fullmatch(value):
        raise Unfit(
            "a host's name, with its port if that is not 443, such as pypi.example.com or localhost:8000"
        )
    return value


hosts = list_of(a_host, "[pypi.example.com]")


def an_outside_path(value: object) -> str:
    text = a_text(value)
    if not text.startswith(("/", "~/")):
        raise Unfit("a path outside the tree, such as ~/.cache/uv or /var/lib/data")
    return text


outside_paths = list_of(an_outside_path, "[~/.cache/uv]")
