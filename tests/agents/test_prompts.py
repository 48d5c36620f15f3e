"""What a model is told of each piece: the plan's words and a few rules, within a budget."""

import pytest

from musician.agents.port import Piece, PieceKind
from musician.agents.prompts import prompt_of, rules_of

MOST_RULES_BYTES = 1100
"""Some 250 tokens for each piece; a life of docs/CONTEXT.md has four."""


def piece(kind: PieceKind, *, feedback: str = "", scripts: tuple[str, ...] = ("make\n",)) -> Piece:
    return Piece(
        kind=kind,
        task_id="task-01",
        item="step 1",
        title="Build",
        prose="All of it.",
        scripts=scripts,
        feedback=feedback,
        time_limit_s=1,
    )


@pytest.mark.parametrize(
    "kind", [kind for kind in PieceKind if kind is not PieceKind.REVIEW], ids=lambda kind: kind.value
)
def test_the_rules_of_a_piece_are_short(kind: PieceKind) -> None:
    assert len(rules_of(kind).encode()) <= MOST_RULES_BYTES


def test_a_step_is_told_in_the_plans_own_words_first() -> None:
    told = prompt_of(piece(PieceKind.STEP))
    assert told.startswith("step 1: Build\n\nAll of it.\n\nThe plan suggests:\n\n```bash\nmake\n```\n\n")
    assert told.endswith(rules_of(PieceKind.STEP))


def test_a_rework_is_told_what_was_sent_back_and_how_it_answers() -> None:
    told = prompt_of(piece(PieceKind.REWORK, feedback="1. It is red.", scripts=()))
    assert told.index("1. It is red.") < told.index("::answer NUMBER WHAT")


def test_a_review_says_by_itself_how_it_is_answered() -> None:
    told = prompt_of(piece(PieceKind.REVIEW, feedback="the submission, which its prose has", scripts=()))
    assert told == "step 1: Build\n\nAll of it."
