"""A task as a file: read, rendered, and read back the same."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.plans.instructions import read_instructions, render_instructions
from musician.plans.model import (
    AgentPiece,
    Answers,
    Changes,
    Checkpoint,
    Isolation,
    Review,
    Sandboxing,
    Step,
    TaskSpec,
)
from musician.plans.plan import parse_plan
from musician.protocol.errors import InvalidPlan

FENCES_EVERYWHERE = """---
title: fence fixture
---
# Task 07

## Step 1: write the template

````markdown
```bash
# not a heading
## Step 9: not a step
- [ ] not a checkbox
```
## Step 8: still not a step
````

- [x] real item
   ```
   ## Step 7: inside a fence in a list
   - [ ] sample only
   ```

~~~
```
## Step 6: tilde fence, backticks do not close it
~~~

    ## Step 5: four-space indent is code

## Step 2: last real step #

- [x] done
  - [ ] nested, real, open

<!--
## Step 4: commented out
-->

```
## Step 3: fence never closed
"""


def test_headings_and_boxes_in_fences_are_not_counted() -> None:
    """B38: steps {1, 2}; check boxes mean nothing."""
    task = read_instructions(FENCES_EVERYWHERE, path="B38.md", task_id="task-07")
    assert [(step.number, step.title) for step in task.steps] == [
        (1, "write the template"),
        (2, "last real step"),
    ]
    assert "## Step 9: not a step" in task.steps[0].prose
    assert "## Step 4: commented out" in task.steps[1].prose
    ticked = read_instructions(FENCES_EVERYWHERE.replace("[ ]", "[x]"), path="B38.md", task_id="task-07")
    assert [step.number for step in ticked.steps] == [1, 2]
    assert _again(task) == _same(task)


def test_an_open_fence_at_the_end_does_not_swallow_what_is_rendered_behind_it() -> None:
    task = read_instructions("# T\n## Step 1: a\n```\nopen\n", path="i.md", task_id="t")
    assert task.steps[0].prose == "```\nopen\n```"
    assert _again(task) == _same(task)


WHOLE = """---
task: t-1
plan: p
after: [t-2]
pause-siblings-at: [1]
---
Before the title.

# Title

Overview.

## Plan overview
Why.

### Goals

## Step 1: One
Prose.
```bash run
a
```
### Agent 1: Small
```bash run
b
```
#### A heading of one's own

