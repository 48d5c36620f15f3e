"""Recognises the fences that have a function: ``bash run``, ``bash rework``, ``yaml task`` and ``yaml agent``.

Every other fence is an example for the reader. A fence that was probably meant to have a function (``bash rum``,
``python run``, a script that is never closed) is reported, because a script that silently does not run is lost work.
"""

import re
from enum import StrEnum

from musician.plans.markdown import Fence
from musician.plans.problems import Report, shorten

_SHELLS = frozenset({"bash", "sh"})
_YAML = frozenset({"yaml", "yml"})
_ATTRIBUTES = re.compile(r"""\w+=(?:"[^"]*"|'[^']*'|\S*)""")
_SEPARATORS = re.compile(r"[\s{}()\[\],:;|/+-]+\.?|(?<!\S)[.#]")
"""The characters around and between the words of an info string; ``run.py`` stays one word."""


class Role(StrEnum):
    """The function of a fence."""

    RUN = "run"
    REWORK = "rework"
    KEYS = "task"
    AGENT_KEYS = "agent"


def role_of(fence: Fence, report: Report) -> Role | None:
    """Return the function of a fence; None for an example, and for a fence whose mistake was reported."""
    if not fence.words:
        return None
    role = _exact(fence.words)
    if role is None:
        if _meant_to_act(fence.words):
            report(
                fence.line, quote_fence(fence), "```bash run, ```bash rework, ```yaml task or ```yaml agent"
            )
        return None
    if not fence.closed:
        report(fence.line, f"{quote_fence(fence)} that is never closed", "a line ``` behind its content")
        return None
    return role


def acts(words: tuple[str, ...]) -> bool:
    """Whether a fence with these words has a function, or was probably meant to have one."""
    return bool(words) and (_exact(words) is not None or _meant_to_act(words))


def quote_fence(fence: Fence) -> str:
    """Return the fence as its author sees it, for a problem's text."""
    return f"a fence ```{shorten(' '.join(fence.words))}"


def _exact(words: tuple[str, ...]) -> Role | None:
    match [word.lower() for word in words]:
        case [language, "run"] if language in _SHELLS:
            return Role.RUN
        case [language, "rework"] if language in _SHELLS:
            return Role.REWORK
        case [language, "task"] if language in _YAML:
            return Role.KEYS
        case [language, "agent"] if language in _YAML:
            return Role.AGENT_KEYS
        case _:
            return None


def _meant_to_act(words: tuple[str, ...]) -> bool:
    """True for ``{bash run}``, ``bash,run``, ``shell run`` and ``bash rum``, but not for ``title="how to run it"``."""
    bare = [word for word in _SEPARATORS.split(_ATTRIBUTES.sub(" ", " ".join(words).lower())) if word]
    if Role.RUN in bare or Role.REWORK in bare:
        return True
    return len(bare) > 1 and bare[0] in _SHELLS | _YAML and bare[1].isalpha()
