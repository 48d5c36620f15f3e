"""What happens in the user's main tree while a piece is played in another (D43)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from musician.runtime.outside import Outside, changed_outside, look_outside
from musician.trees.branches import full_ref, integration_branch
from musician.trees.root import Root, exclude_private, find_root
from tests.surroundings import begin, git


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A repository with a file of the user's that he has changed, and not committed."""
    folder = begin(tmp_path / "My Proj (é) $x", {"a.py": "a\n", "b.py": "b\n"})
    found = find_root(folder)
    found.musician_dir.mkdir()
    exclude_private(found)
    (folder / "a.py").write_text("a\nmine\n")
    return found


def write(name: str | bytes) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        with open(os.path.join(os.fsencode(folder), os.fsencode(name)), "w") as file:
            file.write("theirs\n")

    return act


def remove(folder: Path) -> None:
    (folder / "b.py").unlink()


def commit(folder: Path) -> None:
    git(folder, "commit", "-qam", "stolen")


def nothing(folder: Path) -> None:
    git(folder, "status")


def ours(folder: Path) -> None:
    (folder / "docs/implementation/reports").mkdir(parents=True)
    (folder / "docs/implementation/reports/task-01-completion.md").write_text("x")
    (folder / ".musician" / "logs").mkdir()


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (nothing, ""),
        (ours, ""),
        (write("a.py"), "a.py"),
        (write("b.py"), "b.py"),
        (write("new é.py"), "new é.py"),
        (write(b"odd\xff\n"), "odd\\xff"),
        (remove, "b.py"),
        (commit, "HEAD has moved"),
    ],
)
def test_what_changes_beside_the_own_tree_is_seen(root: Root, act: Callable[[Path], None], told: str) -> None:
    """AUDIT-K4, D43.3: the user's line that was changed already, too; what this program puts there is none of it."""
    before = look_outside(root)
    assert before is not None
    act(root.path)
    found = changed_outside(root, None, Outside.from_text(before.as_text()))
    assert told in found
    assert bool(found) is bool(told)


def test_a_plans_merged_work_is_no_strangers(root: Root) -> None:
    """The user's branch is moved forward to it while others still play."""
    git(root.path, "checkout", "-q", "--", "a.py")
    start = git(root.path, "rev-parse", "HEAD").strip()
    commit_of_plan = git(root.path, "commit-tree", "-p", start, "-m", "merged", "HEAD^{tree}").strip()
    git(root.path, "update-ref", full_ref(integration_branch("p")), commit_of_plan)
    before = look_outside(root)
    assert before is not None
    git(root.path, "merge", "-q", "--ff-only", commit_of_plan)
    assert changed_outside(root, "p", before) == ""
    assert "HEAD has moved" in changed_outside(root, None, before)
    after = look_outside(root)
    assert after is not None
    git(root.path, "reset", "-q", "--hard", start)
    assert "HEAD has moved" in changed_outside(root, "p", after), "back is none of ours"


def test_where_git_does_not_say_nothing_is_told(root: Root) -> None:
    before = look_outside(root)
    assert before is not None
    (root.path / ".git" / "HEAD").write_text("garbage")
    assert look_outside(root) is None
    assert changed_outside(root, None, before) == ""
