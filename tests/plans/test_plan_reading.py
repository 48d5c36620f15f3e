"""A good plan becomes the objects it describes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.plans.instructions import read_instructions, render_instructions
from musician.plans.model import Changes, Checkpoint, Isolation, Plan, Review, Step
from musician.plans.plan import parse_plan
from musician.protocol.errors import InvalidPlan
from musician.protocol.rules.ceilings import Amounts

PLAN = """---
plan: greeter
setup: python -m venv .venv   # once
test: python -m pytest -q
agent: claude
review: human
isolation: shared
---
# Greeter

Before all.

## Overview
Why.

### Sub-heading of the overview

## Phase 1: Foundations
For all of the phase.

### task-01: Add the greeting
```yaml task
files: [src/greeter.py]
danger:
  - pyproject.toml
labels: [core, "42"]
pause-siblings-at: [2]
test: ""
```
What it is about.

#### Step 1: Write `greet`
Some prose.
```bash run
echo one
```
More prose.
```python
example = 1
```
```sh run
echo two
```
```bash rework
echo again
```
##### Agent 1: Document it
Small.
```bash run
echo doc
```
#### Checkpoint 1: it works
Look at it.
- test: `pytest -q a`
- [ ] Test: ``echo `b` ``
- not a test

```bash rework
echo mend
```
#### Step 2
###### A heading of one's own
Done.

### task.02_b: Ünïcödé 🎻
```yaml task
after: [task-01]
agent: acp:gemini --acp
review: rules
isolation: worktree
setup: make
```
#### Step 1: 日本語
```bash run
echo größer
```

## Phase 2: Polish
### task-03
#### Step 1: x
#### Checkpoint 1: end
"""


def no_files(_path: str) -> str | None:
    return None


def read(text: str) -> Plan:
    return parse_plan(text, path="PLAN.md", read_file=no_files)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return read(PLAN)


def test_the_plan_has_its_keys_and_texts(plan: Plan) -> None:
    assert (plan.plan_id, plan.title) == ("greeter", "Greeter")
    silent = plan.task("task-03")
    assert (silent.agent, silent.review, silent.isolation) == ("claude", Review.HUMAN, Isolation.SHARED)
    assert (silent.setup, silent.test) == ("python -m venv .venv", "python -m pytest -q")
    assert plan.overview == "Before all.\n\nWhy.\n\n### Sub-heading of the overview"
    assert [(phase.number, phase.title) for phase in plan.phases] == [(1, "Foundations"), (2, "Polish")]
    assert (plan.path, plan.text) == ("PLAN.md", PLAN)


def test_a_task_has_its_keys_and_the_text_of_its_phase(plan: Plan) -> None:
    task = plan.task("task-01")
    assert (task.title, task.line, task.source_path) == ("Add the greeting", 21, "PLAN.md")
    assert task.overview == "For all of the phase.\n\nWhat it is about."
    assert (task.files, task.danger) == (("src/greeter.py",), ("pyproject.toml",))
    assert (task.labels, task.pause_siblings_at) == (("core", "42"), (2,))


def test_keys_of_a_task_go_before_those_of_the_plan(plan: Plan) -> None:
    first, second = plan.task("task-01"), plan.task("task.02_b")
    assert (first.agent, first.review, first.isolation) == ("claude", Review.HUMAN, Isolation.SHARED)
    assert (first.test, first.setup) == (None, "python -m venv .venv")
    assert (second.agent, second.review, second.isolation) == (
        "acp:gemini --acp",
        Review.RULES,
        Isolation.WORKTREE,
    )
    assert (second.test, second.setup, second.after) == ("python -m pytest -q", "make", ("task-01",))


def test_what_a_tree_gets_and_what_a_task_may_change_is_read() -> None:
    plan = read(
        """---
