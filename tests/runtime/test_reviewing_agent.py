"""A reviewing agent in the place of the rules, with real commands in real trees (D18.6)."""

import signal
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.states import State
from tests.transcripts import text_of

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

pytestmark = pytest.mark.deep

HEAD = """\
---
plan: band
test: "true"
review: agent
---
# Band

## Overview
Judged by an agent.

## Phase 1: All
"""

TASK = """
### task-0{number}: Task {number}
```yaml task
reviewer: |
{reviewer}
```
#### Step 1: Write
```bash run
{run}
echo one > {number}.txt
```
```bash rework
grep -q "say two" <<< "$MUSICIAN_FEEDBACK"
echo two >> {number}.txt
```
"""

CAREFUL = """
test "$(cat {number}.txt)" = one || grep -q two {number}.txt
grep -q "TASK COMPLETE" "$MUSICIAN_SUBMISSION"
grep -q '"outcome": "green"' "$MUSICIAN_VERIFICATION"
git diff --quiet "$MUSICIAN_BASE" -- {number}.txt && exit 3
case "$PWD" in *musician-review-*) ;; *) exit 4 ;; esac
if grep -q two {number}.txt; then echo "::verdict approve it says both"; else echo "::verdict reject say two"; fi
git rm -qf {number}.txt; git commit -qm gone || rm -f {number}.txt
"""
"""It looks at everything it is given, and does harm where it stands."""


def task(number: int, reviewer: str, run: str = ":") -> str:
    lines = reviewer.format(number=number).strip().splitlines()
    return TASK.format(number=number, run=run, reviewer="\n".join(f"  {line}" for line in lines))


def asks(stage: "Stage") -> dict[str, str]:
    return {ask.task_id: ask.text for ask in service.open_asks(stage.store)}


def verdicts(stage: "Stage", task_id: str) -> list[tuple[State | None, str | None]]:
    return [(each.verdict, each.verdict_text) for each in stage.view(task_id).submissions]


def test_an_agent_judges_in_a_tree_of_its_own_and_whatever_is_no_clear_approval_goes_to_a_person(
    stage: "Stage",
) -> None:
    deviates = 'echo "::deviation Medium another way"'
    stage.write(
        HEAD
        + task(1, CAREFUL)
        + task(2, 'echo "::verdict approve"; exit 7')
        + task(3, "echo looks good to me")
        + task(4, 'echo "::verdict approve"', run=deviates)
        + task(5, 'cat "$MUSICIAN_DEVIATIONS"; echo "::rule 1"; echo "::verdict approve"', run=deviates)
    )
    done = stage.conduct("--jobs", "5")
    assert done.code == 1, stage.told()
    assert stage.states() == {
        "task-01": "complete",
        "task-02": "needs_review",
        "task-03": "needs_review",
        "task-04": "needs_review",
        "task-05": "complete",
    }, (stage.told(), asks(stage))
    assert verdicts(stage, "task-01") == [
        (State.REVIEW_FAILED, "1. say two"),
        (State.REVIEW_APPROVED, "Approved; merged and verified with the others' work. it says both"),
    ]
    none = "the reviewing agent gave no verdict: "
    told = asks(stage)
    assert told["task-02"].startswith(f"{none}block 1 ended with exit code 7")
    assert told["task-03"] == f"{none}it said none"
    assert (
        told["task-04"] == "the reviewing agent approves and leaves unruled: Medium deviation (another way)"
    )
    ruled = [row.ruled_by for row in stage.view("task-05").journal if row.kind == "deviation"]
    assert ruled
    assert None not in ruled
    assert "1. another way (Medium)" in text_of(*(stage.root / ".musician/logs/task-05").glob("review.*"))
    for number in (2, 3, 4):
        assert stage.run("review", "approve", f"task-0{number}", "I have looked").code == 0
    stage.to_the_end()
    stage.check_whole()
    assert stage.merged("1.txt") == "one\ntwo\n"


def test_an_agent_that_takes_too_long_or_does_not_exist_approves_nothing(stage: "Stage") -> None:
    nameless = task(2, "x").replace("reviewer: |\n  x\n", "labels: []\n")
    plan = HEAD + task(1, 'echo "::verdict approve"; exec sleep 1000') + nameless
    stage.write(plan.replace("review: agent\n", ""), settings=SHORT)
    assert stage.conduct("--jobs", "2", "--review", "agent").code == 1, stage.told()
    told = asks(stage)
    assert "ran out of time" in told["task-01"]
    assert "the plan names no `reviewer`" in told["task-02"]
    stage.check_quiet()


SHORT = "[time]\nreview_limit_s = 1\n"


