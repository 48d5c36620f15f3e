"""What must hold of a repository before any session begins, each with a remedy that mends it (D31)."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.testing.waiting import HANG_S
from musician.trees.preconditions import broken_trees, check_layout, check_repository
from musician.trees.root import Root, find_root
from musician.trees.worktree import ensure_worktree

GitCommand = Callable[..., str]

BRANCHES = ("musician/p/task-01", "musician/p/_integration")


def typed(remedy: str, folder: Path) -> None:
    """Type what a remedy says."""
    command = remedy.partition(": ")[2]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # The hooks of this repository fail, all of them.
    environment |= {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": os.devnull,
    }
    subprocess.run(["bash", "-c", command], cwd=folder, env=environment, check=True)


def test_a_shared_core_worktree_is_refused_and_gits_own_remedy_mends_it(root: Root, git: GitCommand) -> None:
    """AUDIT-U1: in the configuration that all trees share it sends git in each of them to the main one."""
    git(root.path, "config", "core.worktree", str(root.path))
    check_layout(root)
    git(root.path, "config", "extensions.worktreeConfig", "true")
    with pytest.raises(TreeNotReady, match=r"core\.worktree") as caught:
        check_layout(root)
    typed(caught.value.remedy, root.path)
    check_layout(root)
    tree = ensure_worktree(root, "p", "task-01", "trunk")
    assert git(tree.path, "rev-parse", "--show-toplevel") == str(tree.path)
    assert git(root.path, "rev-parse", "--show-toplevel") == str(root.path)


def test_a_configuration_that_changes_later_is_found_when_a_tree_is_made(root: Root, git: GitCommand) -> None:
    """AUDIT-U1: before a file is checked out; what was begun is taken back, and an edit of the user's stays."""
    (root.path / "a.txt").write_text("mine\n")
    git(root.path, "config", "core.worktree", str(root.path))
    git(root.path, "config", "extensions.worktreeConfig", "true")
    with pytest.raises(TreeNotReady, match="works on") as caught:
        ensure_worktree(root, "p", "task-01", "trunk")
    assert "core.worktree" in caught.value.remedy
    assert (root.path / "a.txt").read_text() == "mine\n"
    assert not list((root.git_dir / "worktrees").iterdir())
    git(root.path, "config", "--unset", "core.worktree")
    tree = ensure_worktree(root, "p", "task-01", "trunk")
    git(root.path, "config", "core.worktree", str(root.path))
    with pytest.raises(TreeNotReady, match="works on"):
        ensure_worktree(root, "p", "task-01", "trunk")
    assert (tree.path / "a.txt").read_text() == "a\n"


@pytest.mark.parametrize(
    "name", ["musician", "musician/p", "musician/p/task-01/mine", "musician/p/_integration/x"]
)
def test_a_branch_in_the_way_is_named_with_the_command_that_mends_it(
    root: Root, git: GitCommand, name: str
) -> None:
    """AUDIT-U9: git keeps a branch in a file, where another needs a folder."""
    git(root.path, "branch", name)
    with pytest.raises(TreeNotReady, match=re.escape(repr(name))) as caught:
        check_repository(root, BRANCHES)
    typed(caught.value.remedy, root.path)
    check_repository(root, BRANCHES)


def test_branches_that_are_ours_or_beside_are_in_nobodys_way(root: Root, git: GitCommand) -> None:
    for name in ("musician/p/task-01", "musician/other/task-01", "musicians", "musician/p/task-010"):
        git(root.path, "branch", name)
    check_repository(root, BRANCHES)


def test_the_folder_of_a_bare_repository_is_no_working_tree(
    repo: Path, tmp_path: Path, git: GitCommand
) -> None:
    """AUDIT-U9: its linked trees are named."""
    around = tmp_path / "around"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(around / ".bare"))
    (around / ".git").write_text("gitdir: ./.bare\n")
    git(around, "worktree", "add", "-q", str(around / "feature"), "-b", "feature")
    with pytest.raises(TreeNotReady, match="bare") as caught:
        check_layout(find_root(around))
    assert caught.value.paths == (str(around / "feature"),)
    check_layout(find_root(around / "feature"))


SLOW_USER = """\
#!/bin/sh
{git} "$@" && exit
code=$?
echo x >> "{folder}/failed"
if [ "$(wc -l < "{folder}/failed")" -ge 3 ]; then cp "{folder}/said" {common}; fi
exit $code
"""
"""Git, and a user whose own git ends what it began between our third failure and our next look."""


