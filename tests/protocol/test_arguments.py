"""A file of any name, as a word that a shell reads as that very name."""

import os
import subprocess

import pytest

from musician.protocol.arguments import as_argument


@pytest.mark.parametrize(
    "name",
    ["PLAN.md", "-x", "a b", "it's", "$HOME", "a\nb", "t\tb\\'0", "\udcff0", "\x1b[2J", "ü ö", "a\u202eb"],
)
def test_a_shell_reads_the_name(name: str) -> None:
    word = as_argument(name)
    assert word.isprintable()
    read = subprocess.run(
        ["bash", "-c", f"printf %s {word}"], capture_output=True, check=True, env={"LC_ALL": "C"}
    )
    assert os.path.normpath(read.stdout) == os.fsencode(name)
