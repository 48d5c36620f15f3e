"""What was said of a line stays beside it: in any later commit, of a file that was renamed, changed, or removed."""

import random
from pathlib import Path

from musician.trees.moved_lines import MovedLines, Place, line_at
from tests.trees.conftest import GitCommand


def commit(folder: Path, git: GitCommand) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "next", "--allow-empty")
    return git(folder, "rev-parse", "HEAD").strip()


def test_a_line_is_found_again_or_said_to_be_another(repo: Path, git: GitCommand) -> None:
    """LINE-COMMENTS: whatever is inserted, removed and changed around it."""
    chance = random.Random(7)
    file = repo / "a.txt"
    for _ in range(12):
        before = [f"line {number}" for number in range(30)]
        after = list(before)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(after))
            act = chance.choice(("insert", "remove", "change"))
            after[at : at + (act != "insert")] = [] if act == "remove" else [f"new {chance.random()}"]
        file.write_text("\n".join(before) + "\n")
        old = commit(repo, git)
        file.write_text("\n".join(after) + "\n")
        new = commit(repo, git)
        moved = MovedLines(repo, old, new)
        for number, text in enumerate(before, start=1):
            place = moved.place("a.txt", number)
            assert place is not None
            assert place.is_changed == (text not in after), (text, place)
            assert place.is_changed or after[place.line - 1] == text
            assert line_at(repo, old, "a.txt", number) == text


def test_a_file_that_moved_went_or_is_no_text_any_more(repo: Path, git: GitCommand) -> None:
    """LINE-COMMENTS."""
    (repo / "dir" / "ü ö.txt").write_text("".join(f"{number}\n" for number in range(50)))
    old = commit(repo, git)
    (repo / "dir" / "ü ö.txt").rename(repo / "z.txt")
    (repo / "z.txt").write_text("first\n" + (repo / "z.txt").read_text())
    (repo / "a.txt").unlink()
    (repo / "b.txt").write_bytes(b"\0\1")
    new = commit(repo, git)
    moved = MovedLines(repo, old, new)
    assert moved.place("dir/ü ö.txt", 2) == Place(path="z.txt", line=3)
    assert moved.place("a.txt", 1) is None
    assert moved.place("b.txt", 1) == Place(path="b.txt", line=1, is_changed=True)
    assert moved.place(".gitignore", 1) == Place(path=".gitignore", line=1)
    assert MovedLines(repo, new, new).place("z.txt", 1) == Place(path="z.txt", line=1)
    assert MovedLines(repo, "f" * 40, new).place("z.txt", 1) is None
    for path, number in (("a.txt", 1), ("z.txt", 0), ("z.txt", 52), ("dir", 1), ("../z.txt", 1), ("--", 1)):
        assert line_at(repo, new, path, number) is None
