"""What a model is told to do, from a piece: the plan's own words, and one short file for its kind.

The files are the program's whole instruction to a model that it drives: the engine prompts piece by piece, so nothing
of the protocol has to be known. What each costs is bounded (``tests/agents/test_prompts.py``).
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from musician.agents.port import Piece, PieceKind

_FILES = {PieceKind.STEP: "step.md", PieceKind.AGENT: "agent.md", PieceKind.REWORK: "rework.md"}
"""A review's prose says by itself how it is answered."""


def prompt_of(piece: Piece) -> str:
    """The whole prompt; its first line names the item."""
    parts = [f"{piece.item}: {piece.title}", piece.prose]
    for script in filter(None, piece.scripts):
        parts.append(f"The plan suggests:\n\n```bash\n{script.rstrip()}\n```")
    if piece.kind is not PieceKind.REVIEW:
        parts += [piece.feedback, rules_of(piece.kind)]
    return "\n\n".join(part.strip() for part in parts if part.strip())


@cache
def rules_of(kind: PieceKind) -> str:
    """What holds for every piece of a kind."""
    folder = Path(__file__).parent
    common = (folder / "common.md").read_text(encoding="utf-8")
    return f"{(folder / _FILES[kind]).read_text(encoding='utf-8').strip()}\n\n{common.strip()}"


def after_refusal(reasons: Iterable[str]) -> str:
    """For a protocol that has no room for the reason in the refusal itself."""
    told = "\n".join(f"refused: {reason}" for reason in dict.fromkeys(reasons))
    return f"What you asked leave for is not allowed.\n{told}\nGo on with the piece without it."