def test_whoever_makes_a_tree_is_waited_for(
    root: Root, git: GitCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AUDIT-P23: the user's own, half registered, at which git gives up; found whole when one looks why."""
    git(root.path, "worktree", "add", "-q", str(tmp_path / "mine"), "-b", "mine")
    common = root.git_dir / "worktrees" / "mine" / "commondir"
    said = common.read_bytes()
    (tmp_path / "said").write_bytes(said)
    common.write_bytes(b"")
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    user = SLOW_USER.format(git=shutil.which("git"), folder=tmp_path, common=shlex.quote(str(common)))
    shim.write_text(user)
    shim.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(shim.parent), prepend=os.pathsep)
        assert ensure_worktree(root, "p", "task-01", "trunk").path.is_dir()
    common.write_bytes(b"")
    with pytest.raises(GitFailed, match="commondir"):
        ensure_worktree(root, "p", "task-02", "trunk")
    ((found, remedy),) = broken_trees(root)
    assert "mine" in found
    assert remedy.endswith(f"rm -r {shlex.quote(str(common.parent))}")
    common.write_bytes(said)
    assert not list(broken_trees(root))
    ensure_worktree(root, "p", "task-02", "trunk")


MAKE = """
import sys
from pathlib import Path
from musician.trees.root import find_root
from musician.trees.worktree import ensure_worktree
root = find_root(Path(sys.argv[1]))
sys.stdin.readline()
for task in sys.argv[2:]:
    ensure_worktree(root, "p", task, "trunk")
"""


def test_many_processes_make_trees_at_once_and_none_gives_up(root: Root, git: GitCommand) -> None:
    """AUDIT-P23, AUDIT-P5: some of them the same tree; each is made once, and whole."""
    tasks = [f"task-{number:02}" for number in range(1, 11)]
    orders = [[tasks[number % 10], "task-01", "task-02"] for number in range(20)]
    command = [sys.executable, "-P", "-c", MAKE, str(root.path)]
    processes = [
        subprocess.Popen([*command, *order], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for order in orders
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    failures = [process.communicate(timeout=HANG_S)[1] for process in processes]
    assert [text for text in failures if text] == []
    for task in tasks:
        tree = root.trees_dir / "p" / task
        assert git(tree, "status", "--porcelain") == ""
        assert (tree / "a.txt").read_text() == "a\n"
    assert not list(broken_trees(root))


def test_a_tree_that_no_session_can_mend_is_found(root: Root, git: GitCommand) -> None:
    """AUDIT-P5: what is mended by the next session is not told, what is mended by nobody is."""
    tree = ensure_worktree(root, "p", "task-01", "trunk").path
    link = (tree / ".git").read_bytes()
    (tree / ".git").unlink()
    assert not list(broken_trees(root))
    git(tree, "init", "-q")
    ((found, remedy),) = broken_trees(root)
    assert str(tree) in found
    assert "another repository" in found
    typed(remedy, root.path)
    assert (Path(f"{tree}.moved") / "a.txt").exists()
    assert ensure_worktree(root, "p", "task-01", "trunk").path == tree
    assert (tree / ".git").read_bytes() == link


@pytest.mark.parametrize(
    ("settings", "stops"),
    [
        ({"clean": "no-such-program", "required": "true"}, "no-such-program"),
        ({"process": "no-such-program", "required": "yes"}, "no-such-program"),
        ({"clean": "no-such-program"}, ""),
        ({"clean": "no-such-program", "required": "false"}, ""),
        ({"clean": "grep ."}, ""),
        ({"clean": "grep .", "required": "true"}, ""),
        ({"clean": "cat", "required": "true"}, ""),
        ({"required": "true"}, "filter"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else value or "goes on",
)
@pytest.mark.parametrize("name", ["big", "my big.filter"])
def test_a_required_filter_must_run_before_anything_is_begun(
    root: Root, git: GitCommand, settings: dict[str, str], stops: str, name: str
) -> None:
    """One that refuses an empty file may take the ones there are; one that no file has is nobody's."""
    (root.path / "näme of.big").write_bytes(b"large\xff\n")
    (root.path / ".gitattributes").write_text("*.big filter=big\n", encoding="utf-8")
    git(root.path, "add", "-A")
    git(root.path, "commit", "-qm", "big")
    for key, value in settings.items():
        git(root.path, "config", f"filter.{name}.{key}", value)
    if stops and name == "big":
        with pytest.raises(TreeNotReady, match=stops) as caught:
            check_repository(root, BRANCHES)
        assert caught.value.paths == ("näme of.big",)
    else:
        check_repository(root, BRANCHES)
