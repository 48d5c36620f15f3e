"""A musician writes in its own tree, wherever its session stands and whatever a link says (D43)."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.hooks.conftest import Hook


def denied(hook: "Hook", cwd: Path, path: str) -> list[bool]:
    """Whether a path may not be written: by a file tool, by a redirection, by a program."""
    calls = (
        {"tool_name": "Write", "tool_input": {"file_path": path, "content": "x"}},
        {"tool_name": "Bash", "tool_input": {"command": f"echo x > '{path}'"}},
        {"tool_name": "Bash", "tool_input": {"command": f"touch '{path}'"}},
    )
    return [bool(hook("PreToolUse", cwd=str(cwd), **call).denies) for call in calls]


@pytest.mark.parametrize("stands_in_the_main_tree", [False, True])
def test_the_users_main_tree_is_not_written(
    hook: "Hook", own_tree: Path, repository: Path, tmp_path: Path, *, stands_in_the_main_tree: bool
) -> None:
    """AUDIT-K4: also after the client has put the session back into the main tree."""
    cwd = repository if stands_in_the_main_tree else own_tree
    assert not any(denied(hook, cwd, str(own_tree / "a.py")))
    assert all(denied(hook, cwd, str(repository / "a.py")))
    assert all(denied(hook, cwd, str(own_tree.parent / "task-04" / "a.py")))
    assert all(denied(hook, cwd, "a.py")) is stands_in_the_main_tree
    assert any(denied(hook, cwd, "a.py")) is stands_in_the_main_tree


def test_a_link_is_what_it_points_at(hook: "Hook", own_tree: Path, repository: Path) -> None:
    """AUDIT-K4: out of the tree, to what every session reads, and to the temp folder that is the task's."""
    (own_tree / "out").symlink_to(repository)
    (own_tree / "notes.md").symlink_to("CLAUDE.md")
    (own_tree / "inner").symlink_to(own_tree / "src")
    (repository / "temp").mkdir(exist_ok=True)
    (own_tree / "temp").symlink_to(repository / "temp")
    assert all(denied(hook, own_tree, "out/a.py"))
    assert all(denied(hook, own_tree, "notes.md"))
    assert not any(denied(hook, own_tree, "inner/a.py"))
    assert not any(denied(hook, own_tree, "temp/scratch"))
    assert all(denied(hook, own_tree, "temp/task-03-status"))


@pytest.mark.parametrize("command", ["git add -A", "git commit -qam x", "git stash", "git merge x"])
def test_git_acts_in_the_main_tree_are_refused(
    hook: "Hook", own_tree: Path, repository: Path, command: str
) -> None:
    """AUDIT-K4."""

    def is_denied(cwd: Path, command: str) -> bool:
        said = {"tool_name": "Bash", "tool_input": {"command": command}}
        return bool(hook("PreToolUse", cwd=str(cwd), **said).denies)

    assert is_denied(repository, command)
    assert is_denied(own_tree, command.replace("git", "git -C ../../../..", 1))
    assert not is_denied(own_tree, command)
