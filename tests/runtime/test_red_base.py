"""Tests that fail before a plan begins are reported, count against no task, and stay in sight (D27)."""

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.states import State
from musician.verification.result import VerificationResult

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
UNITTEST = f"{sys.executable} -m unittest -q"
COUNTED = 'case "$PWD" in */_base) echo once >> "$MUSICIAN_TEST_HALL/base" ;; esac; '
"""In front of a command: how often it was run on a base."""

RED = """\
import pathlib
import unittest


class Old(unittest.TestCase):
    def test_nothing_is_broken(self):
        self.assertFalse(list(pathlib.Path(__file__).parent.glob("*.broken")))

    def test_plain(self):
        self.assertEqual(pathlib.Path(__file__).with_name("plain.txt").read_text(), "plain\\n")
"""
PLAIN = "plain\n"

HEAD = """\
---
plan: red
test: {test}
{keys}---
# Red
"""
PHASE = "\n## Phase {number}: All\n"
TASK = """
### {task_id}: Do it
{own}#### Step 1: Write
```bash run
{run}
```
"""


def plan(*phases: tuple[str, ...], test: str = UNITTEST, keys: str = "", first_test: str = "") -> str:
    """Tasks are numbered through; each is what its step runs, and may end with a checkpoint."""
    text, number = HEAD.format(test=f"'{COUNTED.replace(chr(39), chr(34))}{test}'", keys=keys), 0
    for place, phase in enumerate(phases, start=1):
        text += PHASE.format(number=place)
        for task in phase:
            number += 1
            run, _, rest = task.partition("####")
            own = f"```yaml task\ntest: {first_test}\n```\n" if first_test and number == 1 else ""
            text += TASK.format(task_id=f"task-{number:02}", run=run.rstrip(), own=own) + (
                f"####{rest}" if rest else ""
            )
    return text


def adds(name: str) -> str:
    """A function and its test, of any runner."""
    return (
        f"printf 'def {name}():\\n    return 1\\n' > {name}.py\n"
        f"printf 'import unittest\\nimport {name}\\n\\n\\nclass New(unittest.TestCase):\\n'"
        f" > test_{name}.py\n"
        f"printf '    def test_{name}(self):\\n        self.assertEqual({name}.{name}(), 1)\\n' >> test_{name}.py"
    )


def begin(stage: "Stage", text: str, **files: str) -> None:
    stage.write(
        text,
        **{"test_old.py": RED, "plain.txt": PLAIN, "a.broken": "", ".gitignore": "__pycache__\n"},
        **files,
    )


def asked(stage: "Stage") -> str:
    return "\n".join(ask.text for ask in service.open_asks(stage.store))


def tried(stage: "Stage") -> int:
    """How often the plan's command was run on a base."""
    told = stage.hall / "base"
    return told.read_text().count("once") if told.exists() else 0


def submitted(stage: "Stage", task_id: str) -> str:
    return "\n".join(each.message for each in service.messages_of(stage.store, task_id))


@pytest.mark.parametrize("test", [UNITTEST, pytest.param(PYTEST, marks=pytest.mark.deep)])
def test_a_red_base_holds_nobody_up_and_is_told(stage: "Stage", test: str) -> None:
    """D27 AUDIT-V11: at the start, in each submission, and at the end; it is tried once."""
    begin(stage, plan((adds("one"), adds("two")), test=test))
    done = stage.to_the_end()
    stage.check_whole()
    assert "before the plan begins (1 test: " in done.out
    assert "Still failing, as before the plan: 1 test: test_old.Old" in done.out
    for task_id in ("task-01", "task-02"):
        assert "failing as before it began: test_old.Old" in submitted(stage, task_id)
        assert "All passing" not in submitted(stage, task_id)
    assert tried(stage) == 2, "once, and again what was red"
    assert not (stage.root / ".musician" / "trees" / "red" / "_base").exists(), (
        "AUDIT-V11: what it was tried in goes"
    )
    assert "test_one.py" in stage.git("ls-tree", "--name-only", "main")


