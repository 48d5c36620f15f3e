"""What a model is told of each piece: the plan's words and a few rules, within a budget."""

import pytest

from musician.agents.port import Piece, PieceKind
from musician.agents.prompts import begun_with, common_rules, gone_on_with, prompt_of, rules_of
from musician.plans.model import TaskSpec
from musician.protocol.settings import Prompts, Settings
from musician.protocol.values import replace
from musician.runtime.briefing import rules_for
from tests.weight import tokens

WHOLE_LIFE_TOKENS = 1_200
"""What a hosted musician's protocol may add over a bare client, for the life of docs/CONTEXT.md."""

STEPS, REWORKS, STOPPED = 5, 1, 1
"""Of that life: five steps, a rejection, and a step that is begun anew after an urgent message."""


def piece(
    kind: PieceKind, *, feedback: str = "", scripts: tuple[str, ...] = ("make\n",), briefing: str = ""
) -> Piece:
    return Piece(
        kind=kind,
        task_id="task-01",
        item="step 1",
        title="Build",
        prose="All of it.",
        scripts=scripts,
        feedback=feedback,
        briefing=briefing,
        time_limit_s=1,
    )


def test_a_step_is_told_in_the_plans_own_words_first() -> None:
    told = prompt_of(piece(PieceKind.STEP))
    assert told.startswith("step 1: Build\n\nAll of it.\n\nThe plan suggests:\n\n```bash\nmake\n```\n\n")
    assert told.endswith(rules_of(PieceKind.STEP))


TEST_FIRST = "write its test first"
STYLE = "Keep to the instructions"
RULES = common_rules(is_test_first=True, style="")


def test_the_rules_are_told_with_the_briefing_and_not_again() -> None:
    briefing = begun_with("It is about pigeons.", "- step 1", RULES)
    first = prompt_of(piece(PieceKind.STEP, briefing=briefing))
    assert first.startswith("It is about pigeons.\n\n")
    assert f"\n- step 1\n\n{RULES}\n\nstep 1: Build\n\n" in first
    assert RULES in gone_on_with("", RULES)
    assert RULES not in prompt_of(piece(PieceKind.STEP))


def test_the_sources_manner_is_told_unless_the_settings_say_another() -> None:
    """S-MODEL-2: test-first where the work allows it, and the musician's style (sources "Key Principles")."""
    spec = task(test_first=None)
    assert TEST_FIRST in rules_for(spec, Settings())
    assert STYLE in rules_for(spec, Settings())
    own = Settings(prompts=Prompts(test_first=False, style="Be {brief}."))
    assert TEST_FIRST not in rules_for(spec, own)
    assert STYLE not in rules_for(spec, own)
    assert rules_for(spec, own).endswith("\nBe {brief}.")
    assert TEST_FIRST in rules_for(task(test_first=True), own), "the plan knows better than the settings"
    assert TEST_FIRST not in rules_for(task(test_first=False), Settings())


def task(*, test_first: bool | None) -> TaskSpec:
    return TaskSpec(
        task_id="task-01", title="", overview="", items=(), source_path="", line=1, test_first=test_first
    )


def test_a_rework_is_told_what_was_sent_back_and_how_it_answers() -> None:
    told = prompt_of(piece(PieceKind.REWORK, feedback="1. It is red.", scripts=()))
    assert told.index("1. It is red.") < told.index("::answer NUMBER WHAT")


def test_a_subagents_piece_is_told_in_the_five_parts_of_the_sources() -> None:
    """S-AGENT-2: task, context, requirements, constraints, deliverables; and S-MODEL-1: it tests its work itself."""
    given = replace(
        piece(PieceKind.AGENT, feedback="mind {braces}"), files=("a.py", "b.py"), tests=("make test",)
    )
    told = prompt_of(given)
    parts = [line for line in told.splitlines() if line.startswith("## ")]
    assert parts == ["## Task", "## Context", "## Requirements", "## Constraints", "## Deliverables"]
    task, context, requirements, constraints, deliverables = told.split("\n## ")
    assert "step 1: Build" in task
    assert "- Files: `a.py`, `b.py`\n- Tests: `make test`" in context
    assert requirements.endswith("All of it.\n\nThe plan suggests:\n\n```bash\nmake\n```\n\nmind {braces}\n")
    assert "Run the tests" in constraints
    assert "report" in deliverables
    assert not {"conductor", "database", "checkpoint", "session"} & set(told.split())


def test_a_review_says_by_itself_how_it_is_answered() -> None:
    told = prompt_of(piece(PieceKind.REVIEW, feedback="the submission, which its prose has", scripts=()))
    assert told == "step 1: Build\n\nAll of it."


def test_what_the_program_itself_says_to_a_model_is_within_its_budget() -> None:
    """The plan's words are read in any case; what stands in the files, and the list of the parts, is ours."""
    parts = "\n".join(f"- step {number} (Count the strokes): done. I counted them." for number in range(1, 8))
    ours = [begun_with("", parts, RULES), gone_on_with(parts, RULES)]
    ours += [rules_of(PieceKind.STEP)] * (STEPS + STOPPED) + [rules_of(PieceKind.REWORK)] * REWORKS
    assert sum(tokens(len(text.encode())) for text in ours) <= WHOLE_LIFE_TOKENS


@pytest.mark.parametrize("text", ["{about}", "100 % {done} \udc80"])
def test_a_plans_braces_are_its_own(text: str) -> None:
    assert text in begun_with(text, text, text)
    assert text in gone_on_with(text, text)
