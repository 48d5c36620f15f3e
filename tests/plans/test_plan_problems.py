"""A mistake in a plan is told with its line, what was found and what was expected, all mistakes at once."""

import pytest

from musician.plans.plan import parse_plan
from musician.plans.problems import MAX_PROBLEMS
from musician.protocol.errors import InvalidPlan
from tests.no_ids import ESCAPING, RESERVED, WIDENING

HEAD = "---\nplan: p\n---\n# T\n## Phase 1: A\n"
TASK = HEAD + "### t-1: B\n"
STEP = TASK + "#### Step 1: C\n"


def problems_of(text: str, files: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(InvalidPlan) as caught:
        parse_plan(text, path="P.md", read_file=(files or {}).get)
    return list(caught.value.problems)


GOLDEN = {
    "an empty file": (
        "",
        [
            "P.md:1: no `plan` key; expected front matter (`---`, `plan: an-id`, `---`) at the top of the file",
            "P.md:1: no title; expected `# Title` behind the front matter",
            "P.md:1: no phase; expected `## Phase 1: Title` with at least one task",
        ],
    ),
    "front matter left open": (
        STEP.replace("p\n---", "p"),
        [
            "P.md:1: front matter that is never closed; expected a second line `---` behind its keys",
            "P.md:1: no `plan` key; expected front matter (`---`, `plan: an-id`, `---`) at the top of the file",
        ],
    ),
    "what a sandbox cannot be told": (
        STEP.replace(
            "plan: p",
            "plan: p\nsandbox: on\nnetwork: registries\nreach: [https://a.b/]\nsandbox-write: [.cache]",
        ),
        [
            "P.md:3: `sandbox: on`; expected one of auto, required, off",
            (
                "P.md:5: `reach: [https://a.b/]`; expected a host's name, with its port if that is not 443, such as "
                "pypi.example.com or localhost:8000"
            ),
            "P.md:6: `sandbox-write: [.cache]`; expected a path outside the tree, such as ~/.cache/uv or /var/lib/data",
            "P.md:10: t-1 with `network: registries` and no sandbox; expected `sandbox: required` beside it",
        ],
    ),
    "no network for a model, none without a sandbox, and hosts for the whole of it": (
        STEP.replace("plan: p", "plan: p\nnetwork: none\nsandbox: off")
        + "### t-2: D\n```yaml task\nagent: claude\n```\n#### Step 1: E\n"
        + "### t-3: F\n```yaml task\nnetwork: full\nreach: [a.b]\n```\n#### Step 1: G\n"
        + "### t-4: H\n```yaml task\nnetwork: registries\nreach: [a.b]\n```\n#### Step 1: I\n",
        [
            "P.md:8: t-1 with `network: none` and no sandbox; expected `sandbox: required` beside it",
            (
                "P.md:10: t-2 with `network: none` and a model; expected `network: registries`: it must reach its "
                "provider"
            ),
            (
                "P.md:15: t-3 with `network: full` and `reach`; expected `network: registries`, which `reach` adds "
                "hosts to"
            ),
            "P.md:21: t-4 with `network: registries` and no sandbox; expected `sandbox: required` beside it",
        ],
    ),
    "a mistyped step": (
        STEP + "#### Stp 2: D\n```bash run\nx\n```\n#### Step 3: E\n",
        ["P.md:8: `#### Stp 2: D`; expected `#### Step N: Title` or `#### Checkpoint N: Title`"],
    ),
    "a gap and a repeated number": (
        STEP + "#### Step 3: D\n#### Step 3: E\n#### Step 4: F\n",
        [
            "P.md:8: `#### Step 3: D`; expected Step 2 here: they are numbered 1, 2, 3 … in the order of the file",
            "P.md:9: `#### Step 3: E`; expected Step 4 here: they are numbered 1, 2, 3 … in the order of the file",
        ],
    ),
    "a step at the level of a task": (
        TASK + "### Step 1: C\n",
        [
            "P.md:6: a task without steps; expected at least one `#### Step 1: Title`",
            (
                "P.md:7: `### Step 1: C`; expected `### task-id: Title` with an id (use 1 to 64 of A-Z a-z 0-9 _ - and "
                "single dots between them, starting with a letter or digit)"
            ),
            "P.md:7: a task without steps; expected at least one `#### Step 1: Title`",
        ],
    ),
    "a step one level too deep": (
        STEP + "###### Step 2: D\n",
        [
            (
                "P.md:8: `###### Step 2: D`; expected `#### Step N: Title`, `#### Checkpoint N: Title` or "
                "`##### Agent N: Title`, at that level"
            ),
        ],
    ),
    "text that an underline makes a heading": (
        STEP + "Some text\n---\n",
        [
            (
                "P.md:8: `Some text` (a line underlined with --- or === is a heading); "
                "expected `## Overview` or `## Phase N: Title`"
            ),
        ],
    ),
    "unknown, misspelt and repeated keys": (
        TASK + "```yaml task\nreveiw: human\nfiles: [a]\nfiles: [b]\nzzz: 1\n```\n#### Step 1: C\n",
        [
            (
                "P.md:8: the key `reveiw`; expected `review` (the keys here are files, danger, after, agent, "
                "account, budget, model, subagent-model, test-first, "
                "review, reviewer, answers, answerer, isolation, test, setup, copy, share, sandbox, network, "
                "reach, sandbox-write, sandbox-read, labels, "
                "pause-siblings-at, may-change, may-pass-before, changes, instructions)"
            ),
            "P.md:10: the key `files` a second time; expected it once (first in line 9)",
            (
                "P.md:11: the key `zzz`; expected one of files, danger, after, agent, "
                "account, budget, model, subagent-model, test-first, "
                "review, reviewer, answers, answerer, isolation, test, setup, copy, share, sandbox, network, "
                "reach, sandbox-write, sandbox-read, labels, "
                "pause-siblings-at, may-change, may-pass-before, changes, instructions"
            ),
        ],
    ),
    "values of the wrong kind": (
        TASK
        + "```yaml task\nfiles: a.py\nlabels: [1]\nreview: maybe\nagent: gpt\ntest: no\n"
        + "pause-siblings-at: [one]\ndanger: [/etc/x]\nisolation: {}\n```\n#### Step 1: C\n",
        [
            "P.md:8: `files: a.py`; expected a list, such as [src/greeter.py]",
            'P.md:9: `labels: [1]`; expected text; put it in quotes, "…"',
            "P.md:10: `review: maybe`; expected one of rules, human, agent",
            "P.md:11: `agent: gpt`; expected shell, claude, codex, opencode or acp:<command>",
            'P.md:12: `test: no`; expected text; put it in quotes, "…"',
            "P.md:13: `pause-siblings-at: [one]`; expected the number of a checkpoint",
            (
                "P.md:14: `danger: [/etc/x]`; expected a path inside the project, written from its root, "
                "such as docs/notes.md"
            ),
            "P.md:15: `isolation: {}`; expected one of worktree, shared",
        ],
    ),
    "YAML that is none": (
        TASK + "```yaml task\ntest: a: b\n```\n#### Step 1: C\n",
        [
            (
                "P.md:8: YAML that cannot be read (mapping values are not allowed here); "
                "expected `key: value`, with quotes around unusual text"
            ),
        ],
    ),
    "YAML without keys": (
        TASK + "```yaml task\n- a\n```\n#### Step 1: C\n",
        ["P.md:8: `- a`; expected lines of `key: value`"],
    ),
    "YAML with an odd character": (
        TASK + "```yaml task\ntest: \x07\n```\n#### Step 1: C\n",
        [
            "P.md:8: YAML that cannot be read (an odd character or deep nesting); expected lines of `key: value`",
        ],
    ),
    "keys that are no text": (
        TASK + "```yaml task\n? [a]\n: b\n```\n#### Step 1: C\n",
        [
            (
                "P.md:8: the key `?`; expected one of files, danger, after, agent, "
                "account, budget, model, subagent-model, test-first, "
                "review, reviewer, answers, answerer, isolation, test, setup, copy, share, sandbox, network, "
                "reach, sandbox-write, sandbox-read, labels, "
                "pause-siblings-at, may-change, may-pass-before, changes, instructions"
            ),
        ],
    ),
    "scripts in the wrong place": (
        TASK
        + "```bash run\nx\n```\n```bash rework\nx\n```\n#### Step 1: C\n##### Agent 1: D\n```bash rework\nx\n```\n"
        + "#### Checkpoint 1: E\n```bash run\nx\n```\n```yaml task\n```\n",
        [
            "P.md:7: a run script outside a step; expected ```bash run behind a Step heading",
            "P.md:10: a rework script outside a step or checkpoint; expected ```bash rework behind a Step heading",
            "P.md:15: a rework script outside a step or checkpoint; expected it above the step's first Agent heading",
            "P.md:19: a run script outside a step; expected - test: `command` in a checkpoint",
            "P.md:22: the task's keys inside a step or checkpoint; expected them above the first step",
        ],
    ),
    "what a plan cannot say of a subagent's piece": (
        STEP
        + "```yaml agent\nsize: 4\n```\n##### Agent 1: D\n```yaml agent\nsize: yes\nfiles: [../x]\nwell-defined: 1\n"
        + "lines: 4\n```\n```yaml agent\n```\n",
        [
            "P.md:8: a subagent's keys outside its piece; expected them under an Agent heading",
            "P.md:13: `size: yes`; expected about how many lines it changes, such as 120",
            (
                "P.md:14: `files: [../x]`; expected a path inside the project, written from its root, "
                "such as docs/notes.md"
            ),
            "P.md:15: `well-defined: 1`; expected yes or no",
            "P.md:16: the key `lines`; expected `files` (the keys here are size, files, well-defined)",
            "P.md:18: a second ```yaml agent; expected one for each piece",
        ],
    ),
    "fences that would do nothing": (
        STEP + "```bash rum\nx\n```\n```python run\nx\n```\n- item\n  ```bash run\n  x\n  ```\n",
        [
            "P.md:8: a fence ```bash rum; expected ```bash run, ```bash rework, ```yaml task or ```yaml agent",
            "P.md:11: a fence ```python run; expected ```bash run, ```bash rework, ```yaml task or ```yaml agent",
            "P.md:15: a fence ```bash run inside a list; expected it at the left margin, outside of that",
        ],
    ),
    "a script that swallows the rest": (
        STEP + "```bash run\nx\n#### Step 2: D\n",
        ["P.md:8: a fence ```bash run that is never closed; expected a line ``` behind its content"],
    ),
    "a comment that swallows the rest": (
        STEP + "<!-- later\n#### Step 2: D\n",
        ["P.md:8: a comment or HTML block that is never closed; expected its end, such as -->"],
    ),
    "tests that are none": (
        STEP
        + "#### Checkpoint 1: D\n- test: pytest\n- tests: `a`\n- test: `a`, `b`\n- test: `a`\n  more\n- test: ` `\n",
        [
            "P.md:9: `- test: pytest`; expected - test: `command`, and nothing more in that item",
            "P.md:10: `- tests: `a``; expected - test: `command`, and nothing more in that item",
            "P.md:11: `- test: `a`, `b``; expected - test: `command`, and nothing more in that item",
            "P.md:12: `- test: `a` more`; expected - test: `command`, and nothing more in that item",
            "P.md:14: `- test: ` ``; expected - test: `command`, and nothing more in that item",
        ],
    ),
    "an agent piece outside a step": (
        STEP + "#### Checkpoint 1: D\n##### Agent 1: E\n",
        [
            (
                "P.md:9: `##### Agent 1: E`; expected `##### Agent N: Title` in a step; "
                "only headings from ###### down are text"
            ),
        ],
    ),
    "a task without steps": (
        TASK + "#### Checkpoint 1: D\n",
        ["P.md:6: a task without steps; expected at least one `#### Step 1: Title`"],
    ),
    "a phase without tasks, and one that is no phase": (
        STEP + "## Phase 2: D\n## Phse 3: E\n## Phase 4: F\n### t-2: G\n#### Step 1: H\n",
        [
            "P.md:8: `## Phase 2: D` without tasks; expected at least one `### task-id: Title`",
            "P.md:9: `## Phse 3: E`; expected `## Overview` or `## Phase N: Title`",
        ],
    ),
    "a task outside a phase": (
        "---\nplan: p\n---\n# T\n### t-0: X\n```yaml task\n```\n## Overview\n#### Step 1: Y\n" + STEP[18:],
        [
            (
                "P.md:5: `### t-0: X` outside a phase; expected `## Phase N: Title` above it, "
                "and tasks and steps inside that"
            ),
            "P.md:6: a fence ```yaml task outside a phase; expected it in a task",
            (
                "P.md:9: `#### Step 1: Y` in the overview; expected `## Phase N: Title` above it, "
                "and tasks and steps inside that"
            ),
        ],
    ),
    "two titles, two overviews, two sets of keys": (
        STEP.replace("# T\n", "# T\n# U\n## Overview\n## Overview\n").replace(
            "### t-1: B\n", "### t-1: B\n```yaml task\n```\n```yaml task\n```\n"
        ),
        [
            "P.md:5: a second title, `# U`; expected one (the first is in line 4)",
            "P.md:7: a second overview, `## Overview`; expected one (the first is in line 6)",
            "P.md:12: a second ```yaml task; expected one (the first is in line 10)",
        ],
    ),
    "the same id twice": (
        STEP + "## Phase 2: D\n### t-1: E\n#### Step 1: F\n",
        [
            (
                "P.md:9: the task id t-1 a second time; "
                "expected ids that differ by more than case in the plan (the first is in line 6)"
            ),
        ],
    ),
    "tasks that wait for what is not there": (
        TASK
        + "```yaml task\nafter: [t-9, t-2]\n```\n#### Step 1: C\n## Phase 2: D\n### t-2: E\n#### Step 1: F\n",
        [
            "P.md:8: `after` names t-9, no task; expected tasks of the same phase (there are no others)",
            (
                "P.md:8: `after` names t-2, a task of another phase; "
                "expected tasks of the same phase (there are no others)"
            ),
        ],
    ),
    "tasks that wait for each other": (
        HEAD
        + "".join(
            f"### {name}: x\n```yaml task\nafter: [{after}]\n```\n#### Step 1: y\n"
            for name, after in [("a", "b"), ("b", "a"), ("c", "c")]
        ),
        [
            "P.md:8: tasks that wait for each other (a → b → a); expected no cycle in `after`",
            "P.md:18: tasks that wait for each other (c → c); expected no cycle in `after`",
        ],
    ),
    "a pause at a checkpoint that is not there": (
        TASK + "```yaml task\npause-siblings-at: [1, 3]\n```\n#### Step 1: C\n",
        [
            "P.md:8: `pause-siblings-at` names checkpoint 3; expected the numbers of checkpoints of this task (1)",
        ],
    ),
    "instructions that are not there, and a body beside them": (
        TASK + "```yaml task\ninstructions: i.md\n```\n#### Step 1: C\n",
        [
            "P.md:8: `instructions: i.md`, which is not there; expected a file in the project",
            "P.md:10: a body for t-1 beside `instructions: i.md`; expected one or the other",
        ],
    ),
    "a NUL character": (
        STEP + "```bash run\necho \0\n```\n",
        ["P.md:9: a NUL character; expected text"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), GOLDEN.values(), ids=GOLDEN.keys())
def test_a_mistake_is_told_with_its_line_and_what_was_expected(text: str, expected: list[str]) -> None:
    assert problems_of(text) == expected


@pytest.mark.parametrize(
    ("keys", "second"),
    [("test: x\nisolation: shared", ""), ("review: rules", "test: x\nisolation: shared")],
    ids=["nothing is merged", "what is merged has no test"],
)
def test_a_plan_that_requires_green_has_something_to_run_at_its_end(keys: str, second: str) -> None:
    """D27: else it would be complete with whatever is red."""
    text = STEP.replace("plan: p", f"plan: p\nrequire: green\n{keys}")
    text += f"### t-2: D\n```yaml task\n{second}\n```\n#### Step 1: E\n"
    (problem,) = problems_of(text)
    assert problem.startswith(
        "P.md:3: `require: green`, and nothing is run at the end; expected a `test` for"
    )


def test_problems_of_all_files_are_told_at_once_and_in_order() -> None:
    body = "---\ntask: other\nplan: q\nreview: x\n---\n# A\n# B\n## Stp 1: C\n### Agent 1: D\n```yaml task\n```\n"
    text = TASK + "```yaml task\ninstructions: i.md\n```\n#### Foo\n### : X\n#### Step 1: C\n"
    assert problems_of(text, {"i.md": body}) == [
        "P.md:10: `#### Foo`; expected `#### Step N: Title` or `#### Checkpoint N: Title`",
        (
            "P.md:11: `### : X`; expected `### task-id: Title` with an id (use 1 to 64 of A-Z a-z 0-9 _ - and "
            "single dots between them, starting with a letter or digit)"
        ),
        "i.md:2: `task: other`; expected t-1, for which this file is used",
        "i.md:3: `plan: q`; expected p, which uses this file",
        "i.md:4: `review: x`; expected one of rules, human, agent",
        "i.md:7: a second title, `# B`; expected one (the first is in line 6)",
        "i.md:8: `## Stp 1: C`; expected `## Step N: Title` or `## Checkpoint N: Title`",
        "i.md:10: a ```yaml task in an instruction file; expected its keys in the front matter",
    ]


def test_the_list_of_problems_is_bounded_and_says_how_many_are_left_out() -> None:
    lines = problems_of(STEP + "#### Foo\n" * 150)
    assert len(lines) == MAX_PROBLEMS + 1
    assert lines[-1] == "and 50 more problems; mend these first"


def test_a_long_heading_is_quoted_in_part() -> None:
    lines = problems_of(STEP + "#### " + "x" * 5000 + "\n")
    assert [len(line) < 200 for line in lines] == [True, True]


@pytest.mark.parametrize("bad", [*ESCAPING, *RESERVED, *WIDENING])
def test_a_bad_id_is_refused_as_a_task_and_as_a_plan(bad: str) -> None:
    """B43, B18."""
    *_, line = problems_of(HEAD + f"### {bad}: B\n#### Step 1: C\n")
    assert line.startswith("P.md:6: `### ")
    assert "expected `### task-id: Title` with an id (" in line
    quoted = "'" + bad.replace("'", "''") + "'"
    (line,) = problems_of(STEP.replace("plan: p", f"plan: {quoted}"))
    assert line.startswith("P.md:2: `plan: ")
    assert "expected an id (" in line


@pytest.mark.parametrize("bad", ['"task-03\\n"', "3", "true", "[a]", "{}", '""', "!!python/name:os.system"])
def test_an_id_in_yaml_is_not_coerced(bad: str) -> None:
    (line,) = problems_of(STEP.replace("plan: p", f"plan: {bad}"))
    assert line.startswith("P.md:2: `plan: ")


@pytest.mark.parametrize(
    "yaml", ["&a [*a]", "[[a]]", "[{a: b}]", "!!int ''", "2024-13-45", "!!bool x", "[null]"]
)
def test_odd_yaml_is_a_problem_and_no_crash(yaml: str) -> None:
    (line,) = problems_of(TASK + f"```yaml task\nlabels: {yaml}\n```\n#### Step 1: C\n")
    assert line.startswith("P.md:8: `labels: ")


def test_deep_yaml_is_a_problem_and_no_crash() -> None:
    (line,) = problems_of(TASK + f"```yaml task\nlabels: {'[' * 5000}\n```\n#### Step 1: C\n")
    assert line.startswith("P.md:8: YAML that cannot be read")


@pytest.mark.parametrize("path", ["../x.md", "/x.md", "a/../../x.md", "a\\b.md", '""'])
def test_an_instruction_path_stays_inside_the_project(path: str) -> None:
    (line,) = problems_of(TASK + f"```yaml task\ninstructions: {path}\n```\n")
    assert "expected a path inside the project" in line
