"""Reads the YAML keys of a plan, a task and an instruction file (DESIGN 7).

No object is constructed from a YAML tag. An unknown or repeated key is a problem; a key without a value counts as
missing. What a value may be says ``kinds``.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from difflib import get_close_matches
from typing import Any

import yaml

from musician.plans import kinds
from musician.plans.markdown import Document, Fence
from musician.plans.model import Answers, Changes, Isolation, Network, Require, Review
from musician.plans.problems import Report, shorten
from musician.protocol.values import dataclass

_NUMBER = re.compile(r"[1-9][0-9]{0,5}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The ``values`` of keys that have one, by the names of :class:`TaskSpec`'s fields, and the line of each key.

    An empty ``test``, ``setup``, ``reviewer``, ``copy``, ``share`` and the like in a task switch the plan's value off.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        """Return a value; None where its key is missing."""
        return self.values.get(name)

    def over(self, other: "Keys") -> "Keys":
        """Return these keys, with the missing ones taken from ``other``."""
        return Keys(values={**other.values, **self.values}, lines={**other.lines, **self.lines})

    @property
    def of_tasks(self) -> "Keys":
        """The keys of a plan that are defaults for its tasks."""
        names = {key.replace("-", "_") for key in _SHARED_CHECKS}
        return Keys(values={name: value for name, value in self.values.items() if name in names})


_SHARED_CHECKS: dict[str, kinds.Check] = {
    "agent": kinds.an_agent,
    "account": kinds.an_account,
    "budget": kinds.a_budget,
    "model": kinds.a_model,
    "subagent-model": kinds.a_model,
    "test-first": kinds.yes_or_no,
    "review": kinds.one_of(Review),
    "reviewer": kinds.a_text,
    "answers": kinds.one_of(Answers),
    "answerer": kinds.a_text,
    "isolation": kinds.one_of(Isolation),
    "test": kinds.a_command,
    "setup": kinds.a_command,
    "copy": kinds.paths,
    "share": kinds.paths,
    "sandbox": kinds.a_sandbox,
    "network": kinds.one_of(Network),
    "reach": kinds.hosts,
    "sandbox-write": kinds.outside_paths,
    "sandbox-read": kinds.outside_paths,
}
"""The keys that a plan may give as defaults for its tasks."""

_PLAN_CHECKS: dict[str, kinds.Check] = {
    "plan": kinds.a_plan_id,
    "title": kinds.a_title,
    **_SHARED_CHECKS,
    "require": kinds.one_of(Require),
}

_TASK_CHECKS: dict[str, kinds.Check] = {
    "files": kinds.paths,
    "danger": kinds.paths,
    "after": kinds.ids,
    **_SHARED_CHECKS,
    "labels": kinds.texts,
    "pause-siblings-at": kinds.numbers,
    "may-change": kinds.globs,
    "may-pass-before": kinds.yes_or_no,
    "changes": kinds.one_of(Changes),
    "instructions": kinds.a_path,
}

_FILE_CHECKS: dict[str, kinds.Check] = {
    "task": kinds.an_id,
    "plan": kinds.a_plan_id,
    "title": kinds.a_title,
    **{key: check for key, check in _TASK_CHECKS.items() if key != "instructions"},
}

_AGENT_CHECKS: dict[str, kinds.Check] = {
    "size": kinds.a_size,
    "files": kinds.paths,
    "well-defined": kinds.yes_or_no,
}


def read_plan_keys(document: Document, report: Report) -> Keys:
    """Read the front matter of a plan."""
    return _read_front_matter(document, _PLAN_CHECKS, report)


def read_file_keys(document: Document, report: Report) -> Keys:
    """Read the front matter of an instruction file."""
    return _read_front_matter(document, _FILE_CHECKS, report)


def read_task_keys(fence: Fence | None, report: Report) -> Keys:
    """Read the ``yaml task`` block of a task inside a plan."""
    return _read(fence.content, _TASK_CHECKS, fence.line + 1, report) if fence else Keys()


def read_agent_keys(fence: Fence, report: Report) -> Keys:
    """Read the ``yaml agent`` block of a subagent's piece."""
    return _read(fence.content, _AGENT_CHECKS, fence.line + 1, report)


def _read_front_matter(document: Document, checks: Mapping[str, kinds.Check], report: Report) -> Keys:
    front = document.front_matter
    if front is not None:
        return _read(front.content, checks, front.line + 1, report)
    if document.lines[0].startswith("---"):
        report(1, "front matter that is never closed", "a second line `---` behind its keys")
    return Keys()


def _read(text: str, checks: Mapping[str, kinds.Check], first_line: int, report: Report) -> Keys:
    """Return the values that pass their ``checks``."""
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
            except kinds.Unfit as unfit:
                given = text[value_node.start_mark.index : value_node.end_mark.index]
                report(line, f"`{key}: {shorten(given)}`", str(unfit))
    return Keys(values=values, lines=lines)


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
    return kinds.UNREADABLE


def _known(key: str, checks: Mapping[str, kinds.Check]) -> str:
    near = get_close_matches(key.lower().replace("_", "-"), checks, n=1)
    known = ", ".join(checks)
    return f"`{near[0]}` (the keys here are {known})" if near else f"one of {known}"
