"""What is finished goes, and nothing that holds something: each way in which cleaning loses work (D32)."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from musician.testing.waiting import HANG_S
from musician.trees.cleaning import note_start
from musician.trees.root import find_root
from musician.trees.worktree import ensure_worktree
from tests.plan_end.conftest import write_plan
from tests.surroundings import Call, begin, git


def ours(house: Path) -> tuple[list[str], list[str]]:
    """The working trees and the branches of ours that there are."""
    trees = [
        str(each.relative_to(house / ".musician" / "trees")) for each in house.glob(".musician/trees/*/*")
    ]
    return sorted(trees), git(
        house, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/musician"
    ).split()


def test_a_complete_plan_leaves_no_tree_and_no_branch(house: Path, call: Call) -> None:
    """D32.1: what was merged goes at the end of the run, and what is the user's stays as it was."""
    path = write_plan(house, "first")
    git(house, "branch", "mine")
    git(house, "worktree", "add", "-q", "../beside", "mine")
    said = call("run", path)
    assert "stays" not in said.err
    assert ours(house) == ([], [])
    assert (house / "first-2.txt").read_text() == "two\n"
    assert git(house, "branch", "--format=%(refname:short)").split() == ["mine", "trunk"]
    assert (house.parent / "beside" / "README.md").is_file()
    assert len(git(house, "worktree", "list").splitlines()) == 2
    assert call("clean").out.startswith("nothing to clean")
    assert "1" in call("status", "--disk").out
    assert call("status", "--disk", "--json").json["bytes"]["trees"] < 100_000
    assert call("review", "show", "task-01").out, "what was done can be looked at all the same"


@pytest.fixture
def finished(house: Path, call: Call) -> Path:
    """A complete plan whose two tasks have their trees again; that of task-01 is returned."""
    call("run", write_plan(house, "first"))
    root, head = find_root(house), git(house, "rev-parse", "HEAD").strip()
    ensure_worktree(root, "first", "task-02", head)
    return ensure_worktree(root, "first", "task-01", head).path


def edited(tree: Path) -> None:
    (tree / "README.md").write_text("other\n")


def added(tree: Path) -> None:
    (tree / "new.txt").write_text("new\n")


def staged(tree: Path) -> None:
    (tree / "README.md").write_text("other\n")
    git(tree, "add", "README.md")
    (tree / "README.md").write_text("a house\n")


def noted(tree: Path) -> None:
    (tree / "notes").mkdir()
    (tree / "notes" / "idea.md").write_text("an idea\n")


def committed(tree: Path) -> None:
    added(tree)
    git(tree, "add", "new.txt")
    git(tree, "commit", "-qm", "more")


def taken_back(tree: Path) -> None:
    committed(tree)
    git(tree, "reset", "-q", "--hard", "HEAD^")


def detached(tree: Path) -> None:
    git(tree, "checkout", "-q", "--detach")


def elsewhere(tree: Path) -> None:
    git(tree, "checkout", "-q", "-b", "idea")


def renamed(tree: Path) -> None:
    git(tree, "branch", "-m", "musician/first/task-01", "mine")


def locked(tree: Path) -> None:
    git(tree, "worktree", "lock", str(tree))


def bisecting(tree: Path) -> None:
    git(tree, "bisect", "start")


def with_ref(tree: Path) -> None:
    git(tree, "update-ref", "refs/worktree/mark", "HEAD")


def nested(tree: Path) -> None:
    begin(tree / "inner", {"a.txt": "a\n"})


def with_submodule(tree: Path) -> None:
    """Clean to git, and yet its store has a commit that is nowhere else."""
    module = begin(tree.parents[3].parent / "module", {"m.txt": "m\n"})
    git(tree, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(module), "module")
    git(tree, "commit", "-qm", "a module")
    house = tree.parents[3]
    git(house, "merge", "-q", "--ff-only", "musician/first/task-01")
    (tree / "module" / "m.txt").write_text("mine\n")
    git(tree / "module", "commit", "-qam", "only here")
    git(tree / "module", "checkout", "-q", "HEAD^")


def nested_at_the_start(tree: Path) -> None:
    """A folder that git ignores and a set-up cloned: a commit in it does not touch the folder."""
    (tree / "notes").mkdir()
    inner = begin(tree / "notes" / "lib", {"a.txt": "a\n"})
    note_start(tree, {})
    git(inner, "commit", "-q", "--allow-empty", "-m", "only here")


