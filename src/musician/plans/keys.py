"""Reads the YAML keys of a plan, a task and an instruction file (DESIGN 7).

Keys are untrusted input. No object is constructed from a YAML tag, and no value is coerced (``no`` is not text, ``007``
is not an id). An unknown or repeated key is a problem; a key without a value counts as missing. Paths are relative to
the project and stay inside it. Ids are checked before anything is named after them (D8, B43).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from difflib import get_close_matches
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

import yaml

from musician.plans.markdown import Document, Fence
from musician.plans.model import (
    MAX_COMMAND_BYTES,
    MAX_TITLE_CHARACTERS,
    Answers,
    Changes,
    Isolation,
    Network,
    Require,
    Review,
    Sandboxing,
)
from musician.plans.problems import Report, control_characters, shorten
from musician.protocol.errors import BadField, BadId
from musician.protocol.names import check_plan_id, check_task_id
from musician.protocol.rules.ceilings import Amounts, read_amounts, write_amounts
from musician.protocol.values import dataclass, replace

_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
_AGENT = re.compile(r"shell|claude|codex|opencode|acp:.*\S.*")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[1-9][0-9]{0,4})?")
_ACCOUNT = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.@-]{0,62}[A-Za-z0-9])?")
_MODEL = re.compile(r"[^\s\x00-\x1f\x7f-][^\s\x00-\x1f\x7f]{0,199}|")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The keys of a plan or a task; None where a key is missing. ``lines`` has the line of each key.

    An empty ``test``, ``setup``, ``reviewer``, ``copy``, ``share`` and the like in a task switch the plan's value off.
    """

    task: str | None = None
    plan: str | None = None
    title: str | None = None
    instructions: str | None = None
    files: tuple[str, ...] | None = None
    danger: tuple[str, ...] | None = None
    after: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    agent: str | None = None
    account: str | None = None
    budget: Amounts | None = None
    model: str | None = None
    subagent_model: str | None = None
    test_first: bool | None = None
    review: Review | None = None
    reviewer: str | None = None
    answers: Answers | None = None
    answerer: str | None = None
    isolation: Isolation | None = None
    test: str | None = None
    setup: str | None = None
    pause_siblings_at: tuple[int, ...] | None = None
    copy: tuple[str, ...] | None = None
    share: tuple[str, ...] | None = None
    sandbox: Sandboxing | None = None
    network: Network | None = None
    reach: tuple[str, ...] | None = None
    sandbox_write: tuple[str, ...] | None = None
    sandbox_read: tuple[str, ...] | None = None
    may_change: tuple[str, ...] | None = None
    may_pass_before: bool | None = None
    changes: Changes | None = None
    require: Require | None = None
    lines: Mapping[str, int] = field(default_factory=dict)

    def over(self, other: "Keys") -> "Keys":
        """Return these keys, with the missing ones taken from ``other``."""
        added = {name: getattr(other, name) for name in Keys.__annotations__ if getattr(self, name) is None}
        return replace(self, **added, lines={**other.lines, **self.lines})

    @property
    def of_tasks(self) -> "Keys":
        """The keys of a plan that are defaults for its tasks."""
        names = [key.replace("-", "_") for key in _SHARED_CHECKS]
        return Keys(**{name: getattr(self, name) for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKeys:
    """The keys of a subagent's piece; None where a key is missing."""

    size: int | None = None
    files: tuple[str, ...] | None = None
    well_defined: bool | None = None
    lines: Mapping[str, int] = field(default_factory=dict)


class _Unfit(Exception):
    """A value is of the wrong kind. The text says what was expected."""


_UNREADABLE = object()
"""Stands for every YAML value that is not text, a number, yes or no, or a list of these."""

_Check = Callable[[object], object]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Unfit('text; put it in quotes, "…"')
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in value):  # YAML's escapes can write both
        raise _Unfit("text without a NUL character or half of a surrogate pair")
    return value


def _title(value: object) -> str:
    text = _text(value)
    if control_characters(text) or len(text) > MAX_TITLE_CHARACTERS:
        raise _Unfit(
            f"one line of at most {MAX_TITLE_CHARACTERS} characters, none of them a control character"
        )
    return text


def _command(value: object) -> str:
    text = _text(value)
    if len(text.encode()) > MAX_COMMAND_BYTES:
        raise _Unfit(f"a command of at most {MAX_COMMAND_BYTES} bytes; put what is longer into a script")
    return text


def _list(value: object, check: Callable[[object], Any], example: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _Unfit(f"a list, such as {example}")
    return tuple(check(item) for item in value)


def _texts(value: object) -> tuple[str, ...]:
    return _list(value, _text, "[docs, quick]")


def _id(value: object, check: Callable[[str], str] = check_task_id) -> str:
    try:
        return check(_text(value))
    except BadId as error:
        raise _Unfit(f"an id ({error.remedy})") from None


def _plan_id(value: object) -> str:
    return _id(value, check_plan_id)


def _ids(value: object) -> tuple[str, ...]:
    return _list(value, _id, "[task-01, task-02]")


def _path(value: object) -> str:
    text = _text(value)
    path = PurePosixPath(text)
    if not text or "\\" in text or "\0" in text or path.is_absolute() or ".." in path.parts:
        raise _Unfit("a path inside the project, written from its root, such as docs/notes.md")
    return text


def _paths(value: object) -> tuple[str, ...]:
    return _list(value, _path, "[src/greeter.py]")


def _globs(value: object) -> tuple[str, ...]:
    return _list(value, _path, "[tests/test_greeter.py, 'tests/data/**']")


def _number(value: object, expected: str = "the number of a checkpoint") -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Unfit(expected)
    return value


def _size(value: object) -> int:
    return _number(value, "about how many lines it changes, such as 120")


def _yes_or_no(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Unfit("yes or no")
    return value


def _numbers(value: object) -> tuple[int, ...]:
    return _list(value, _number, "[1, 2]")


def _agent(value: object) -> str:
    if not isinstance(value, str) or not _AGENT.fullmatch(value):
        raise _Unfit("shell, claude, codex, opencode or acp:<command>")
    return value


def _account(value: object) -> str:
    if not isinstance(value, str) or not (_ACCOUNT.fullmatch(value) or not value):
        raise _Unfit("a name for the login, of letters, digits and -_.@, such as claude or work@example.com")
    return value


def _budget(value: object) -> Amounts:
    texts = tuple(map(_text, value)) if isinstance(value, list) else (_text(value),) if value != "" else ()
    try:
        amounts = read_amounts(texts)
    except BadField as error:
        raise _Unfit(f"a budget ({error.reason})") from None
    if len(write_amounts(amounts)) != len(texts):
        raise _Unfit("each of usd, tokens, turns and s once, such as [5usd, 2000000tokens]")
    return amounts


def _model(value: object) -> str:
    if not isinstance(value, str) or not _MODEL.fullmatch(value):
        raise _Unfit("a model as the agent names it, such as opus")
    return value


def _one_of(values: type[StrEnum]) -> _Check:
    def check(value: object) -> StrEnum:
        if not isinstance(value, str) or value not in list(values):
            raise _Unfit("one of " + ", ".join(values))
        return values(value)

    return check


def _sandbox(value: object) -> object:
    return Sandboxing.OFF if value is False else _one_of(Sandboxing)(value)  # `off` is YAML's word for no


def _host(value: object) -> str:
    if not isinstance(value, str) or not _HOST.fullmatch(value):
        raise _Unfit(
            "a host's name, with its port if that is not 443, such as pypi.example.com or localhost:8000"
        )
    return value


def _hosts(value: object) -> tuple[str, ...]:
    return _list(value, _host, "[pypi.example.com]")


def _outside_path(value: object) -> str:
    text = _text(value)
    if not text.startswith(("/", "~/")):
        raise _Unfit("a path outside the tree, such as ~/.cache/uv or /var/lib/data")
    return text


def _outside_paths(value: object) -> tuple[str, ...]:
    return _list(value, _outside_path, "[~/.cache/uv]")


_SHARED_CHECKS: dict[str, _Check] = {
    "agent": _agent,
    "account": _account,
    "budget": _budget,
    "model": _model,
    "subagent-model": _model,
    "test-first": _yes_or_no,
    "review": _one_of(Review),
    "reviewer": _text,
    "answers": _one_of(Answers),
    "answerer": _text,
    "isolation": _one_of(Isolation),
    "test": _command,
    "setup": _command,
    "copy": _paths,
    "share": _paths,
    "sandbox": _sandbox,
    "network": _one_of(Network),
    "reach": _hosts,
    "sandbox-write": _outside_paths,
    "sandbox-read": _outside_paths,
}
"""The keys that a plan may give as defaults for its tasks."""

_PLAN_CHECKS: dict[str, _Check] = {
    "plan": _plan_id,
    "title": _title,
    **_SHARED_CHECKS,
    "require": _one_of(Require),
}

_TASK_CHECKS: dict[str, _Check] = {
    "files": _paths,
    "danger": _paths,
    "after": _ids,
    **_SHARED_CHECKS,
    "labels": _texts,
    "pause-siblings-at": _numbers,
    "may-change": _globs,
    "may-pass-before": _yes_or_no,
    "changes": _one_of(Changes),
    "instructions": _path,
}

_FILE_CHECKS: dict[str, _Check] = {
    "task": _id,
    "plan": _plan_id,
    "title": _title,
    **{key: check for key, check in _TASK_CHECKS.items() if key != "instructions"},
}

_AGENT_CHECKS: dict[str, _Check] = {"size": _size, "files": _paths, "well-defined": _yes_or_no}


def read_plan_keys(document: Document, report: Report) -> Keys:
    """Read the front matter of a plan."""
    return Keys(**_read_front_matter(document, _PLAN_CHECKS, report))


def read_file_keys(document: Document, report: Report) -> Keys:
    """Read the front matter of an instruction file."""
    return Keys(**_read_front_matter(document, _FILE_CHECKS, report))


def read_task_keys(fence: Fence | None, report: Report) -> Keys:
    """Read the ``yaml task`` block of a task inside a plan."""
    return Keys(**_read(fence.content, _TASK_CHECKS, fence.line + 1, report)) if fence else Keys()


def read_agent_keys(fence: Fence | None, report: Report) -> AgentKeys:
    """Read the ``yaml agent`` block of a subagent's piece."""
    return AgentKeys(**_read(fence.content, _AGENT_CHECKS, fence.line + 1, report)) if fence else AgentKeys()


def _read_front_matter(document: Document, checks: Mapping[str, _Check], report: Report) -> dict[str, Any]:
    front = document.front_matter
    if front is not None:
        return _read(front.content, checks, front.line + 1, report)
    if document.lines[0].startswith("---"):
        report(1, "front matter that is never closed", "a second line `---` behind its keys")
    return {}


def _read(text: str, checks: Mapping[str, _Check], first_line: int, report: Report) -> dict[str, Any]:
    """Return the values that pass their ``checks``, by field name, with the ``lines`` of the keys."""
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key_node, value_node in _pairs(text, first_line, report):
        key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
        line = first_line + key_node.start_mark.line
        if key not in checks:
            report(line, f"the key `{shorten(key)}`", _known(key, checks))
        elif key in lines:
            report(line, f"the key `{key}` a second time", f"it once (first in line {lines[key]})")
        else:
            lines[key] = line
            value = _plain(value_node)
            if value is None:
                continue
            try:
                values[key.replace("-", "_")] = checks[key](value)
            except _Unfit as unfit:
                given = text[value_node.start_mark.index : value_node.end_mark.index]
                report(line, f"`{key}: {shorten(given)}`", str(unfit))
    return {**values, "lines": lines}


def _pairs(text: str, first_line: int, report: Report) -> list[tuple[yaml.Node, yaml.Node]]:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first_line + (mark.line if mark else 0)
        report(
            line,
            f"YAML that cannot be read ({error.problem})",
            "`key: value`, with quotes around unusual text",
        )
        return []
    except (yaml.YAMLError, RecursionError):
        report(
            first_line, "YAML that cannot be read (an odd character or deep nesting)", "lines of `key: value`"
        )
        return []
    if node is None:
        return []
    if not isinstance(node, yaml.MappingNode):
        report(first_line + node.start_mark.line, f"`{shorten(text)}`", "lines of `key: value`")
        return []
    return list(node.value)


def _plain(node: yaml.Node) -> object:
    if isinstance(node, yaml.SequenceNode):
        return [_scalar(item) for item in node.value]
    return _scalar(node)


def _scalar(node: yaml.Node) -> object:
    if isinstance(node, yaml.ScalarNode):
        if node.tag == "tag:yaml.org,2002:null":
            return None
        if node.tag == "tag:yaml.org,2002:str":
            return str(node.value)
        if node.tag == "tag:yaml.org,2002:int" and _NUMBER.fullmatch(node.value):
            return int(node.value)
        if node.tag == "tag:yaml.org,2002:bool":
            return node.value.lower() in ("yes", "true", "on")
    return _UNREADABLE


def _known(key: str, checks: Mapping[str, _Check]) -> str:
    near = get_close_matches(key.lower().replace("_", "-"), checks, n=1)
    known = ", ".join(checks)
    return f"`{near[0]}` (the keys here are {known})" if near else f"one of {known}"