def test_what_passed_before_is_held_against_who_breaks_it(stage: "Stage") -> None:
    """D27: a red base is no licence."""
    begin(stage, plan((f"{adds('one')}\necho other > plain.txt", adds("two"))))
    assert stage.conduct().code == 1
    assert stage.states() == {"task-01": "error", "task-02": "complete"}
    assert "test_plain" in asked(stage)
    (red,) = [row for row in stage.view("task-01").verifications if row.outcome == "red"][-1:]
    told = VerificationResult.from_json(red.result).to_mend()
    assert "not this task's: failing as before it began: test_old.Old" in told, (
        "whoever mends it is told what is not its"
    )


@pytest.mark.deep
def test_what_was_mended_is_good_news_and_may_not_break_again(stage: "Stage") -> None:
    """D27: who begins after it was mended is held to it, whatever the plan began with."""
    begin(stage, plan(("git rm -q a.broken",), (f"{adds('two')}\ntouch b.broken",)))
    assert stage.conduct().code == 1
    assert stage.states() == {"task-01": "complete", "task-02": "error"}
    assert "test_nothing_is_broken" in asked(stage)


@pytest.mark.deep
def test_what_was_mended_is_told_at_the_end(stage: "Stage") -> None:
    """D27: once, however many commands run it."""
    begin(stage, plan(("git rm -q a.broken", adds("two")), first_test=f"{UNITTEST} test_old"))
    done = stage.to_the_end()
    assert "Mended: 1 test that failed before the plan: test_old.Old" in done.out
    assert done.out.count("Mended: ") == 1
    assert "Still failing" not in done.out


@pytest.mark.deep
def test_a_sibling_that_began_before_it_was_mended_is_held_to_it_at_its_merge(stage: "Stage") -> None:
    """D27: in its own tree the test failed all along; merged with what mends it, only its own file breaks it."""
    second = f"{stage.gate('second')}{adds('two')}\ntouch b.broken"
    begin(stage, plan(("git rm -q a.broken", second)))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("second")
    stage.until(lambda: stage.state("task-01") is State.COMPLETE)
    stage.open_gate("second")
    assert stage.end(run).code == 1
    assert stage.state("task-02") is not State.COMPLETE
    assert "failing as before it began" in submitted(stage, "task-02")
    assert "b.broken" not in stage.git("ls-tree", "-r", "--name-only", "musician/red/_integration")


@pytest.mark.deep
def test_what_a_checkpoint_names_is_held_against_its_task_though_it_failed_before(stage: "Stage") -> None:
    """D27"""
    own = f"#### Checkpoint 1: nothing is broken\n- test: `{UNITTEST} test_old`\n"
    begin(stage, plan((f"{adds('one')}\n{own}", adds("two"))))
    assert stage.conduct().code == 1
    assert stage.states() == {"task-01": "error", "task-02": "complete"}


def test_where_tests_have_no_names_the_end_of_the_command_is_compared_and_the_words_say_so(
    stage: "Stage",
) -> None:
    """D27"""
    begin(stage, plan((adds("one"), f"{adds('two')}\ntouch b.broken"), test="exit $(ls *.broken | wc -l)"))
    done = stage.conduct()
    assert done.code == 1
    assert stage.states() == {"task-01": "complete", "task-02": "error"}, (
        "another exit code is another failure"
    )
    assert (
        "names no tests: its failure counts against no task, and what a task breaks in it cannot be determined"
        in done.out
    )
    told = submitted(stage, "task-01")
    assert "Tests: Nothing fails that did not fail before; " in told
    assert "it names no tests, so what else fails now cannot be determined" in told


@pytest.mark.deep
def test_a_base_whose_tests_cannot_all_be_collected_hides_no_other_test(stage: "Stage") -> None:
    """D27: pytest stops before the first test where one file cannot be imported; then it would see nothing."""
    bad = "echo 'def test_new(): assert False' > test_new.py"
    torn = {"test_torn.py": "import no_such_module\n", "pytest.ini": "[pytest]\naddopts = -x\n"}
    begin(stage, plan((adds("one"), bad), test=PYTEST), **torn)
    done = stage.conduct()
    assert done.code == 1
    assert "2 tests: test_old.Old::test_nothing_is_broken, test_torn" in done.out
    assert stage.states() == {"task-01": "complete", "task-02": "error"}
    assert "test_new" in asked(stage)


