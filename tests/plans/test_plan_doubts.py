"""``plan check`` warns of what a plan says and its author hardly meant; ``plan graph`` draws it."""

import pytest

from musician.plans.graph import draw_mermaid, draw_text
from musician.plans.model import Plan
from musician.plans.plan import parse_plan
from musician.plans.warnings import warnings_of

RUN = "```bash run\ntrue\n```\n"
STEP = f"#### Step 1: S\n{RUN}"
CHECK = "#### Checkpoint 1: C\n- test: `make test`\n"


def plan(*tasks: tuple[str, str, str], test: str = "make test", rest: str = "") -> Plan:
    """Return a plan with tasks of (id, keys, body)."""
    parts = [f"### {name}: Task <{name}>\n```yaml task\n{keys}\n```\n{body}" for name, keys, body in tasks]
    text = f"---\nplan: p\ntest: {test!r}\n---\n# T\n## Phase 1: A & B\n" + "".join(parts) + rest
    return parse_plan(text, path="PLAN.md", read_file=lambda _: None)


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("files: [a.py]", "files: [a.py, b.py]", "a.py"),
        ("files: [src]", "files: [src/a.py]", "src/a.py"),
        ("files: [src/a.py]", "files: [src/]", "src/a.py"),
        ("files: [a.py]", "files: [a.pyi]", ""),
        ("files: [a.py]", "{files: [a.py], after: [t1]}", ""),
        ("danger: [a.py]", "files: [a.py]", ""),
        ("danger: [src]", "files: [src/a.py]", "src/a.py"),
    ],
)
def test_siblings_that_touch_the_same_files_are_told(one: str, other: str, shared: str) -> None:
    """Not those that are never played at once."""
    found = warnings_of(plan(("t1", one, STEP), ("t2", other, STEP)))
    assert [shared in each and "t1 and t2" in each for each in found] == ([True] if shared else [])


def test_who_waits_for_who_waits_is_not_played_at_the_same_time() -> None:
    tasks = (
        ("t1", "files: [a]", STEP),
        ("t2", "after: [t1]", STEP),
        ("t3", "{files: [a], after: [t2]}", STEP),
    )
    assert warnings_of(plan(*tasks)) == ()


def test_a_subagents_files_count() -> None:
    piece = "##### Agent 1: D\n```yaml agent\nfiles: [a.py]\n```\n" + RUN
    (found,) = warnings_of(plan(("t1", "{}", STEP + piece), ("t2", "files: [a.py]", STEP)))
    assert "a.py" in found


def test_a_task_of_several_steps_without_a_checkpoint_is_told_with_its_line() -> None:
    steps = STEP + STEP.replace("1", "2")
    (found,) = warnings_of(plan(("t1", "{}", steps)))
    assert found.startswith("PLAN.md:7: t1 has 2 steps and no checkpoint")
    assert warnings_of(plan(("t1", "{}", steps + CHECK))) == ()


@pytest.mark.parametrize("test", ["true", ":", "echo ok", "exit 0"])
def test_a_command_that_tests_nothing_is_told(test: str) -> None:
    (found,) = warnings_of(plan(("t1", "{}", STEP), test=test))
    assert f"t1 is verified by nothing: `test: {test}` tests nothing" in found


def test_what_is_verified_or_changes_nothing_is_not_told() -> None:
    assert warnings_of(plan(("t1", "{}", STEP + CHECK), test="true")) == ()
    assert warnings_of(plan(("t1", "changes: none", STEP), test="true")) == ()
    assert warnings_of(plan(("t1", "{}", STEP), test="echo begin && make test")) == ()


def test_a_shell_task_that_does_nothing_is_told() -> None:
    (found,) = warnings_of(plan(("t1", "{}", "#### Step 1: Think\nHard.\n")))
    assert "nothing is done" in found
    assert warnings_of(plan(("t1", "agent: claude", "#### Step 1: Think\nHard.\n"))) == ()


DRAWN = plan(
    ("t1", "danger: [a.py]", STEP),
    ("t2", "files: [a.py]", STEP),
    ("t3", "after: [t1]", STEP),
    rest=f'## Phase 2: "Last"\n### t4: Put together\n{STEP}',
)


def test_a_plan_is_drawn_as_text() -> None:
    assert (
        draw_text(DRAWN)
        == """\
p: T
│
├─ Phase 1: A & B
│  ├─ t1  Task <t1>
│  ├─ t2  Task <t2>
│  └─ t3  Task <t3>  (after t1)
│     never at once: t1, t2 (a.py)
│
├─ Phase 2: "Last"
│  └─ t4  Put together
│
└─ complete"""
    )


def test_a_plan_is_drawn_for_mermaid_and_no_title_breaks_it() -> None:
    chart = draw_mermaid(DRAWN)
    assert '  subgraph p1["Phase 1: A #38; B"]' in chart
    assert '    t1["t1: Task #60;t1#62;"]' in chart
    assert "  p1 --> p2" in chart
    assert "  t1 --> t3" in chart
    assert '  t1 -. "a.py" .- t2' in chart
