"""What an agent is told to do, from a piece."""

from collections.abc import Iterable

from musician.agents.port import Piece, PieceKind

_AS_STEP = (
    "Do only this, in the current folder. Do not push, do not make branches, do not delete or reset work, do not ask "
    "the user. What deviates from this is told in a line of its own: `::deviation Low|Medium|High what`."
)


def prompt_of(piece: Piece) -> str:
    """The whole prompt; its first line names the item."""
    parts = [f"{piece.item}: {piece.title}", piece.prose]
    for script in filter(None, piece.scripts):
        parts.append(f"The plan suggests:\n\n```bash\n{script.rstrip()}\n```")
    if piece.feedback:
        parts.append(f"It was sent back:\n\n{piece.feedback}")
    if piece.kind is not PieceKind.REVIEW:
        parts.append(_AS_STEP)
    return "\n\n".join(part.strip() for part in parts if part.strip())


def after_refusal(reasons: Iterable[str]) -> str:
    """The protocol has no room for the reason in the refusal itself."""
    told = "\n".join(f"refused: {reason}" for reason in dict.fromkeys(reasons))
    return f"What you asked leave for is not allowed.\n{told}\nGo on with the piece without it."
