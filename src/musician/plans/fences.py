"""The fences that do something: those with the words ``bash run``, ``bash rework``, ``yaml task`` and ``yaml agent``.

Every other fence is an example for the reader. One that was most likely meant to do something (``bash
rum``, ``python run``, a script that is never closed) is told, because a script that silently does not run
is lost work.
"""

from enum import StrEnum

from musician.plans.markdown import Block, Fence, ListItem
from musician.plans.problems import Report, shorten

__all__ = ["Role", "report_fences_in_list", "role_of"]

_SHELLS = frozenset({"bash", "sh"})
_YAML = frozenset({"yaml", "yml"})


class Role(StrEnum):
    """What a fence is for."""

    RUN = "run"
    REWORK = "rework"
    KEYS = "task"
    AGENT_KEYS = "agent"


def role_of(fence: Fence, report: Report) -> Role | None:
    """What the fence is for; None for an example, and for one whose mistake was reported."""
    if not fence.words:
        return None
    role = _exact(fence.words)
    if role is None:
        if _meant_to_act(fence.words):
            report(fence.line, _quote(fence), "```bash run, ```bash rework, ```yaml task or ```yaml agent")
        return None
    if not fence.closed:
        report(fence.line, f"{_quote(fence)} that is never closed", "a line ``` behind its content")
        return None
    return role


def report_fences_in_list(block: Block, report: Report) -> None:
    """Report what would act if it were not part of a list item."""
    if isinstance(block, ListItem):
        for fence in block.fences:
            if _exact(fence.words) is not None:
                report(
                    fence.line, f"{_quote(fence)} inside a list", "it at the left margin, outside the list"
                )


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
    lowered = [word.lower() for word in words]
    if Role.RUN in lowered or Role.REWORK in lowered:
        return True
    return lowered[0] in _SHELLS | _YAML and len(lowered) > 1 and lowered[1].isalpha()


def _quote(fence: Fence) -> str:
    return f"a fence ```{shorten(' '.join(fence.words))}"
