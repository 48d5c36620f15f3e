"""A real repository in surroundings that are against us: odd path, failing hooks, signing, a stranger's environment."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from musician.trees.root import Root, exclude_private, find_root

GitCommand = Callable[..., str]

_HOOKS = [
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-merge-commit", "post-merge",
    "post-checkout", "reference-transaction", "pre-rebase", "post-rewrite", "post-index-change",
]  # fmt: skip


@pytest.fixture
def git() -> GitCommand:
    """Run git as a careful user would: ``git(folder, "status")`` gives its output."""

    def run(folder: Path, *arguments: str, may_fail: bool = False) -> str:
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        argv = ["git", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", "-c", "user.name=Ada"]
        done = subprocess.run(
            [*argv, "-c", "user.email=ada@example.org", *arguments], cwd=folder, env=env, capture_output=True
        )
        assert may_fail or done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    return run


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user configuration and an environment that would break a naive git call."""
    config = tmp_path / "gitconfig"
    config.write_text(
        "[init]\n defaultBranch = odd\n[commit]\n gpgSign = true\n template = /nowhere\n[gpg]\n program = false\n"
        "[user]\n useConfigOnly = true\n[merge]\n ff = only\n verifySignatures = true\n[core]\n autocrlf = input\n"
        " safecrlf = true\n editor = false\n quotePath = true\n[status]\n showUntrackedFiles = no\n"
        "[diff]\n noprefix = true\n renames = copies\n[log]\n showSignature = true\n[color]\n ui = always\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", "/nowhere/.git")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    monkeypatch.setenv("GIT_WORK_TREE", "/nowhere")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Someone Else")


@pytest.fixture
def repo(tmp_path: Path, git: GitCommand, hostile: None) -> Path:
    """One commit on ``trunk`` with ``a.txt``, ``b.txt`` and ``dir/ü ö.txt``; every hook fails."""
    folder = tmp_path / "My Proj (é) $x"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk", "--object-format=sha1")
    (folder / "dir").mkdir()
    (folder / "a.txt").write_text("a\n")
    (folder / "b.txt").write_text("b\n")
    (folder / "dir" / "ü ö.txt").write_text("u\n")
    (folder / ".gitignore").write_text("*.ignored\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    for name in _HOOKS:
        hook = folder / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
    return folder


@pytest.fixture
def root(repo: Path) -> Root:
    found = find_root(repo)
    exclude_private(found)
    return found