@pytest.mark.deep
@pytest.mark.parametrize(
    "test",
    ["no-such-program", "echo 1; kill -9 $$", f"{sys.executable} -m pytest --no-such-option"],
    ids=["not there", "killed", "a runner that refuses its options"],
)
def test_a_command_that_tests_nothing_excuses_nothing(stage: "Stage", test: str) -> None:
    """D27: what cannot be run says nothing, neither of the base nor of the task."""
    begin(stage, plan(("touch one.txt",), test=test))
    done = stage.conduct()
    assert done.code == 1
    assert "tests nothing before the plan begins" in done.out
    assert stage.state("task-01") is not State.COMPLETE


@pytest.mark.deep
def test_it_is_tried_once_though_the_conductor_is_killed(stage: "Stage") -> None:
    """D27: kept by commit and commands."""
    begin(stage, plan((f"{stage.gate('step')}{adds('one')}",)))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("step")
    stage.until(lambda: "before the plan begins" in (stage.hall / "out-0").read_text())
    os.kill(run.pid, signal.SIGKILL)
    stage.end(run)
    stage.until(lambda: not stage.processes())
    done = stage.to_the_end()
    assert "Still failing, as before the plan: 1 test" in done.out
    assert tried(stage) == 2


@pytest.mark.deep
def test_who_is_killed_while_he_tries_it_leaves_it_to_the_next(stage: "Stage") -> None:
    """D27: and the tree it was tried in, which doctor tells, and the next removes."""
    stands = stage.gate("base").replace("'", '"')
    text = plan((adds("one"),)).replace(
        "echo once", f"{{ {'; '.join(stands.strip().splitlines())}; }}; echo once"
    )
    text = text.replace("then;", "then").replace(f"'{COUNTED[:5]}", f"'{COUNTED[:5]}")
    begin(stage, text)
    run = stage.start("run", "PLAN.md")
    stage.wait_at("base")
    os.kill(run.pid, signal.SIGKILL)
    stage.end(run)
    stage.until(lambda: not stage.processes())
    tree = stage.root / ".musician" / "trees" / "red" / "_base"
    assert f"git worktree remove --force {tree}" in stage.run("doctor").out
    stage.to_the_end()
    assert tried(stage) == 2
    assert not tree.exists()


FAILS_ONCE = """\
import os, pathlib, unittest


class Chance(unittest.TestCase):
    def test_it(self):
        seen = pathlib.Path(os.environ["MUSICIAN_TEST_HALL"], "seen")
        first = not seen.exists()
        seen.touch()
        self.assertFalse(first or pathlib.Path("b.broken").exists())
"""
"""Red on the base, the first time only; and whenever somebody breaks it."""


@pytest.mark.parametrize(
    "old",
    [
        pytest.param((), id="nothing else fails"),
        pytest.param(("a.broken",), id="another fails too", marks=pytest.mark.deep),
    ],
)
def test_what_failed_by_chance_is_no_excuse_for_who_breaks_it(stage: "Stage", old: tuple[str, ...]) -> None:
    """D27: a base is tried again where it is red, and the test that then passes is held against tasks."""
    files = {"test_old.py": RED, "plain.txt": PLAIN, "test_chance.py": FAILS_ONCE, **dict.fromkeys(old, "")}
    stage.write(
        plan((adds("one"), f"{adds('two')}\ntouch b.broken")), **files, **{".gitignore": "__pycache__\n"}
    )
    done = stage.conduct()
    assert done.code == 1
    assert stage.states() == {"task-01": "complete", "task-02": "error"}
    assert "test_chance.Chance::test_it" in asked(stage) or "test_chance.Chance.test_it" in asked(stage)
    assert "flaky" in done.out
    assert tried(stage) == 2


@pytest.mark.deep
def test_a_command_without_names_that_failed_by_chance_excuses_nothing(stage: "Stage") -> None:
    """D27"""
    test = (
        'test -e "$MUSICIAN_TEST_HALL/seen" -a ! -e b.broken || { touch "$MUSICIAN_TEST_HALL/seen"; exit 3; }'
    )
    stage.write(plan((adds("one"), "touch b.broken"), test=test))
    done = stage.conduct()
    assert done.code == 1
    assert "is flaky before the plan begins (exit code 3 from" in done.out
    assert stage.states() == {"task-01": "complete", "task-02": "error"}


