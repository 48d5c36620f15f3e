"""A conflict that is resolved in contents already, though nobody merged (D24).

Whoever is told of a conflict may write the right contents by hand. Git knows only that both sides changed the same
lines, and finds the same conflict for ever. So the file of a task is taken as it is where it holds every line that the
other side added, and none that the other side took away. What it then comes to is verified like any merge.
"""

import os
from collections import Counter

from musician.trees.git import Git, shown

__all__ = ["hunk_of", "settle_written_by_hand"]

_MOST_HUNK_CHARS = 2000


def settle_written_by_hand(git: Git, paths: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Take the merged branch's side of each unmerged path that holds the other's; the paths that are left."""
    left = []
    for path in paths:
        sides = [_lines(git, f":{stage}:{os.fsdecode(path)}") for stage in (1, 2, 3)]
        if not _holds(*sides):
            left.append(path)
            continue
        git.run("checkout", "--theirs", "--", os.fsdecode(path))
        git.run("add", "--", os.fsdecode(path))
    return tuple(left)


def hunk_of(git: Git, base: str, side: str, paths: tuple[bytes, ...]) -> str:
    """What one side changed in the paths, as git shows it; cut where it is long."""
    asked = [os.fsdecode(path) for path in paths]
    command = ("--literal-pathspecs", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--unified=2")
    found = git.run(*command, base, side, "--", *asked).stdout
    text = shown(found).strip()
    return text if len(text) <= _MOST_HUNK_CHARS else f"{text[:_MOST_HUNK_CHARS]}\n… (cut)"


def _holds(
    base: "Counter[bytes] | None", ours: "Counter[bytes] | None", theirs: "Counter[bytes] | None"
) -> bool:
    """Whether ``theirs`` has all that ``ours`` added to ``base``, and nothing of what it took away."""
    if ours is None or theirs is None:
        return False  # whether a file is to be is no matter of lines
    base = base or Counter()
    added, removed = ours - base, base - ours
    return bool(added or removed) and added <= theirs and all(theirs[line] <= ours[line] for line in removed)


def _lines(git: Git, blob: str) -> "Counter[bytes] | None":
    """None where that side has no such file, or it is no text."""
    done = git.run("cat-file", "blob", blob, accept=(0, 128))
    if done.returncode != 0 or b"\0" in done.stdout:
        return None
    return Counter(line.strip() for line in done.stdout.splitlines())
