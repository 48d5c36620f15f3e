"""What of a model's text is a question that it ends with, by its tag or in words."""

import anyio
import pytest

from musician.agents.hearing import Hearing
from musician.agents.port import AgentEvent


async def _ignore(_: AgentEvent) -> None:
    pass


def asks(text: str, size: int = 4096) -> str:
    async def hear() -> str:
        hearing = Hearing(_ignore)
        data = text.encode()
        for start in range(0, len(data), size):
            await hearing.hear(data[start : start + size])
        await hearing.close()
        return hearing.asks

    return anyio.run(hear)


@pytest.mark.parametrize("size", [1, 5, 4096])
@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Which port?", "Which port?"),
        (
            "I looked.\n\nTwo ways:\n- a\n- b\nShall I take **a or b?**\n\n",
            "Two ways: - a - b Shall I take **a or b?**",
        ),
        ("Which port? Tell me and I go on.", "Which port? Tell me and I go on."),
        ("どのポートですか？", "どのポートですか？"),
        ("::question which port", "which port"),
        ("Hm.\n::question which port\n::deviation Low other\n\n", "which port"),
        ("::question which port\nNever mind, I took 80.", ""),
        ("Why not? Because.\nI took 80.", ""),
        ("See http://x.org/?a=b for more", ""),
        ("done", ""),
        ("", ""),
        ("::context 30%", ""),
    ],
)
def test_the_question_that_a_text_ends_with(text: str, question: str, size: int) -> None:
    assert asks(text, size) == question


def test_a_question_is_bounded_and_one_line() -> None:
    found = asks("\n".join(["\x1b[31m" + "x" * 300] * 50) + "?")
    assert len(found) <= 1000
    assert found.isprintable()
