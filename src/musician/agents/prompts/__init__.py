"""What a model is told to do, from a piece: the plan's own words, and one short file for its kind.

The files are the program's whole instruction to a model that it drives: the engine prompts piece by piece, so nothing
of the protocol has to be known. A conversation begins with a briefing and the rules, and neither is said twice in it.
What each costs is bounded (``tests/agents/test_prompts.py``).
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from musician.agents.port import Piece, PieceKind

_FILES = {PieceKind.STEP: "step.md", PieceKind.AGENT: "agent.md", PieceKind.REWORK: "rework.md"}
"""A review's prose says by itself how it is answered."""


def prompt_of(piece: Piece) -> str:
    """The whole prompt. Where nothing goes before it, its first line names the item."""
    parts = [piece.briefing, common_rules() if piece.briefing else ""]
    parts += [f"{piece.item}: {piece.title}", piece.prose]
    for script in filter(None, piece.scripts):
        parts.append(f"The plan suggests:\n\n```bash\n{script.rstrip()}\n```")
    if piece.kind is not PieceKind.REVIEW:
        parts += [piece.feedback, rules_of(piece.kind)]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def rules_of(kind: PieceKind) -> str:
    """What holds for every piece of a kind."""
    return _text(_FILES[kind])


def common_rules() -> str:
    """What holds for every piece."""
    return _text("common.md")


def begun_with(about: str, where: str) -> str:
    """A briefing: what the task is about, and where it stands."""
    return _text("briefing.md").format(about=about, where=where)


def gone_on_with(where: str) -> str:
    """For a conversation whose process was lost in the middle."""
    return _text("resumed.md").format(where=where)


def after_refusal(reasons: Iterable[str]) -> str:
    """For a protocol that has no room for the reason in the refusal itself."""
    told = "\n".join(f"refused: {reason}" for reason in dict.fromkeys(reasons))
    return f"What you asked leave for is not allowed.\n{told}\nGo on with the piece without it."


@cache
def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()