def linked_repository(tree: Path) -> None:
    """Git takes a repository up as a link to its commit, and looks no further."""
    begin(tree / "inner", {"a.txt": "a\n"})
    git(tree, "add", "inner")
    git(tree, "commit", "-qm", "a link")
    git(tree.parents[3], "merge", "-q", "--ff-only", "musician/first/task-01")


def unlooked_at(tree: Path) -> None:
    git(tree, "update-index", "--skip-worktree", "README.md")
    edited(tree)


def assumed(tree: Path) -> None:
    git(tree, "update-index", "--assume-unchanged", "README.md")
    edited(tree)


def unlinked(tree: Path) -> None:
    (tree / ".git").unlink()


HOLDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "edited": (edited, "changes that are in no commit: README.md"),
    "added": (added, "changes that are in no commit: new.txt"),
    "staged": (staged, "changes that are in no commit: README.md"),
    "ignored": (noted, "not there at its start: notes/idea.md"),
    "committed": (committed, "its branch is not merged"),
    "taken back": (taken_back, "commits that no branch holds"),
    "detached": (detached, "its HEAD is detached"),
    "on another branch": (elsewhere, "branch 'idea' is checked out in it"),
    "its branch renamed": (renamed, "branch 'mine' is checked out in it"),
    "locked": (locked, "it is locked"),
    "under way": (bisecting, "a bisect is under way"),
    "a ref of its own": (with_ref, "refs that are in no other working tree"),
    "a repository inside": (nested, "changes that are in no commit: inner/"),
    "a repository that was there": (nested_at_the_start, "repositories of their own: notes/lib"),
    "a repository as a link": (linked_repository, "repositories of their own: inner"),
    "not looked at": (unlooked_at, "files that git is told not to look at: README.md"),
    "assumed unchanged": (assumed, "files that git is told not to look at: README.md"),
    "a submodule": (with_submodule, "its submodules have commits in a store of its own"),
    "no link": (unlinked, "no whole working tree"),
}


QUICK = frozenset({"edited", "committed"})


@pytest.mark.parametrize(
    "hold", [hold if hold in QUICK else pytest.param(hold, marks=pytest.mark.deep) for hold in HOLDS]
)
def test_what_holds_something_stays_and_is_told(finished: Path, call: Call, hold: str) -> None:
    """D32.1: the tree beside it, which holds nothing, goes."""
    act, reason = HOLDS[hold]
    act(finished)
    before = contents(finished)
    planned = call("clean", "--dry-run").out
    said = call("clean").out
    assert planned.replace("would go: ", "removed: ") == said
    (line,) = (line for line in said.splitlines() if f"stays: working tree {finished}" in line)
    assert reason in line
    assert "git -C" in line
    assert contents(finished) == before
    assert not (finished.parent / "task-02").exists()
    house = finished.parents[3]
    assert ("mine" if hold == "its branch renamed" else "musician/first/task-01") in git(
        house, "branch", "--format=%(refname:short)"
    ).split()
    git(house, "fsck", "--strict")


def contents(folder: Path) -> dict[str, bytes]:
    found = sorted(each for each in folder.rglob("*") if each.is_file() and not each.is_symlink())
    return {str(each.relative_to(folder)): each.read_bytes() for each in found}


@contextmanager
def standing(tree: Path) -> Iterator[None]:
    """A person's shell."""
    with in_process(["bash", "-c", "echo here; read -r _"], cwd=tree):
        yield


@contextmanager
def reading(tree: Path) -> Iterator[None]:
    """A program that stands elsewhere and has a file open."""
    with in_process(
        ["bash", "-c", 'exec 3< "$1"; echo here; read -r _', "x", str(tree / "README.md")], cwd=Path("/")
    ):
        yield