@pytest.mark.deep
def test_a_plan_that_requires_green_is_complete_only_then(stage: "Stage") -> None:
    """D27: what the tasks were not held to is a condition of the end; and a task that mends it meets it."""
    text = plan((adds("one"),), keys="require: green\n")
    begin(stage, text)
    before = stage.git("rev-parse", "main")
    done = stage.conduct()
    assert done.code == 1
    assert "the plan requires that it passes at its end" in done.out
    assert "requires green" in done.out
    assert "Still failing, as before the plan: 1 test: test_old.Old" in done.out
    assert stage.git("rev-parse", "main") == before
    assert stage.states() == {"task-01": "complete"}
    mended = PHASE.format(number=2) + TASK.format(own="", task_id="task-02", run="git rm -q a.broken")
    stage.plan.write_text(text + mended)
    assert stage.run("plan", "amend", "PLAN.md").code == 0
    stage.git("commit", "-qam", "amended")
    stage.to_the_end()
    assert stage.merged("one.py")


def test_without_a_conductor_it_is_tried_when_somebody_needs_to_know(stage: "Stage") -> None:
    """D27: by hand the same holds, and a green task asks for nothing."""
    begin(stage, plan((adds("one"),)))
    stage.lock()
    hand = {"MUSICIAN_SESSION": "by-hand"}
    assert stage.run("claim", "task-01", **hand).code == 0
    assert stage.run("step", "task-01", "start", "1", **hand).code == 0
    tree = stage.root / ".musician" / "trees" / "red" / "task-01"
    (tree / "one.py").write_text("def one():\n    return 1\n")
    (tree / "test_one.py").write_text(
        "import unittest\nimport one\n\n\nclass New(unittest.TestCase):\n    def test_one(self):\n"
        "        self.assertEqual(one.one(), 1)\n"
    )
    assert stage.run("step", "task-01", "done", "1", **hand).code == 0
    found = stage.run("checkpoint", "task-01", **hand)
    assert found.code == 0, (found, stage.told())
    assert "failing as before it began: test_old.Old" in submitted(stage, "task-01")
    assert tried(stage) == 2
    assert not (tree.parent / "_base").exists()


@pytest.mark.deep
def test_a_resumption_does_not_doubt_what_was_approved_on_a_red_base(stage: "Stage") -> None:
    """D27"""
    first = f"{adds('one')}\n#### Checkpoint 1: first\n\n#### Step 2: More\n```bash run\n"
    first += f"{stage.gate('step')}{adds('two')}\n```\n"
    begin(stage, plan((first,)))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("step")
    stage.musician("task-01").kill()
    stage.until(lambda: len(stage.view("task-01").sessions) == 2)
    assert stage.end(run).code == 0, (asked(stage), stage.told())
    assert len(stage.view("task-01").sessions) == 2


@pytest.mark.deep
def test_a_test_that_wavers_beside_one_that_failed_before_is_told_as_that(stage: "Stage") -> None:
    """D27"""
    wavers = (
        "import os, pathlib, unittest\n\n\nclass Wavers(unittest.TestCase):\n    def test_it(self):\n"
        "        seen = pathlib.Path(os.environ['MUSICIAN_TEST_HALL'], pathlib.Path.cwd().name)\n"
        "        if pathlib.Path('one.py').exists() and not seen.exists():\n"
        "            seen.touch()\n            self.fail()\n"
    )
    begin(stage, plan((adds("one"),)), **{"test_wavers.py": wavers})
    stage.to_the_end()
    assert "flaky" in submitted(stage, "task-01")


@pytest.mark.deep
def test_the_tree_it_is_tried_in_is_set_up_and_left_to_itself(stage: "Stage") -> None:
    """D27: what the tests need is there, and nothing they leave is the user's to clean."""
    test = f"touch left.txt; test -e ready.txt && {UNITTEST}"
    begin(stage, plan((adds("one"),), keys="setup: touch ready.txt\n", test=test))
    done = stage.to_the_end()
    assert "before the plan begins (1 test: " in done.out, "with its set-up it could be tried"
    assert not (stage.root / "left.txt").exists()