## Checkpoint 1: works
- test: `true`
"""


def test_an_instruction_file_is_a_task_two_levels_up() -> None:
    task = read_instructions(WHOLE, path="i.md")
    assert (task.task_id, task.title, task.line, task.source_path) == ("t-1", "Title", 9, "i.md")
    assert task.overview == "Before the title.\n\nOverview."
    assert (task.agent, task.test, task.after, task.pause_siblings_at) == ("shell", None, ("t-2",), (1,))
    (step,) = task.steps
    assert (step.prose, step.run, step.agents[0].run) == ("Prose.", ("a\n",), ("b\n",))
    assert step.agents[0].prose == "#### A heading of one's own"
    (checkpoint,) = task.checkpoints
    assert (checkpoint.tests, checkpoint.final) == (("true",), True)


@pytest.mark.parametrize(
    ("text", "task_id", "expected"),
    [
        (
            "# T\n## Step 1: a\n",
            None,
            [
                "i.md:1: no `task` key; expected front matter (`---`, `task: task-01`, `---`) at the top of the file"
            ],
        ),
        (
            WHOLE,
            "t-9",
            ["i.md:2: `task: t-1`; expected t-9, for which this file is used"],
        ),
        (
            "---\ntask: ../x\ninstructions: a\n---\n# T\n## Step 1: a\n",
            None,
            [
                (
                    "i.md:2: `task: ../x`; expected an id (use 1 to 64 of A-Z a-z 0-9 _ - and single dots between "
                    "them, starting with a letter or digit)"
                ),
                (
                    "i.md:3: the key `instructions`; expected one of task, plan, title, files, danger, after, agent, "
                    "account, budget, model, subagent-model, test-first, "
                    "review, reviewer, answers, answerer, isolation, test, setup, copy, share, sandbox, network, "
                    "reach, sandbox-write, sandbox-read, labels, "
                    "pause-siblings-at, may-change, may-pass-before, changes"
                ),
            ],
        ),
        (
            "# T\n#### Step 1: a plan's level\n",
            "t",
            [
                (
                    "i.md:2: `#### Step 1: a plan's level`; expected `## Step N: Title`, `## Checkpoint N: Title` or "
                    "`### Agent N: Title`, at that level"
                ),
            ],
        ),
        (
            "---\npause-siblings-at: [2]\n---\n# T\n## Plan overview\n```bash run\n```\n## Step 1: a\n",
            "t",
            [
                (
                    "i.md:2: `pause-siblings-at` names checkpoint 2; "
                    "expected the numbers of checkpoints of this task (1)"
                ),
                "i.md:6: a fence ```bash run in the section Plan overview; expected it in a task",
            ],
        ),
    ],
)
def test_mistakes_in_an_instruction_file_are_told(
    text: str, task_id: str | None, expected: list[str]
) -> None:
    with pytest.raises(InvalidPlan) as caught:
        read_instructions(text, path="i.md", task_id=task_id)
    assert list(caught.value.problems) == expected


def test_a_file_without_a_title_is_called_by_its_id() -> None:
    assert read_instructions("## Step 1: a\n", path="i.md", task_id="t").title == "t"


def test_a_task_of_a_plan_renders_to_a_readable_file() -> None:
    plan = parse_plan(
        "---\nplan: p\ntest: make\n---\n# T\n## Overview\nWhy.\n## Phase 1: A\n### t-1: Title #\n```yaml task\n"
        "files: [a, b]\npause-siblings-at: [1]\n```\nText.\n#### Step 1: One\nProse.\n```bash run\ncat <<'X'\n"
        "X\n```\n```sh rework\nb\n```\n##### Agent 1: D\nE.\n#### Checkpoint 1: C\n- test: ``echo `x` ``\n",
        path="P.md",
        read_file=dict[str, str]().get,
    )
    text = render_instructions(plan.task("t-1"), plan_id=plan.plan_id, plan_overview=plan.overview)
    assert text == (
        '---\ntask: "t-1"\nplan: "p"\nfiles: ["a", "b"]\nagent: "shell"\nreview: "rules"\n'
        'isolation: "worktree"\ntest: "make"\npause-siblings-at: [1]\n---\n\n# Title\n\nText.\n\n'
        "## Plan overview\n\nWhy.\n\n## Step 1: One\n\nProse.\n\n```bash run\ncat <<'X'\nX\n```\n\n"
        "```bash rework\nb\n```\n\n### Agent 1: D\n\nE.\n\n## Checkpoint 1: C\n\n- test: `` echo `x` ``\n"
    )


PROSE_BLOCKS = st.sampled_from(
    [
        "Text on\ntwo lines.",
        "- a\n- b\n\n  more",
        "1. one\n   - [ ] nested",
        "```\n## Step 9: no\n```",
        "````markdown\n```bash run\necho no\n```\n````",
        "~~~ python\n# no\n~~~",
        "  ```\n# no\n  ```",
        "    # indented code",
        "> # quoted\n> ```",
        "<!--\n# no\n-->",
        "#### Free heading",
        "[ref]: https://example.org",
        "größer 日本語 🎻",
        "a  ",
        "* * *",
        "\u2028odd\x0c",
        "- test: not here",
    ]
)
LINE = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs"), include_characters=" `#:\\\"'"),
    max_size=30,
).map(lambda text: " ".join(text.split()))
TITLES = LINE.map(lambda text: text.rstrip("#").rstrip() + "!") | st.sampled_from(
    ["a #", "##", "`x`", "C#", ": b"]
)
COMMANDS = LINE.filter(bool) | st.sampled_from(["`", "a `b` ``c``", "``x", "pytest -k 'a and b'"])
SCRIPT = st.lists(
    LINE | st.sampled_from(["```", "````", "~~~", "\techo", "# Title", "---", ""]), max_size=5
).map(lambda lines: "".join(f"{line}\n" for line in lines))
SCRIPTS = st.lists(SCRIPT, max_size=2).map(tuple)
WORDS = st.lists(LINE, max_size=2).map(tuple)
PATHS = st.lists(st.sampled_from(["a.py", "src/größer.py", "x y.md", "**/*.py"]), max_size=2).map(tuple)
IDS = st.from_regex(r"t[A-Za-z0-9_-]{0,10}", fullmatch=True)
SHELL_TEXT = st.none() | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20
)


@st.composite
def prose(draw: st.DrawFn) -> str:
    """Prose as a reader gives it: what it would make of these blocks between two scripts."""
    body = "\n```bash run\n```\n".join(draw(st.lists(PROSE_BLOCKS, max_size=4)))
    text = f"# T\n## Step 1: x\n```bash run\n```\n{body}\n"
    return read_instructions(text, path="i.md", task_id="t").steps[0].prose


@st.composite
def steps(draw: st.DrawFn, number: int) -> Step:
    agents = [
        AgentPiece(
            number=n,
            title=draw(TITLES),
            prose=draw(prose()),
            run=draw(SCRIPTS),
            line=0,
            size=draw(st.none() | st.integers(1, 999_999)),
            files=draw(st.lists(st.sampled_from(["a.py", "docs/ï: [1].md"]), max_size=2).map(tuple)),
            well_defined=draw(st.none() | st.booleans()),
        )
        for n in range(1, draw(st.integers(0, 2)) + 1)
    ]
    return Step(
        number=number,
        title=draw(TITLES),
        prose=draw(prose()),
        run=draw(SCRIPTS),
        rework=draw(SCRIPTS),
        agents=tuple(agents),
        line=0,
    )


@st.composite
def checkpoints(draw: st.DrawFn, number: int) -> Checkpoint:
    return Checkpoint(
        number=number,
        title=draw(TITLES),
        prose=draw(prose().filter(lambda text: "- test:" not in text)),
        tests=draw(st.lists(COMMANDS, max_size=2).map(tuple)),
        rework=draw(SCRIPTS),
        final=False,
        line=0,
    )


@st.composite
def tasks(draw: st.DrawFn) -> TaskSpec:
    kinds = [True, *draw(st.lists(st.booleans(), max_size=2)), False]
    items: list[Step | Checkpoint] = []
    for index, is_step in enumerate(kinds):
        number = kinds[: index + 1].count(is_step)
        items.append(draw(steps(number)) if is_step else draw(checkpoints(number)))
    last = items[-1]
    assert isinstance(last, Checkpoint)
    items[-1] = replace(last, final=True)
    return TaskSpec(
        task_id=draw(IDS),
        title=draw(TITLES),
        overview=draw(prose()),
        items=tuple(items),
        files=draw(PATHS),
        danger=draw(PATHS),
        after=draw(st.lists(IDS, max_size=2).map(tuple)),
        labels=draw(WORDS),
        agent=draw(st.sampled_from(["shell", "claude", "codex", "acp:x --y 'z: #'"])),
        model=draw(st.sampled_from(["", "opus", "a/b[high]:c"])),
        subagent_model=draw(st.sampled_from(["", "x"])),
        test_first=draw(st.sampled_from([None, True, False])),
        review=draw(st.sampled_from(Review)),
        reviewer=draw(SHELL_TEXT),
        answers=draw(st.sampled_from(Answers)),
        answerer=draw(SHELL_TEXT),
        isolation=draw(st.sampled_from(Isolation)),
        test=draw(SHELL_TEXT),
        setup=draw(SHELL_TEXT | st.just("a\n---\n  ---\nb")),
        pause_siblings_at=draw(st.sampled_from([(), (1,)])),
        copy=draw(PATHS),
        share=draw(PATHS),
        sandbox=draw(st.sampled_from(Sandboxing)),
        sandbox_write=draw(st.sampled_from([(), ("~/.cache/uv", "/var/x y")])),
        sandbox_read=draw(st.sampled_from([(), ("~/.npmrc",)])),
        may_change=draw(PATHS),
        may_pass_before=draw(st.booleans()),
        changes=draw(st.sampled_from(Changes)),
        source_path="",
        line=0,
    )


def _same(task: TaskSpec) -> TaskSpec:
    """Whatever line and file it stands in."""
    items = tuple(
        replace(item, line=0, agents=tuple(replace(agent, line=0) for agent in item.agents))
        if isinstance(item, Step)
        else replace(item, line=0)
        for item in task.items
    )
    return replace(task, items=items, line=0, source_path="")


def _again(task: TaskSpec) -> TaskSpec:
    return _same(read_instructions(render_instructions(task, plan_id="p", plan_overview=""), path="i.md"))


@given(tasks(), prose())
def test_a_rendered_task_is_read_back_the_same(task: TaskSpec, overview: str) -> None:
    text = render_instructions(task, plan_id="p", plan_overview=overview)
    assert 'plan: "p"' in text
    assert overview in text
    assert _same(read_instructions(text, path="i.md")) == task


ODD_LINES = st.sampled_from(
    [
        "",
        "text",
        "- a",
        "  ```",
        "```",
        "# x",
        "    code",
        "```bash run",
        "```bash rework",
        "- test: `x`",
        "* test: `y`",
        "1. z",
        "## Step 2: s",
        "## Checkpoint 1: c",
        "### Agent 1: a",
        "#### free",
        "> q",
        "<!--",
        "-->",
        "~~~",
        "   - b",
        "\t- c",
        "---",
        "[a]:",
    ]
)


@given(st.lists(ODD_LINES, max_size=16).map("\n".join))
def test_whatever_can_be_read_renders_to_the_same_task(body: str) -> None:
    try:
        task = read_instructions(f"# T\n## Step 1: x\n{body}\n", path="i.md", task_id="t")
    except InvalidPlan:
        return  # what is told about it is tested elsewhere
    assert _again(task) == _same(task)
