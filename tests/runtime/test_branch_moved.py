"""How a run ends for the user's branch, and what he is told before it begins (D24, D31)."""

import json
import shlex

import pytest

from tests.runtime.conftest import Stage

pytestmark = pytest.mark.deep

PLAN = """\
---
plan: p
test: "true"
---
# P
## Phase 1: A
### task-01: T
#### Step 1: S
```bash run
echo work > work.txt; echo more >> a.txt
```
"""


@pytest.fixture
def played(stage: Stage) -> Stage:
    stage.write(PLAN, **{"a.txt": "a\n"})
    return stage


def test_a_branch_that_cannot_be_moved_is_no_success_and_the_next_run_moves_it(played: Stage) -> None:
    """AUDIT-S1: the run said that all was well, and every later one blamed changes of the user's."""
    log = played.root / ".git" / "logs" / "refs" / "heads" / "main"
    log.unlink()
    log.mkdir()
    (log / "in the way").touch()
    before = played.git("rev-parse", "main")
    ran = played.conduct()
    assert ran.code == 1, ran
    assert "could not be moved" in ran.out
    assert "Run the same command again" in ran.out
    assert (played.git("rev-parse", "main"), played.git("status", "--porcelain", "-uno")) == (before, "")
    (log / "in the way").unlink()
    log.rmdir()
    assert played.conduct().code == 0
    assert played.merged("work.txt") == "work\n"
    assert played.git("status", "--porcelain", "-uno") == ""


def test_what_the_tasks_will_not_have_is_named_at_the_start(played: Stage) -> None:
    """AUDIT-N14, AUDIT-N11: an untracked file refused the run; hooks were passed by without a word."""
    (played.root / "mine.txt").write_text("mine\n")
    hook = played.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    ran = played.conduct("--json")
    assert ran.code == 0, ran
    assert json.loads(ran.out)["branch"]["move"] == "moved"
    assert "the tasks' trees do not have them: mine.txt." in ran.err
    assert "not run for the program's own commits and merges: pre-commit." in ran.err
    assert (played.root / "mine.txt").read_text() == "mine\n"
    assert "note:" not in played.conduct().err, "said once"


def _wait_in(step: str) -> str:
    return PLAN.replace("echo work > work.txt", f"{step}\necho work > work.txt")


def test_git_clean_in_the_middle_of_a_run_leaves_our_folder_alone(stage: Stage) -> None:
    """AUDIT-S3: database, settings and logs were gone, and the run went on against a file that nobody has."""
    stage.write(_wait_in(stage.gate("here")), **{"a.txt": "a\n"})
    assert stage.run("init").code == 0
    run = stage.start("run", "PLAN.md")
    stage.wait_at("here")
    stage.git("clean", "-fdxq")
    stage.git("stash", "--all")
    assert (stage.root / ".musician" / "comms.db").exists()
    stage.open_gate("here")
    assert stage.end(run).code == 0
    assert stage.merged("work.txt") == "work\n"
    assert stage.run("status").code == 0


def test_a_run_whose_database_is_taken_away_ends_with_the_truth_and_the_next_goes_on(stage: Stage) -> None:
    """AUDIT-S3: it gave useless advice; the next one went on from branches without a word of it."""
    first = "### task-01: T\n#### Step 1: S\n```bash run\necho first > first.txt\n```\n"
    plan = _wait_in(stage.gate("here")).replace("### task-01: T\n#### Step 1: S", first + "#### Step 2: W")
    stage.write(plan, **{"a.txt": "a\n"})
    run = stage.start("run", "PLAN.md")
    stage.wait_at("here")
    stage.git("clean", "-ffdxq", "-e", "trees", "-e", "logs")
    ended = stage.end(run)
    assert ended.code == 2, ended
    assert "the database was removed or replaced" in ended.err
    assert "musician/p/" in ended.err
    assert stage.run("init").code == 0
    again = stage.conduct()
    assert again.code == 0, (again, stage.told())
    assert "branches of p are there already" in again.err
    assert "git branch -D musician/p/_integration musician/p/task-01" in again.err
    assert stage.git("log", "--format=%s", "main").count("step 1: S") == 1, (
        "what was finished is not done again"
    )
    assert stage.merged("work.txt") == "work\n"


def test_what_the_surroundings_refused_is_tried_again_by_the_next_run(stage: Stage) -> None:
    """AUDIT-S2: every later run repeated the stored text, and only `send` freed it."""
    stage.write(PLAN, **{"a.txt": "a\n"})
    stage.lock()
    blocked = stage.root / ".musician" / "trees" / "p" / "_integration"
    blocked.mkdir(parents=True)
    (blocked / "something").touch()
    ran = stage.conduct()
    assert ran.code == 1, ran
    assert "stands in its place" in ran.out
    again = stage.conduct()
    assert again.code == 1
    assert "stands in its place" in again.out, "tried, and asked anew"
    (blocked / "something").unlink()
    assert stage.conduct().code == 0
    assert stage.merged("work.txt") == "work\n"


@pytest.mark.parametrize("is_linked", [False, True], ids=["in the main tree", "in a linked tree of his"])
def test_after_an_amendment_that_was_committed_the_branch_still_moves(
    stage: Stage, *, is_linked: bool
) -> None:
    """AUDIT-N9: the commit of the amended plan kept the branch from ever being moved forward."""
    stage.write(PLAN.replace("echo work >", "false; echo work >"), **{"a.txt": "a\n"})
    if is_linked:
        stage.git("checkout", "-q", "--detach")
        stage.git("worktree", "add", "-q", str(stage.hall / "linked"), "main")
        stage.root = stage.hall / "linked"
        stage.plan = stage.root / "PLAN.md"
    stage.lock()
    stage.plan.write_text(PLAN)
    stage.git("commit", "-qam", "mend the plan")
    assert stage.run("plan", "amend", "PLAN.md").code == 0
    assert stage.conduct().code == 0
    assert stage.merged("work.txt") == "work\n"
    assert stage.merged("PLAN.md") == PLAN
    assert stage.git("status", "--porcelain", "-uno") == ""


