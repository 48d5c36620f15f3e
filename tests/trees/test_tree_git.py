"""Git is run so that nothing around the caller changes what it does."""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from musician.protocol.errors import GitFailed, NoRepository, TreeNotReady
from musician.trees import git as git_module
from musician.trees.aliases import git_aliases
from musician.trees.branches import create_branch
from musician.trees.git import Git, git_dir_of, shown
from musician.trees.in_memory import Clean, InMemory
from musician.trees.root import Root
from musician.trees.snapshot import tree_id
from musician.trees.trust import configured

GitCommand = Callable[..., str]


def test_a_failure_carries_what_was_run_and_what_git_said(repo: Path) -> None:
    with pytest.raises(GitFailed) as caught:
        Git(repo).run("rev-parse", "--verify", "nonsense")
    assert caught.value.argv == ("rev-parse", "--verify", "nonsense")
    assert caught.value.returncode == 128
    assert caught.value.message == "git rev-parse ended with 128 (fatal: Needed a single revision)"
    assert "\n" not in str(caught.value)


def test_a_signal_from_the_terminal_does_not_reach_git(repo: Path) -> None:
    """Ctrl-C goes to our own process group; a merge that it cut off would look like a failed one."""
    alias = f"alias.group=!'{sys.executable}' -c 'import os; print(os.getpgrp())'"
    assert int(Git(repo).text("-c", alias, "group")) != os.getpgrp()


def test_a_git_that_a_ctrl_c_hits_before_it_has_its_group_is_begun_again(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child is in the terminal's group from its fork to its start; a run ended with "git failed" and 2, not 130."""
    Git(repo).run("config", "--global", "alias.st", "status")
    real, bin_folder, begun = shutil.which("git"), tmp_path / "bin", tmp_path / "begun"
    bin_folder.mkdir()
    (bin_folder / "git").write_text(
        f'#!/bin/sh\n[ -e "{begun}" ] || {{ : > "{begun}"; kill -INT $$; }}\nexec "{real}" "$@"\n'
    )
    (bin_folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_folder), prepend=":")
    (tmp_path / "forecast").mkdir()
    forecast = InMemory(Root(path=repo), tmp_path / "no trial", tmp_path / "forecast")
    asked: dict[str, Callable[[], object]] = {
        "a command": lambda: Git(repo).text("rev-parse", "--is-bare-repository"),
        "the aliases": lambda: git_aliases(str(repo))["st"],
        "the settings": lambda: configured(repo / ".git")["core.bare"],
        "a forecast": lambda: type(forecast.merge("trunk", "trunk")),
    }
    answers = {}
    for what, ask in asked.items():
        begun.unlink(missing_ok=True)
        answers[what] = ask()
        assert begun.exists(), what
    assert answers == {
        "a command": "false",
        "the aliases": "status",
        "the settings": ("false",),
        "a forecast": Clean,
    }