@contextmanager
def in_process(argv: list[str], *, cwd: Path) -> Iterator[None]:
    with ExitStack() as ending:
        shell = subprocess.Popen(argv, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert shell.stdin is not None
        assert shell.stdout is not None
        ending.callback(shell.wait, HANG_S)
        ending.callback(shell.stdout.close)
        ending.callback(shell.stdin.close)
        assert shell.stdout.readline() == b"here\n"
        yield


@pytest.mark.deep
@pytest.mark.parametrize("use", [standing, reading], ids=["a shell", "an open file"])
def test_a_tree_that_is_used_stays(
    finished: Path, call: Call, use: Callable[[Path], AbstractContextManager[None]]
) -> None:
    """D32.1."""
    with use(finished):
        said = call("clean").out
        assert f"stays: working tree {finished}: in use by " in said
        assert finished.is_dir()
    call("clean")
    assert ours(finished.parents[3]) == ([], [])


@pytest.mark.deep
def test_who_cleans_from_inside_a_tree_is_not_left_without_ground(finished: Path) -> None:
    """D32.1: the shell above us is a person's, too."""
    line = f'"{sys.executable}" -m musician clean; pwd -P > "$1"; test -d .'
    told = finished.parents[4] / "told"
    done = subprocess.run(
        ["bash", "-c", line, "x", str(told)], cwd=finished, capture_output=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"in use by" in done.stdout
    assert finished.is_dir()


@pytest.mark.deep
def test_caches_and_what_a_set_up_left_hold_nothing(house: Path, call: Call) -> None:
    """D32.1: and a file that somebody puts beside that does."""
    setup = "mkdir -p notes; echo lib > notes/lib; mkdir -p .cache __pycache__; echo x > __pycache__/a.pyc;"
    tag = "Signature: 8a477f597d28d172789f06886806bc55"
    keys = f"setup: |\n  {setup} echo '{tag}' > .cache/CACHEDIR.TAG\n"
    call(
        "run",
        write_plan(
            house, "first", keys=keys, second="echo y > .cache/y; echo y > __pycache__/b.pyc; echo 2 > 2"
        ),
    )
    assert ours(house) == ([], [])
    said = call(
        "run",
        write_plan(
            house, "second", keys=keys, second="echo mine > notes/mine; echo lib2 >> notes/lib; echo 3 > 3"
        ),
    )
    assert "notes/lib, notes/mine" in said.err
    assert ours(house)[0] == ["second/task-02"]


@pytest.mark.deep
def test_a_copy_that_was_changed_is_nobodys_but_the_trees(house: Path, call: Call) -> None:
    """D32.1."""
    (house / ".env").write_text("key=1\n")
    keys = "copy: [.env]\n"
    said = call("run", write_plan(house, "first", keys=keys, second="echo key=2 > .env; echo 2 > 2"))
    assert "not there at its start: .env" in said.err
    assert ours(house)[0] == ["first/task-02"]
    assert (house / ".env").read_text() == "key=1\n"


@pytest.mark.deep
def test_what_belongs_to_an_open_plan_stays(house: Path, call: Call) -> None:
    """D32.1."""
    call("run", write_plan(house, "first", second="exit 1"), expect=1)
    said = call("clean").out
    assert "task-02: its task is " in said
    assert "its plan is open" in said
    trees, branches = ours(house)
    assert "first/task-02" in trees
    assert "first/task-01" not in trees, "it is complete, merged and clean"
    assert branches == ["musician/first/_integration", "musician/first/task-01", "musician/first/task-02"]
    call("plan", "archive", "first", "--abandon", "too hard")
    said = call("clean").out
    assert ours(house)[1] == branches, "an abandoned plan keeps its branches"
    assert "abandoned: too hard" in said
    assert ours(house)[0] == []


def test_what_the_users_branch_does_not_hold_stays(house: Path, call: Call) -> None:
    """D32.1: his branch went on by itself, so the merged work is in the plan's alone."""
    path = write_plan(house, "first")
    call("plan", "lock", path)
    (house / "README.md").write_text("my house\n")
    git(house, "commit", "-qam", "mine")
    said = call("run", path)
    assert "musician/first/_integration: commits that no other branch holds" in said.err, said
    assert ours(house) == ([], ["musician/first/_integration"])
    git(house, "merge", "-q", "musician/first/_integration")
    call("clean")
    assert ours(house) == ([], [])


def test_a_tree_goes_with_its_task_and_the_work_can_be_looked_at(house: Path, call: Call) -> None:
    """D32.7: not at the end of the plan only; unless the run keeps them."""
    path = write_plan(house, "first", second="exit 1")
    call("run", "--keep", path, expect=1)
    assert "first/task-01" in ours(house)[0]
    call("run", path, expect=1)
    trees, branches = ours(house)
    assert "first/task-01" not in trees
    assert "first/task-02" in trees
    assert "musician/first/task-01" in branches
    assert "first.txt" in call("review", "diff", "task-01", "--stat").out
    call("review", "checkout", "task-01")
    assert (house / ".musician" / "checkouts" / "task-01" / "first.txt").is_file()


@pytest.mark.deep
def test_what_git_ignores_in_a_tree_of_trial_merges_is_looked_at(house: Path, call: Call) -> None:
    """D32.7: what the tests left there goes; what somebody put there stays, and is told."""
    test = 'test: mkdir -p notes && echo "$RANDOM" > notes/report && test -e README.md'
    path = write_plan(house, "first")
    (house / path).write_text((house / path).read_text().replace("test: test -e README.md", test))
    git(house, "commit", "-qam", "tests that leave files")
    call("run", "--keep", path)
    (tree,) = house.glob(".musician/trees/first/_integration")
    assert (tree / "notes" / "report").is_file()
    (tree / "notes" / "idea.md").write_text("an idea\n")
    assert f"stays: working tree {tree}: files that git ignores" in call("clean").out
    assert (tree / "notes" / "idea.md").read_text() == "an idea\n"
    (tree / "notes" / "idea.md").unlink()
    call("clean")
    assert not tree.exists()


@pytest.mark.deep
def test_a_scratch_tree_of_an_ended_task_goes_if_it_holds_nothing(house: Path, call: Call) -> None:
    """D32.7."""
    call("run", write_plan(house, "first"))
    scratch = {}
    for task in ("task-01", "task-02"):
        call("review", "checkout", task)
        scratch[task] = house / ".musician" / "checkouts" / task
    (scratch["task-01"] / "notes").mkdir()
    (scratch["task-01"] / "notes" / "idea.md").write_text("an idea\n")
    with standing(scratch["task-02"]):
        said = call("clean").out
    assert f"stays: scratch tree {scratch['task-01']}: files that git ignores" in said
    assert f"stays: scratch tree {scratch['task-02']}: in use by " in said
    assert f"removed: scratch tree {scratch['task-02']}" in call("clean").out
    assert not scratch["task-02"].exists()
    assert (scratch["task-01"] / "notes" / "idea.md").is_file()


def test_a_scratch_tree_of_a_task_that_waits_for_its_verdict_stays(house: Path, call: Call) -> None:
    """D32.7: its reviewer is looking at it."""
    path = write_plan(house, "first")
    call("run", "--review", "human", path, expect=1)
    call("review", "checkout", "task-01")
    scratch = house / ".musician" / "checkouts" / "task-01"
    assert f"stays: scratch tree {scratch}: its task is needs_review" in call("clean").out
    assert scratch.is_dir()


def test_a_branch_of_a_remote_holds_nothing_for_good(house: Path, call: Call) -> None:
    """D32.4: it can be deleted there, and the next `fetch --prune` takes it from here; a tag is the user's own."""
    path = write_plan(house, "first")
    call("plan", "lock", path)
    (house / "README.md").write_text("my house\n")
    git(house, "commit", "-qam", "mine")
    call("run", path)
    git(house, "update-ref", "refs/remotes/origin/first", "musician/first/_integration")
    assert "commits that no other branch holds" in call("clean").out
    assert ours(house) == ([], ["musician/first/_integration"])
    git(house, "tag", "v1", "musician/first/_integration")
    call("clean")
    assert ours(house) == ([], [])


def test_trees_of_plans_that_nobody_knows_stay(house: Path, call: Call) -> None:
    """D32.1."""
    ensure_worktree(find_root(house), "other", "task-01", "HEAD")
    assert "no plan of that name is known here" in call("clean").out
    assert ours(house) == (["other/task-01"], ["musician/other/task-01"])


@pytest.mark.deep
def test_a_run_that_cannot_clean_is_complete_all_the_same(house: Path, call: Call) -> None:
    """D32.1: it says so, and how to do it later."""
    path = write_plan(house, "first")
    call("run", "--keep", path, expect=0)
    (house / ".git" / "refs" / "heads" / "musician" / "first" / "broken").write_text("1" * 40 + "\n")
    said = call("run", path, expect=0)
    assert "no such commit refs/heads/musician/first/broken" in said.err
    assert "later: musician clean" in said.err


def test_a_commit_in_the_tree_of_trial_merges_is_somebodys_and_stays(house: Path, call: Call) -> None:
    """D32.1: nobody is to work there, and it is no reason to lose what somebody did."""
    call("run", write_plan(house, "first"), "--keep")
    (tree,) = house.glob(".musician/trees/first/_*")
    committed(tree)
    mine = git(tree, "rev-parse", "HEAD").strip()
    assert f"commits that no branch holds: {mine[:12]}" in call("clean", expect=None).out
    assert git(tree, "rev-parse", "HEAD").strip() == mine
    git(tree, "branch", "mine")
    call("clean", expect=None)
    assert not tree.exists()