def test_a_plan_in_a_linked_tree_has_its_tasks_files_there(stage: Stage) -> None:
    """They were looked for in the main tree, which has another branch."""
    stage.write("# nothing yet\n", **{"a.txt": "a\n"})
    stage.git("worktree", "add", "-q", str(stage.hall / "linked"), "-b", "side")
    stage.root = stage.hall / "linked"
    body = "\n".join(
        line[2:] if line.startswith("##") else line for line in PLAN.partition("### ")[2].split("\n")
    )
    (stage.root / "one.md").write_text(f"# {body}")
    task = "### task-01: T\n```yaml task\ninstructions: one.md\n```\n"
    (stage.root / "PLAN.md").write_text(PLAN.partition("### task-01")[0] + task)
    stage.git("add", "-A")
    stage.git("commit", "-qm", "plan")
    ran = stage.conduct()
    assert ran.code == 0, ran
    assert stage.git("show", "side:work.txt") == "work\n"
    assert stage.run("status").code == 0


def test_what_else_the_branch_has_got_is_its_owners_to_merge(stage: Stage) -> None:
    """AUDIT-N9: nobody has verified it together with the plan's work."""
    stage.write(PLAN, **{"a.txt": "a\n"})
    stage.lock()
    (stage.root / "own.txt").write_text("mine\n")
    stage.git("add", "own.txt")
    stage.git("commit", "-qm", "own")
    before = stage.git("rev-parse", "main")
    ran = stage.conduct()
    assert ran.code == 0
    assert "git checkout main && git merge musician/p/_integration" in ran.out
    assert stage.git("rev-parse", "main") == before


@pytest.mark.parametrize("how", ["on top", "set back", "amended", "deleted", "checked out"])
def test_whatever_somebody_does_to_the_plans_branch_in_a_run_is_told_and_nothing_is_lost(
    stage: Stage, how: str
) -> None:
    """D31: the next trial brought it back without a word."""
    second = _wait_in(stage.gate("here")).partition("### task-01")[2]
    second = second.replace("work.txt", "second.txt").replace("more >> a.txt", "b > b.txt")
    stage.write(PLAN + "\n## Phase 2: B\n### task-02" + second, **{"a.txt": "a\n"})
    run = stage.start("run", "PLAN.md")
    stage.wait_at("here")
    branch, at = "musician/p/_integration", stage.git("rev-parse", "musician/p/_integration").strip()
    his = stage.git(
        "commit-tree", "-m", "his", "-p", at if how != "amended" else f"{at}^1", f"{at}^{{tree}}"
    ).strip()
    if how == "deleted":
        stage.git("branch", "-D", branch)
        his = at
    elif how == "set back":
        his = stage.git("rev-parse", f"{at}^1").strip()
        stage.git("branch", "-f", branch, his)
    elif how == "checked out":
        stage.git("checkout", "-q", branch)
        stage.git("commit", "-q", "--allow-empty", "-m", "his")
        his = stage.git("rev-parse", "HEAD").strip()
    else:
        stage.git("branch", "-f", branch, his)
    stage.open_gate("here")
    ended = stage.end(run)
    assert f"the plan's branch {branch} was" in ended.out, ended
    if how == "checked out":
        assert ended.code == 1, ended
        assert f"branch '{branch}' is checked out" in ended.out
        assert stage.git("rev-parse", "HEAD").strip() == his
        stage.git("checkout", "-q", "main")
        ended = stage.conduct()
    assert ended.code == 0, ended
    assert (stage.merged("work.txt"), stage.merged("second.txt")) == ("work\n", "work\n")
    assert his in stage.git("rev-list", "--all").split()
    assert stage.git("log", "--format=%s", "main").count("his") == 0, "nobody has verified it"


@pytest.mark.parametrize("how", ["set back", "amended", "deleted", "checked out elsewhere"])
def test_whatever_he_does_to_his_own_branch_in_a_run_stays(stage: Stage, how: str) -> None:
    """D31: a branch that he set back was moved forward over that."""
    stage.write(_wait_in(stage.gate("here")), **{"a.txt": "a\n"})
    stage.git("commit", "-q", "--allow-empty", "-m", "last")
    run = stage.start("run", "PLAN.md")
    stage.wait_at("here")
    if how == "set back":
        stage.git("reset", "-q", "--keep", "HEAD^")
    elif how == "amended":
        stage.git("commit", "-q", "--amend", "--allow-empty", "-m", "said better")
    elif how == "deleted":
        stage.git("checkout", "-q", "-b", "other")
        stage.git("branch", "-D", "main")
    else:
        stage.git("checkout", "-q", "-b", "other")
        stage.git("worktree", "add", "-q", str(stage.hall / "his"), "main")
    before = stage.git("for-each-ref", "refs/heads/main", "refs/heads/other"), stage.git("rev-parse", "HEAD")
    stage.open_gate("here")
    ended = stage.end(run)
    assert ended.code == 0, ended
    assert "Your branch was left alone" in ended.out
    assert (
        stage.git("for-each-ref", "refs/heads/main", "refs/heads/other"),
        stage.git("rev-parse", "HEAD"),
    ) == before
    command = next(line for line in ended.out.splitlines() if line.startswith("To take it: "))
    for part in command.removeprefix("To take it: ").split(" && "):
        stage.git(*shlex.split(part)[1:])
    assert stage.git("show", "main:work.txt") == "work\n"
