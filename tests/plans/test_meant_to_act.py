"""What was probably meant to act and is read as text is a mistake with its line; ordinary prose is none.

Two corpora: slips of the hand, each with the line that is told, and prose as people write it into plans.
"""

import pytest

from musician.plans.model import MAX_COMMAND_BYTES, MAX_TITLE_CHARACTERS, Plan
from musician.plans.plan import parse_plan
from musician.protocol.errors import InvalidPlan

HEAD = '---\nplan: p\ntest: "true"\n---\n# P\n## Phase 1: A\n### t-1: T\n#### Step 1: S\n'
LINE = 9
"""The first line behind ``HEAD``."""
CHECKPOINT = HEAD + "#### Checkpoint 1: C\n"
RUN = "```bash run\nx\n```\n"


def read(text: str) -> Plan:
    return parse_plan(text, path="P.md", read_file=lambda _: None)


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidPlan) as caught:
        read(text)
    return list(caught.value.problems)


FENCES = {
    "in braces": "```{bash run}\nx\n```\n",
    "as attributes": "```{.bash .run}\nx\n```\n",
    "language, then braces": "```bash {run}\nx\n```\n",
    "with a comma": "```bash,run\nx\n```\n",
    "with a comma in braces": "```{bash, run}\nx\n```\n",
    "with a colon": "```bash:run\nx\n```\n",
    "with a hyphen": "```bash-run\nx\n```\n",
    "the words swapped": "```run bash\nx\n```\n",
    "no language": "```run\nx\n```\n",
    "another shell": "```zsh run\nx\n```\n",
    "tildes": "~~~shell run\nx\n~~~\n",
    "with a third word": "```bash run once\nx\n```\n",
    "rework in braces": "```{bash rework}\nx\n```\n",
    "on one line": "```bash run touch x```\n",
}


@pytest.mark.parametrize("fence", FENCES.values(), ids=FENCES)
def test_a_script_in_a_fence_that_almost_says_run_is_told(fence: str) -> None:
    """AUDIT-G3"""
    (problem,) = problems(HEAD + fence)
    assert problem.startswith(f"P.md:{LINE}: ")


COVERED = {
    "under an HTML block": ("<details>\n" + RUN + "</details>\n", 1),
    "under a tag and its text": ("<div>\nThe script:\n" + RUN + "</div>\n", 2),
    "in a quotation": ("".join(f"> {line}\n" for line in RUN.splitlines()), 0),
    "in a list": ("- do it\n\n  ```bash run\n  x\n  ```\n", 2),
    "almost run in a list": ("1. do it\n\n   ```{bash run}\n   x\n   ```\n", 2),
    "indented by four": ("text\n\n    ```bash run\n    x\n    ```\n", 2),
    "in a fence left open": ("```text\nexample\n\n" + RUN, 3),
    "in a script left open": ("```bash run\nfirst\n\n" + RUN, 3),
    "a heading under an HTML block": ("<br>\n#### Step 2: Gone\n", 1),
}


@pytest.mark.parametrize(("text", "behind"), COVERED.values(), ids=COVERED)
def test_a_script_that_something_else_swallows_is_told(text: str, behind: int) -> None:
    """AUDIT-G3"""
    assert any(problem.startswith(f"P.md:{LINE + behind}: ") for problem in problems(HEAD + text))


HEADINGS = {
    "a step without a blank": "####Step 2: Write it\n",
    "a task without a blank": "###task-02: Another\n",
    "a checkpoint without a blank": "####Checkpoint 1: C\n",
    "a phase without a blank": "##Phase 2: B\n",
    "an agent's piece without a blank": "#####Agent 1: D\n",
    "a step with one # and no blank": "#Step 2: Write it\n",
    "a step in bold": "**Step 2: Write it**\n",
    "a number in bold": "**Step 2:** write it\n",
    "a step in underscores": "__Step 2__: write it\n",
    "a checkpoint in italics": "*Checkpoint 1: it works*\n",
    "a step without its #": "Step 2: Write it\n",
    "a checkpoint in the middle of a paragraph": "Now the end.\nCheckpoint 1: it works\n",
}


@pytest.mark.parametrize("line", HEADINGS.values(), ids=HEADINGS)
def test_a_heading_that_is_none_is_told(line: str) -> None:
    """AUDIT-G4"""
    (problem,) = problems(HEAD + line + "and so on\n")
    assert problem.startswith(f"P.md:{LINE + line.count(chr(10)) - 1}: ")


@pytest.mark.parametrize("line", ["####Step 1: S\n", "**Phase 1: A**\n", "###t-1: T\n"])
def test_a_heading_that_is_none_is_told_outside_of_tasks_too(line: str) -> None:
    """AUDIT-G4"""
    text = f"---\nplan: p\n---\n# P\n## Overview\n{line}## Phase 1: A\n### t-1: T\n#### Step 1: S\n"
    assert problems(text)[0].startswith("P.md:6: ")


TESTS = [
    "- **test**: `false`",
    "- **test:** `false`",
    "- *Test*: `false`",
    "- __test__: `false`",
    "- test : `false`",
    "- test = `false`",
    "- [ ] **test**: `false`",
    "- tests: `false`",
    "- test: false",
    "- test:\n  - `false`",
    "- verify: `make check`",
    "- `python -m pytest -q`",
    "- **Run**: `make check`",
    "1. test : `false`",
    "test: `false`",
]


@pytest.mark.parametrize("item", TESTS)
def test_a_checkpoints_test_that_would_not_be_run_is_told(item: str) -> None:
    """AUDIT-G5"""
    (problem,) = problems(f"{CHECKPOINT}{item}\n")
    assert problem.startswith(f"P.md:{LINE + 1}: ")


