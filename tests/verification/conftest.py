"""A small git repository whose past and present a test writes down as files."""

import os
import subprocess
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from musician.trees.git import Git
from musician.trees.snapshot import tree_id
from musician.verification.change import CodeChange, read_change
from musician.verification.imports import Project


@dataclass(frozen=True)
class Workshop:
    """``before`` commits files, ``now`` writes what has become of them; None deletes a file."""

    tree: Path

    def before(self, files: Mapping[str, str | bytes]) -> str:
        self.now(files)
        for command in (["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "before"]):
            self._git(*command)
        return self._git("rev-parse", "HEAD")

    def now(self, files: Mapping[str, str | bytes | None]) -> None:
        for name, content in files.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            elif isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(textwrap.dedent(content), encoding="utf-8")

    @property
    def git(self) -> Git:
        return Git(self.tree)

    @property
    def tree_id(self) -> str:
        return tree_id(self.tree)

    def change(self, base: str = "HEAD") -> CodeChange:
        return read_change(self.git, base, self.tree_id)

    def project(self) -> Project:
        return Project(self.git, self.tree_id)

    def _git(self, *arguments: str) -> str:
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        argv = [
            "git",
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.org",
            "-c",
            "commit.gpgSign=false",
        ]
        done = subprocess.run([*argv, *arguments], cwd=self.tree, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for name in [each for each in os.environ if each.startswith("COV")]:
        monkeypatch.delenv(name)  # how our own tests are measured is none of its business
    tree = tmp_path / "my tree (é) $x"
    tree.mkdir()
    made = Workshop(tree)
    made._git("init", "-q")
    return made