def test_a_conductor_that_is_killed_while_an_agent_judges_asks_it_again(stage: "Stage") -> None:
    scratch = stage.hall / "tmp"
    scratch.mkdir()
    stage.env["TMPDIR"] = str(scratch)
    gate = stage.gate("judging").replace("{", "{{").replace("}", "}}")
    stage.write(
        HEAD + task(1, gate + 'echo judged >> "$MUSICIAN_TEST_HALL/judged"\necho "::verdict approve"')
    )
    run = stage.start("run", "PLAN.md")
    stage.wait_at("judging")
    run.send_signal(signal.SIGKILL)
    run.wait()
    stage.until(lambda: not stage.processes())
    assert stage.state("task-01") is State.NEEDS_REVIEW
    assert [*scratch.glob("musician-review-*")] != []
    stage.to_the_end()
    assert [*scratch.glob("musician-review-*")] == [], "what the killed one could not tidy up"
    stage.check_whole()
    assert (stage.hall / "judged").read_text() == "judged\n"


@pytest.mark.parametrize(
    ("word", "says", "one"),
    [("approve", "reject say two", "one"), ("reject", "approve", "one\ntwo"), ("fix", "approve", "one\ntwo")],
)
def test_a_person_who_judges_while_the_agent_judges_has_judged(
    stage: "Stage", word: str, says: str, one: str
) -> None:
    """D18.6: what the agent says then is about a submission that is judged; the next one it judges again."""
    gate = stage.gate("judging").replace("{", "{{").replace("}", "}}")
    once = f'if ! test -e "$MUSICIAN_TEST_HALL/judged"; then touch "$MUSICIAN_TEST_HALL/judged"\n{gate}'
    stage.write(HEAD + task(1, f'{once}echo "::verdict {says}"\nelse echo "::verdict approve"; fi'))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("judging")
    assert stage.run("review", word, "task-01", "say two").code == 0
    stage.open_gate("judging")
    assert stage.end(run).code == 0, (stage.told(), asks(stage))
    assert stage.merged("1.txt").strip() == one
    first, *later = verdicts(stage, "task-01")
    assert first == (STATES[word], "say two")
    assert len(later) == (word != "approve")
    stage.check_whole()


STATES = {
    "approve": State.REVIEW_APPROVED,
    "reject": State.REVIEW_FAILED,
    "fix": State.FIX_PROPOSED,
}


def test_what_an_agent_has_said_outlives_the_conductor_and_it_is_not_asked_twice(stage: "Stage") -> None:
    judged = 'echo judged >> "$MUSICIAN_TEST_HALL/judged"\n'
    gate = stage.gate("judging").replace("{", "{{").replace("}", "}}")
    stage.write(HEAD + task(1, gate + judged + 'echo "::verdict approve"') + task(2, judged + "echo hm"))
    armed = stage.armed("run", "before:musician.service:judge")
    run = stage.start("run", "PLAN.md", "--jobs", "2", **armed)
    stage.wait_at("judging")
    stage.until(lambda: asks(stage))  # what is not written down yet is asked again
    stage.open_gate("judging")
    stage.end(run)
    assert stage.killed_at == "before judge"
    stage.until(lambda: not stage.processes())
    assert stage.state("task-01") is State.NEEDS_REVIEW
    assert stage.conduct().code == 1
    assert stage.states() == {"task-01": "complete", "task-02": "needs_review"}
    assert asks(stage) == {"task-02": "the reviewing agent gave no verdict: it said none"}
    assert (stage.hall / "judged").read_text() == "judged\n" * 2


def test_a_removed_test_is_ruled_by_the_reviewing_agent_and_nobody_else_is_asked(stage: "Stage") -> None:
    """D18.6: a finding goes to the agent first; what it leaves, to a person."""
    one = "import unittest\n\n\nclass Old(unittest.TestCase):\n    def test_kept(self):\n        pass\n"
    both = f"{one}\n    def test_gone(self):\n        pass\n"
    approves = 'grep -q "removed test" "$MUSICIAN_DEVIATIONS"\necho "::verdict approve it was a double"'
    stage.write(
        HEAD.replace('"true"', "python3 -m unittest -q")
        + task(1, f'{approves}\necho "::rule 1"', run="sed -i /gone/,\\$d test_one.py")
        + task(2, approves, run="sed -i /gone/,\\$d test_two.py"),
        **{"test_one.py": both, "test_two.py": both, ".gitignore": "__pycache__\n"},
    )
    assert stage.conduct("--jobs", "2").code == 1, stage.told()
    assert stage.states() == {"task-01": "complete", "task-02": "needs_review"}, (stage.told(), asks(stage))
    assert asks(stage)["task-02"].startswith("the reviewing agent approves and leaves unruled: ")