@pytest.mark.parametrize(
    "item", ["- test: `false`", "* Test: `false`", "1. test: `false`", "- [ ] test: `false`"]
)
def test_a_test_is_read_however_its_list_is_written(item: str) -> None:
    """AUDIT-G5"""
    assert read(f"{CHECKPOINT}{item}\n").task("t-1").checkpoints[0].tests == ("false",)


@pytest.mark.parametrize("item", ["- test: `false`", "- **test**: `make check`"])
def test_a_test_outside_a_checkpoint_is_told(item: str) -> None:
    """AUDIT-G5"""
    (problem,) = problems(f"{HEAD}{item}\n")
    assert problem.startswith(f"P.md:{LINE}: ")


PROSE = {
    "sentences about steps": "Step 1 wrote the parser; in step 2 it is used. Phase 2 comes later.",
    "a list of what is to be done": "- read `parse(text)`\n- **Bold** words: first\n- `README.md`\n- see #12 and ##",
    "an issue's number": "#12 asks for it, #13 too.",
    "an example in another language": "```python title='how to run it'\nrun()\n```",
    "a console": "```console\n$ ./run.sh\n```",
    "a plain script": "```bash\n./configure && make\n```",
    "a file's name": "```bash run.sh\nx\n```",
    "a longer fence that shows one": "````markdown\n```bash run\nx\n```\n#### Step 3: shown\n````",
    "a comment": "<!--\n```bash run\nx\n```\n#### Step 2: later\n-->",
    "a quotation": "> Step 2: they said, is **Step 2**.\n> test: `x`",
    "preformatted": "<pre>\n#### Step 2: shown\n</pre>",
    "HTML": "<details>\n<summary>More</summary>\nWords.\n</details>",
    "an indented heading": "text\n\n    #### Step 2: shown",
    "tests in a sentence": "Tests: there should be some; the test is `pytest -q`, as always.",
    "a link": "[Step 2](#step-2) and `### task-02` and ```` ```bash run ```` inline.",
    "bold that begins a line": "**Note** that Step 2 follows.\n**Stepping** back.",
    "a table": "| Step | what |\n|---|---|\n| Step 2: | x |",
    "a deep heading": "###### Notes\nwords",
    "other writing": "Größe, 日本語, 🎻, עברית and 100 %.",
}


@pytest.mark.parametrize("text", PROSE.values(), ids=PROSE)
def test_ordinary_prose_is_no_mistake(text: str) -> None:
    """AUDIT-G3, AUDIT-G4: in a step and in an overview."""
    overview = f"---\nplan: p\n---\n# P\n## Overview\n{text}\n\n## Phase 1: A\n### t-1: T\n#### Step 1: S\n"
    assert text.split("\n")[0] in read(f"{HEAD}{text}\n").task("t-1").steps[0].prose
    assert len(tuple(read(overview).tasks)) == 1


REMARKS = [
    "- `greeter.py` says hello",
    "- the file `a.py`",
    "- `a.py`",
    "- file: `a.py`",
    "- it is tested: well",
]


@pytest.mark.parametrize("item", REMARKS)
def test_a_remark_in_a_checkpoint_is_no_mistake(item: str) -> None:
    """AUDIT-G5"""
    checkpoint = read(f"{CHECKPOINT}{item}\n").task("t-1").checkpoints[0]
    assert (checkpoint.tests, checkpoint.prose) == ((), item)


@pytest.mark.parametrize("char", ["\x1b[2J", "\a", "\x7f", "\x9b", "\u202e", "\u2066"])
@pytest.mark.parametrize("heading", ["# P{}", "## Phase 1: A{}", "### t-1: T{}", "#### Step 1: S{}"])
def test_a_control_character_in_a_title_is_told(heading: str, char: str) -> None:
    """AUDIT-G8"""
    text = HEAD.replace(heading.format(""), heading.format(f"x{char}y"))
    assert any("U+" in problem and "control character" in problem for problem in problems(text))


def test_a_control_character_in_a_title_key_is_told() -> None:
    """AUDIT-G8"""
    text = HEAD.replace("plan: p\n", 'plan: p\ntitle: "a\\eb"\n').replace("# P\n", "")
    assert any("none of them a control character" in problem for problem in problems(text))


def test_ids_that_differ_by_case_alone_are_one_on_some_disks() -> None:
    """AUDIT-U11"""
    (problem,) = problems(HEAD + "### T-1: Again\n#### Step 1: S\n")
    assert problem.startswith(
        f"P.md:{LINE}: the task id T-1 a second time, where t-1 is one; expected ids that differ"
    )


@pytest.mark.parametrize("key", ["test", "setup"])
@pytest.mark.parametrize("value", ['"a\\0b"', '"a\\ud83d"', f'"{"x" * (MAX_COMMAND_BYTES + 1)}"'])
def test_a_command_that_no_shell_can_be_given_is_told_with_its_line(key: str, value: str) -> None:
    """AUDIT-S7"""
    (problem,) = problems(HEAD.replace('test: "true"', f"{key}: {value}"))
    assert problem.startswith(f"P.md:3: `{key}: ")
    (problem,) = problems(HEAD.replace("#### Step", f"```yaml task\n{key}: {value}\n```\n#### Step"))
    assert problem.startswith(f"P.md:9: `{key}: ")


def test_a_checkpoints_test_and_a_title_are_bounded() -> None:
    """AUDIT-S7"""
    (problem,) = problems(f"{CHECKPOINT}- test: `{'x' * (MAX_COMMAND_BYTES + 1)}`\n")
    assert problem.startswith(f"P.md:{LINE + 1}: a test that is too long")
    (problem,) = problems(HEAD.replace("T\n", "T" * (MAX_TITLE_CHARACTERS + 1) + "\n"))
    assert problem.startswith("P.md:7: a title of ")
