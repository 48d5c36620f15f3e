"""Ids and the names made from them (D8, sources "Session Handoff").

An id becomes a file name, a branch name and a row key, so it is checked here before anything is touched.
"""

import re
from collections.abc import Collection

from musician.protocol.errors import BadId, NoSession

CONDUCTOR = "task-00"
"""The conductor's own row, and the sender of all its messages."""

FALLBACK_PREFIX = "fallback-"

NO_PLAN = "tasks"
"""Stands for the plan in the names of what belongs to a task without one."""

_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9])){0,63}", re.ASCII)
_SUCCESSION = re.compile(r"musician-(?P<task>.+?)(?:-S(?P<number>[2-9]|[1-9][0-9]+))?", re.ASCII)
_CONTEXT_BLOCK = re.compile(
    r"^[ \t>*-]*Task ID[ *]*:[ *`]*([^\s*`]+)", re.ASCII | re.IGNORECASE | re.MULTILINE
)
_LIKE_A_TASK = re.compile(r"#[0-9]{1,9}|task-[A-Za-z0-9](?:[A-Za-z0-9._-]{0,58})", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
_PUNCTUATION = ".,;:!?()[]{}\"'`*"
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?", re.ASCII | re.IGNORECASE)
_ABSENT_SESSIONS = frozenset({"", "null", "none", "undefined"})


def check_task_id(task_id: str) -> str:
    """Return ``task_id`` if it may name a task of a plan; raise :class:`BadId` otherwise."""
    _check(task_id, kind="task")
    if is_reserved(task_id):
        raise BadId(kind="task", value=task_id, reason=f"{CONDUCTOR} and {FALLBACK_PREFIX}… are reserved")
    if task_id.lower().endswith(".log"):
        raise BadId(kind="task", value=task_id, reason="names that end in .log are those of log files")
    return task_id


def check_plan_id(plan_id: str) -> str:
    """Return ``plan_id`` if it may name a plan; raise :class:`BadId` otherwise."""
    try:
        check_task_id(plan_id)
    except BadId as error:
        raise BadId(kind="plan", value=plan_id, reason=error.reason) from None
    if plan_id.lower() == NO_PLAN:
        raise BadId(kind="plan", value=plan_id, reason=f"{NO_PLAN} stands for tasks without a plan")
    return plan_id


def check_session_id(session_id: str | None) -> str:
    """Return ``session_id`` if it may own a claim.

    A missing, empty or "null" id owns nothing: :class:`NoSession`.
    """
    if session_id is None or session_id.strip().lower() in _ABSENT_SESSIONS:
        raise NoSession(value=session_id)
    return _check(session_id, kind="session")


def is_reserved(task_id: str) -> bool:
    """Whether the row belongs to the conductor or to a blocked session, not to a plan."""
    return task_id == CONDUCTOR or task_id.startswith(FALLBACK_PREFIX)


def fallback_id(session_id: str) -> str:
    """Return the id of the row that a blocked session writes so that it may end."""
    return FALLBACK_PREFIX + session_id


def parse_launch_reference(text: str) -> str:
    """Return the task of a launch prompt: ``#3`` and ``3`` are ``task-03``, anything else is an id."""
    number = text.strip().removeprefix("#")
    if number.isascii() and number.isdigit():
        return check_task_id(f"task-{int(number):02d}")
    return check_task_id(text.strip())


def launch_words(text: str) -> list[str]:
    """Return the words of a launch prompt that may name the task."""
    named = _CONTEXT_BLOCK.search(text)
    return [named[1]] if named else [word.strip(_PUNCTUATION) for word in text.split()]


def parse_launch_prompt(text: str, known: Collection[str] = ()) -> str:
    """Return the task that a launch prompt names, in the sources' forms or in a person's own words.

    It is in the context block of the sources' standard prompt, or it is the first word, or one word among others, as in
    "Read task #3 from messages". A word names a task if it is one of the ``known`` ids, looks like ``task-03`` or
    ``#3``, or, if there is no such word, is a number. Raises :class:`BadId` if no task is named, or several are.
    """
    words = launch_words(text)
    if len(words) == 1:
        return parse_launch_reference(words[0])
    for is_task in (lambda word: word in known or _LIKE_A_TASK.fullmatch(word), _NUMBER.fullmatch):
        found = tuple(dict.fromkeys(parse_launch_reference(word) for word in words if is_task(word)))
        if len(found) == 1 or (found and is_task(words[0]) and not _NUMBER.fullmatch(words[0])):
            return found[0]
        if found:
            raise BadId(kind="task", value=text, reason=f"name one of {', '.join(found)}")
    raise BadId(kind="task", value=text, reason="name a task, as in task-03, #3 or 3")


def succession_name(task_id: str, number: int) -> str:
    """``musician-task-03`` for the first session of a task, ``musician-task-03-S2`` for the second."""
    if number < 1:
        raise ValueError(f"sessions are counted from 1, not {number}")
    return f"musician-{task_id}" if number == 1 else f"musician-{task_id}-S{number}"


def succession_number(worked_by: str, task_id: str) -> int | None:
    """Which session of ``task_id`` a ``worked_by`` value names; None if it names no session of it."""
    match = _SUCCESSION.fullmatch(worked_by)
    if match is None:
        return None
    if worked_by == succession_name(task_id, 1):
        return 1  # a task id may itself end in "-S2"
    if match["task"] != task_id or match["number"] is None:
        return None
    return int(match["number"])


def _check(value: str, *, kind: str) -> str:
    if not _ID.fullmatch(value):
        raise BadId(
            kind=kind,
            value=value,
            reason="1 to 64 of A-Z a-z 0-9 _ - and single dots between them, starting with a letter or digit",
        )
    if _DEVICE.fullmatch(value):
        raise BadId(kind=kind, value=value, reason="a device name on some systems")
    if value.endswith(".lock"):
        raise BadId(kind=kind, value=value, reason="git keeps names that end in .lock for itself")
    return value