def test_a_git_that_every_ctrl_c_hits_is_given_up(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\nkill -INT $$\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(GitFailed) as caught:
        Git(repo).run("status")
    assert caught.value.returncode == -signal.SIGINT


def test_a_folder_that_is_gone_is_no_tree_and_not_a_missing_git(tmp_path: Path) -> None:
    with pytest.raises(TreeNotReady, match="not a working tree"):
        Git(tmp_path / "gone").run("status")
    with pytest.raises(GitFailed, match="cannot change to"):
        Git(tmp_path / "gone", finds=True).run("status")


def test_a_git_that_hangs_is_ended(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = tmp_path / "bin" / "git"
    hanging.parent.mkdir()
    hanging.write_text("#!/bin/sh\nexec sleep 600\n")
    hanging.chmod(0o755)
    monkeypatch.setenv("PATH", str(hanging.parent), prepend=":")
    monkeypatch.setattr(git_module, "GIT_TIMEOUT_S", 0.1)
    with pytest.raises(GitFailed, match="did not end") as caught:
        Git(repo).run("status")
    assert caught.value.returncode == -9


def test_no_git_at_all_is_told_apart(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoRepository, match="install git"):
        Git(repo).run("status")


def test_ours_is_a_working_folder_that_may_be_gone(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert Git(repo).commit_id("trunk") is not None


def test_the_link_of_a_tree_is_read_whatever_state_it_is_in(tmp_path: Path) -> None:
    assert git_dir_of(tmp_path) is None
    assert git_dir_of(tmp_path / "gone") is None
    (tmp_path / ".git").write_text("garbage")
    assert git_dir_of(tmp_path) is None
    (tmp_path / ".git").write_text("gitdir: ../x y\n")
    assert git_dir_of(tmp_path) == tmp_path.parent.resolve() / "x y"


def test_bytes_that_are_no_text_can_be_shown_and_stored() -> None:
    assert shown(b"caf\xe9 \xc3\xa9") == "caf\\xe9 é"
    shown(bytes(range(256))).encode("utf-8")


def test_a_branch_that_cannot_be_made_is_gits_failure(root: Root) -> None:
    with pytest.raises(GitFailed, match="bad name"):
        create_branch(Git(root.path), "musician/a..b", "trunk")


def test_only_the_top_of_a_tree_can_be_told_by_its_content(root: Root) -> None:
    (root.path / "new").touch()
    with pytest.raises(TreeNotReady, match="not a working tree"):
        tree_id(root.path / "dir")


def test_git_never_works_on_a_tree_that_its_folder_does_not_belong_to(
    repo: Path, tmp_path: Path, git: Callable[..., str]
) -> None:
    """AUDIT-U1, D31: whatever an agent has written into a tree's link."""
    git(repo, "worktree", "add", "-q", str(tmp_path / "one"), "-b", "one")
    git(repo, "worktree", "add", "-q", str(tmp_path / "two"), "-b", "two")
    link = (tmp_path / "one" / ".git").read_bytes()
    for bent in (b"gitdir: " + bytes(repo / ".git"), (tmp_path / "two" / ".git").read_bytes()):
        (tmp_path / "one" / ".git").write_bytes(bent)
        with pytest.raises(TreeNotReady, match="another working tree"):
            Git(tmp_path / "one").run("reset", "--hard")
    (tmp_path / "one" / ".git").write_bytes(link)
    assert Git(tmp_path / "one").text("symbolic-ref", "HEAD") == "refs/heads/one"
    (tmp_path / "one").rename(
        tmp_path / "moved"
    )  # nobody has told git, and nobody else claims to be that tree
    assert Git(tmp_path / "moved").text("symbolic-ref", "HEAD") == "refs/heads/one"


def test_a_ref_is_what_git_says_wherever_it_is_kept(root: Root, git: GitCommand) -> None:
    """Those in files of their own are read there, without git; what is packed or leads elsewhere is asked."""
    tip = git(root.path, "rev-parse", "HEAD")
    git(root.path, "branch", "loose")
    git(root.path, "branch", "old")
    git(root.path, "pack-refs", "--all")
    git(root.path, "commit", "--allow-empty", "-qm", "more")
    newer = git(root.path, "rev-parse", "HEAD")
    git(root.path, "update-ref", "refs/heads/loose", newer)  # which is packed, too, as it was
    git(root.path, "symbolic-ref", "refs/heads/leads", "refs/heads/old")
    git(root.path, "tag", "-am", "a tag's own object", "refs-heads", "HEAD")
    asked = ("loose", "old", "leads", "gone")
    assert [Git(root.path).commit_id(f"refs/heads/{each}") for each in asked] == [newer, tip, tip, None]
    assert [Git(root.path).commit_id(each) for each in ("HEAD", "refs/tags/refs-heads")] == [newer, newer]
    git(root.path, "checkout", "-q", "--detach", tip)
    assert (Git(root.path).head(), Git(root.path).holds("HEAD", newer)) == (tip, False)
    git(root.path, "checkout", "-q", "--orphan", "unborn")
    assert Git(root.path).commit_id("HEAD") is None
    with pytest.raises(GitFailed):
        Git(root.path).head()
