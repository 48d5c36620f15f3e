"""A glance lets through only what the policy would let through (D21)."""

import os
from dataclasses import replace
from pathlib import Path
from posixpath import normpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.policy.paths import Surroundings
from musician.protocol.policy.prescreen import is_harmless
from musician.protocol.policy.tool_calls import judge

DATABASE = "/data/books/x.db"
TREE = "/repo/.musician/trees/p/task-01"
HERE = Surroundings(
    cwd=TREE, root="/repo", tree=TREE, database=DATABASE, home="/home/ada", aliases={"p": "push"}
)

_WORDS = f"""
    git gh push reset --hard clean -f branch x mv rm cp tee ln touch sed -i awk rsync --delete CLAUDE.md docs/memory.md
    temp/t-status ls pytest -q . / {DATABASE} sqlite3 sh -c env - A=1 && ; | xargs find -exec -delete dd of=CLAUDE.md
    musician send claude plugin disable npm publish docker --push mvn deploy unset GIT_CONFIG_COUNT cd .. pushd src
    /repo/README.md -o --write -o/repo/x .claude/settings.json .git/hooks/pre-push > ' " $x
"""
WORDS = st.sampled_from([*_WORDS.split(), "\n"])


@pytest.mark.parametrize(
    ("tool", "given_", "harmless"),
    [
        ("Bash", {"command": "python -m pytest -q tests/x.py && ls -la"}, True),
        ("Bash", {"command": "git status"}, False),
        ("Bash", {"command": "echo 'x'"}, False),
        ("Bash", {"command": "cp x /data/books/y"}, False),
        ("Bash", {"command": 3}, False),
        ("Bash", "garbage", False),
        ("Bash", {"command": f"cd {TREE} && python -m pytest -q"}, True),
        ("Bash", {"command": "cd /repo && python -m pytest -q"}, False),
        ("Bash", {"command": "touch ../x"}, False),
        ("Write", {"file_path": TREE + "/src/a.py", "content": "git push"}, True),
        ("Write", {"file_path": "src/a.py", "content": "git push"}, True),
        ("Write", {"file_path": TREE + "/../x.py", "content": ""}, False),
        ("Write", {"file_path": "/repo/src/a.py", "content": ""}, False),
        ("Edit", {"file_path": TREE + "/CLAUDE.md"}, False),
        ("Edit", {"file_path": TREE + "/a.py", "command": "git push"}, False),
        ("NotebookEdit", {"notebook_path": TREE + "/a.ipynb"}, True),
        ("Read", {"file_path": "/repo/CLAUDE.md"}, True),
        ("AskUserQuestion", {}, False),
        ("mcp__rag__ingest_data", {}, False),
    ],
)
def test_a_glance_is_enough_for_builds_tests_and_edits(tool: str, given_: object, *, harmless: bool) -> None:
    assert is_harmless(tool, given_, cwd=TREE, tree=TREE, database=DATABASE, real=normpath) is harmless


def test_a_session_that_stands_elsewhere_is_read(tmp_path: Path) -> None:
    """AUDIT-K4: what is harmless in the own tree is written into the user's elsewhere."""
    said = {"command": "touch x"}
    assert is_harmless("Bash", said, cwd=TREE + "/src", tree=TREE, database=DATABASE)
    assert not is_harmless("Bash", said, cwd="/repo", tree=TREE, database=DATABASE)
    assert not is_harmless("Bash", said, cwd=TREE + "-2", tree=TREE, database=DATABASE)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(tmp_path)
    tree = os.path.realpath(tmp_path / "tree")
    written = {"file_path": "link/x"}
    assert not is_harmless("Write", written, cwd=tree, tree=tree, database=DATABASE, real=os.path.realpath)


@pytest.mark.parametrize("cwd", [TREE, TREE + "/src", "/repo", "/tmp"])
@given(st.lists(WORDS, max_size=7))
def test_what_passes_at_a_glance_passes_the_policy(cwd: str, words: list[str]) -> None:
    """D21.1, D21.3."""
    command = " ".join(words)
    here = replace(HERE, cwd=cwd)
    for tool, said in (("Bash", {"command": command}), ("Write", {"file_path": command})):
        if is_harmless(tool, said, cwd=cwd, tree=TREE, database=DATABASE, real=normpath):
            assert judge(tool, said, here) is None