plan: p
copy: [.env]
share: [node_modules]
---
# P
## Phase 1: A
### task-01: Its own
```yaml task
copy: []
share: [vendor]
may-change: [tests/**, Makefile]
may-pass-before: yes
changes: none
```
#### Step 1: s
### task-02: The plan's
#### Step 1: s
"""
    )
    own, plans = plan.task("task-01"), plan.task("task-02")
    assert (own.copy, own.share, own.may_change) == ((), ("vendor",), ("tests/**", "Makefile"))
    assert (own.may_pass_before, own.changes) == (True, Changes.NONE)
    assert (plans.copy, plans.share, plans.may_change) == ((".env",), ("node_modules",), ())
    assert (plans.may_pass_before, plans.changes) == (False, Changes.FILES)


def test_a_step_has_its_prose_scripts_and_agent_pieces(plan: Plan) -> None:
    step = plan.task("task-01").items[0]
    assert isinstance(step, Step)
    assert (step.number, step.title, step.line) == (1, "Write `greet`", 32)
    assert step.prose == "Some prose.\n\nMore prose.\n```python\nexample = 1\n```"
    assert (step.run, step.rework) == (("echo one\n", "echo two\n"), ("echo again\n",))
    (agent,) = step.agents
    assert (agent.number, agent.title, agent.prose, agent.run) == (
        1,
        "Document it",
        "Small.",
        ("echo doc\n",),
    )


def test_a_checkpoint_has_its_tests_and_its_rework(plan: Plan) -> None:
    checkpoint = plan.task("task-01").items[1]
    assert isinstance(checkpoint, Checkpoint)
    assert checkpoint.tests == ("pytest -q a", "echo `b`")
    assert checkpoint.prose == "Look at it.\n\n- not a test"
    assert (checkpoint.rework, checkpoint.final) == (("echo mend\n",), False)


def test_a_final_checkpoint_is_added_where_none_is_written(plan: Plan) -> None:
    added = plan.task("task-01").items[-1]
    assert isinstance(added, Checkpoint)
    assert (added.number, added.title, added.final, added.tests) == (2, "final", True, ())
    (written,) = plan.task("task-03").checkpoints
    assert (written.number, written.title, written.final) == (1, "end", True)


def test_a_task_is_found_by_exactly_its_id(plan: Plan) -> None:
    assert plan.task("task-03").task_id == "task-03"
    with pytest.raises(KeyError):
        plan.task("task-0")


def test_titles_may_be_missing_and_deep_headings_are_text(plan: Plan) -> None:
    step = plan.task("task-01").steps[1]
    assert (step.title, step.prose) == ("", "###### A heading of one's own\nDone.")
    assert plan.task("task-03").title == "task-03"


def test_non_ascii_text_is_kept(plan: Plan) -> None:
    """B36."""
    task = plan.task("task.02_b")
    assert (task.title, task.steps[0].title) == ("Ünïcödé 🎻", "日本語")
    assert task.steps[0].run == ("echo größer\n",)


def test_a_bom_and_crlf_change_neither_tasks_nor_hash(plan: Plan) -> None:
    foreign = read("\ufeff" + PLAN.replace("\n", "\r\n"))
    assert foreign.phases == plan.phases
    assert foreign.sha256 == plan.sha256


def test_the_hash_follows_the_text_and_the_instruction_files() -> None:
    text = "---\nplan: p\n---\n# T\n## Phase 1: A\n### t-1: B\n```yaml task\ninstructions: i.md\n```\n"
    body = "# B\n## Step 1: C\n"

    def digest(plan_text: str, file_text: str) -> str:
        return parse_plan(plan_text, path="PLAN.md", read_file={"i.md": file_text}.get).sha256

    first = digest(text, body)
    assert len(first) == 64
    assert digest(text, "\ufeff" + body.replace("\n", "\r\n")) == first
    assert len({first, digest(text + "\n", body), digest(text, body + "\n")}) == 3


def test_a_task_takes_its_body_and_keys_from_its_instruction_file() -> None:
    text = (
        "---\nplan: p\nagent: claude\n---\n# T\n## Phase 1: A\nOf the phase.\n### t-1: From the plan\n```yaml task\n"
        "instructions: docs/i.md\nlabels: [plan]\npause-siblings-at: [1]\n```\nOf the plan.\n"
        "### t-2: X\n#### Step 1: y\n"
    )
    body = (
        "---\ntask: t-1\nplan: p\nlabels: [file]\nafter: [t-2]\n---\n# From the file\nOf the file.\n"
        "## Step 1: C\n```bash run\necho\n```\n### Agent 1: D\n"
    )
    plan = parse_plan(text, path="PLAN.md", read_file={"docs/i.md": body}.get)
    task = plan.task("t-1")
    assert (task.title, task.source_path, task.line) == ("From the plan", "docs/i.md", 7)
    assert task.overview == "Of the phase.\n\nOf the plan.\n\nOf the file."
    assert (task.labels, task.after, task.agent) == (("plan",), ("t-2",), "claude")
    assert task.steps[0].run == ("echo\n",)
    assert task.steps[0].agents[0].title == "D"
    assert plan.instruction_files == (("docs/i.md", body),)
    again = parse_plan(plan.text, path=plan.path, read_file=dict(plan.instruction_files).get)
    assert again == plan


def test_a_title_may_stand_in_the_front_matter() -> None:
    plan = read("---\nplan: p\ntitle: From above\n---\n## Phase 1: A\n### t: B\n#### Step 1: C\n")
    assert plan.title == "From above"


def test_a_key_without_a_value_counts_as_not_given() -> None:
    plan = read(
        "---\nplan: p\nagent:\ntest: ~\n---\n# T\n## Phase 1: A\n### t: B\n```yaml task\nafter:\n```\n#### Step 1: C\n"
    )
    task = plan.task("t")
    assert (task.agent, task.test, task.after) == ("shell", None, ())


def test_headings_in_examples_are_no_steps() -> None:
    """B38, in a plan: only what the parser sees at the top level counts."""
    hidden = "#### Step 9: no"
    plan = read(
        "---\nplan: p\n---\n# T\n## Phase 1: A\n### t: B\n#### Step 1: one\n"
        f"````markdown\n```bash\n{hidden}\n```\n{hidden}\n````\n\n- [x] item\n  ```\n  {hidden}\n  ```\n\n"
        f"~~~\n```\n{hidden}\n~~~\n\n    {hidden}\n\n> {hidden}\n\n<!--\n{hidden}\n-->\n\n#### Step 2: two ####\n"
        f"- [x] done\n  - [ ] open\n\n```\n{hidden}\n"
    )
    assert [(step.number, step.title) for step in plan.task("t").steps] == [(1, "one"), (2, "two")]
    assert plan.task("t").checkpoints[-1].final


def test_tasks_of_a_phase_wait_only_for_each_other() -> None:
    head = "---\nplan: p\n---\n# T\n## Phase 1: A\n"
    task = "### {}: x\n```yaml task\nafter: [{}]\n```\n#### Step 1: y\n"
    plan = read(head + task.format("a", "b, c") + task.format("b", "c") + task.format("c", ""))
    assert [item.after for item in plan.tasks] == [("b", "c"), ("c",), ()]


LINES = st.sampled_from(
    [*PLAN.split("\n"), "---", "```", "<!--", "# T", "#### Foo", "plan: [", "- x", "\x00", "~~~"]
)


def read_or_problems(text: str) -> Plan | tuple[str, ...]:
    try:
        return read(text)
    except InvalidPlan as error:
        return error.problems


@given(st.lists(LINES, max_size=40).map("\n".join) | st.text(max_size=80))
def test_any_text_is_a_plan_or_a_list_of_problems_with_lines(text: str) -> None:
    result = read_or_problems(text)
    if isinstance(result, tuple):
        assert result
        assert all(line.startswith("PLAN.md:") and "; expected " in line for line in result)
    else:
        assert result.phases


@given(st.sets(st.integers(0, PLAN.count("\n")), max_size=3))
def test_losing_lines_gives_problems_or_a_whole_plan(lost: set[int]) -> None:
    result = read_or_problems(
        "\n".join(line for number, line in enumerate(PLAN.split("\n")) if number not in lost)
    )
    assert result
    for task in result.tasks if isinstance(result, Plan) else ():
        assert task.steps
        assert [item.number for item in task.checkpoints] == list(range(1, len(task.checkpoints) + 1))
        assert [item.final for item in task.items if isinstance(item, Checkpoint)][-1]
        assert sum(item.final for item in task.checkpoints) == 1


def plan_with_budget(written: str) -> Plan:
    keys = f"```yaml task\nbudget: {written}\n```\n"
    head = "---\nplan: p\nbudget: 5usd\n---\n# P\n\n## Phase 1: A\n### task-01: T\n"
    text = f"{head}{keys}#### Step 1: S\nS.\n"
    return parse_plan(text, path="P.md", read_file=lambda _: None)


@pytest.mark.parametrize(
    ("written", "budget"),
    [
        ("2.5usd", Amounts(cost_usd=2.5)),
        (
            "[0.000001 usd, 2000000tokens, 50turns, 3600s]",
            Amounts(cost_usd=1e-6, tokens=2_000_000, turns=50, time_s=3600),
        ),
        ("[]", Amounts()),
        ('""', Amounts()),
    ],
)
def test_a_budget_is_read_as_a_person_writes_it_and_is_in_the_tasks_own_file(
    written: str, budget: Amounts
) -> None:
    """CEIL-18."""
    (task,) = plan_with_budget(written).tasks
    assert task.budget == budget
    own = render_instructions(task, plan_id="p", plan_overview="")
    assert read_instructions(own, path="t.md", task_id="task-01").budget == budget


@pytest.mark.parametrize(
    "written",
    [
        "0usd",
        "-1usd",
        "5",
        "lots",
        "5eur",
        "[1usd, 2usd]",
        "2.5turns",
        "9999999999999usd",
        "1e9usd",
        "{usd: 5}",
        "[5]",
        "999999999999.9999999usd",
    ],
)
def test_a_budget_that_is_none_is_a_problem(written: str) -> None:
    with pytest.raises(InvalidPlan, match=r"expected (a budget|each of usd, tokens, turns and s once|text)"):
        plan_with_budget(written)
