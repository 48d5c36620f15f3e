"""A glance lets through only what the policy would let through (D21)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.policy.glance import is_harmless
from musician.protocol.policy.tool_calls import Surroundings, judge

DATABASE = "/data/books/x.db"
HERE = Surroundings(cwd="/repo", root="/repo", tree="/repo", database=DATABASE, aliases={"p": "push"})

WORDS = st.sampled_from(
    [
        *[
            "git",
            "gh",
            "push",
            "reset",
            "--hard",
            "clean",
            "-f",
            "branch",
            "x",
            "mv",
            "rm",
            "cp",
            "tee",
            "CLAUDE.md",
            "docs/memory.md",
            "temp/t-status",
        ],
        *[
            "ls",
            "pytest",
            "-q",
            ".",
            "/",
            "/data/books/x.db",
            "sqlite3",
            "sh",
            "-c",
            "env",
            "A=1",
            "&&",
            ";",
            "|",
            "xargs",
            "find",
            "-exec",
            "dd",
        ],
        *["of=CLAUDE.md", "musician", "send", ">", "'", '"', "$x"],
        "\n",
    ]
)


@pytest.mark.parametrize(
    ("tool", "given_", "harmless"),
    [
        ("Bash", {"command": "python -m pytest -q tests/x.py && ls -la"}, True),
        ("Bash", {"command": "git status"}, False),
        ("Bash", {"command": "echo 'x'"}, False),
        ("Bash", {"command": "cp x /data/books/y"}, False),
        ("Bash", {"command": 3}, False),
        ("Bash", "garbage", False),
        ("Write", {"file_path": "/repo/src/a.py", "content": "git push"}, True),
        ("Edit", {"file_path": "/repo/CLAUDE.md"}, False),
        ("Edit", {"file_path": "/repo/a.py", "command": "git push"}, False),
        ("NotebookEdit", {"notebook_path": "/repo/a.ipynb"}, True),
        ("Read", {"file_path": "/repo/CLAUDE.md"}, True),
        ("AskUserQuestion", {}, False),
        ("mcp__rag__ingest_data", {}, False),
    ],
)
def test_a_glance_is_enough_for_builds_tests_and_edits(tool: str, given_: object, *, harmless: bool) -> None:
    assert is_harmless(tool, given_, database=DATABASE) is harmless


@given(st.lists(WORDS, max_size=7))
def test_what_passes_at_a_glance_passes_the_policy(words: list[str]) -> None:
    """D21.1, D21.3."""
    command = " ".join(words)
    if is_harmless("Bash", {"command": command}, database=DATABASE):
        assert judge("Bash", {"command": command}, HERE) is None
    if is_harmless("Write", {"file_path": command}, database=DATABASE):
        assert judge("Write", {"file_path": command}, HERE) is None
