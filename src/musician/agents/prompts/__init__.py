"""Turns a piece into a model's prompt: the plan's own words, and one short file for the kind of piece.

The files are the program's whole instruction to a model that it drives: the engine prompts piece by piece, so nothing
of the protocol has to be known. A conversation begins with a briefing and the rules; a subagent gets neither.
The size of each is bounded (``tests/agents/test_prompts.py``).
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from musician.agents.port import Piece, PieceKind

_FILES = {PieceKind.STEP: "step.md", PieceKind.AGENT: "agent.md", PieceKind.REWORK: "rework.md"}
"""The prose of a review, or of a question, says by itself how it is answered."""


def prompt_of(piece: Piece) -> str:
    """Return the whole prompt. Its first line names the item, unless a briefing comes first."""
    head = f"{piece.item}: {piece.title}"
    words = [piece.prose, *(_suggested(script) for script in piece.scripts if script)]
    match piece.kind:
        case PieceKind.REVIEW | PieceKind.ANSWER:
            return _joined(head, *words)
        case PieceKind.AGENT:
            return _joined(piece.briefing, _for_subagent(head, piece, _joined(*words, piece.feedback)))
        case kind:
            return _joined(piece.briefing, head, *words, piece.feedback, rules_of(kind))


def _suggested(script: str) -> str:
    return f"The plan suggests:\n\n```bash\n{script.rstrip()}\n```"


def _for_subagent(head: str, piece: Piece, requirements: str) -> str:
    """Return a subagent's prompt: the sources' five parts, and nothing about the orchestra (sources "Subagent
    Prompt Structure").
    """
    files, tests = (", ".join(f"`{each}`" for each in several) for several in (piece.files, piece.tests))
    return rules_of(PieceKind.AGENT).format(
        head=head,
        files=files or "as the requirements name them",
        tests=tests or "as the project has them",
        requirements=requirements or "As the task says.",
    )


def _joined(*parts: str) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip())


def rules_of(kind: PieceKind) -> str:
    """Return the rules for every piece of a kind."""
    return _text(_FILES[kind])


def common_rules(*, is_test_first: bool, style: str) -> str:
    """Return the rules for every piece; ``style`` stands in place of the sources' own, "" does not."""
    first = [_text("test_first.md")] if is_test_first else []
    return "\n".join((_text("common.md"), *first, style.strip() or _text("style.md")))


def begun_with(about: str, where: str, rules: str) -> str:
    """Return a briefing: what the task is about, where it stands, and how it is played."""
    return _joined(_text("briefing.md").format(about=about, where=where), rules)


def gone_on_with(where: str, rules: str) -> str:
    """Return the opening for a conversation whose process was lost in the middle."""
    return _joined(_text("resumed.md").format(where=where), rules)


def after_refusal(reasons: Iterable[str]) -> str:
    """Return the message with a refusal's reason, for a protocol whose refusals cannot carry one."""
    told = "\n".join(f"refused: {reason}" for reason in dict.fromkeys(reasons))
    return f"What you asked leave for is not allowed.\n{told}\nGo on with the piece without it."


@cache
def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()
