"""The difference of two commits is read file by file, by place, whatever the files are called."""

import os
from pathlib import Path

import pytest

from musician.protocol.errors import CommitGone
from musician.trees.diffs import (
    MOST_BLOB_BYTES,
    MOST_PATCH_BYTES,
    difference,
    files_between,
    patch_of,
    text_of_blob,
)
from tests.surroundings import begin, git


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return begin(
        tmp_path / "p", {"kept.py": "x = 1\n" * 20, "gone.txt": "bye\n", "old.md": "# a\n\nlong enough\n"}
    )


def commit(folder: Path) -> tuple[str, str]:
    old = git(folder, "rev-parse", "HEAD").strip()
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "change")
    return old, git(folder, "rev-parse", "HEAD").strip()


def test_each_file_says_what_became_of_it(folder: Path) -> None:
    (folder / "gone.txt").unlink()
    (folder / "old.md").rename(folder / "new.md")
    (folder / "kept.py").write_text("x = 2\n" + "x = 1\n" * 19)
    (folder / "image").write_bytes(b"\0\1\2")
    files = files_between(folder, *commit(folder))
    assert [
        (each.number, each.status, each.old_path, each.path, each.added, each.removed) for each in files
    ] == [
        (0, "D", "gone.txt", "gone.txt", 0, 1),
        (1, "A", "image", "image", None, None),
        (2, "M", "kept.py", "kept.py", 1, 1),
        (3, "R", "old.md", "new.md", 0, 0),
    ]


@pytest.mark.parametrize("name", [b"a\tb", b"a\nb", b"caf\xe9", "é".encode(), b":(top)x", b'"q"', b"-x"])
def test_any_name_is_found_by_its_place(folder: Path, name: bytes) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("hello\n")
    old, new = commit(folder)
    (file,) = files_between(folder, old, new)
    assert file.raw_path == name
    patch = patch_of(folder, old, new, file)
    assert patch is not None
    assert "+hello" in patch


def test_the_users_settings_have_no_say(folder: Path) -> None:
    for setting in (
        ("color.ui", "always"),
        ("diff.external", "false"),
        ("diff.noprefix", "true"),
        ("core.quotePath", "true"),
    ):
        git(folder, "config", *setting)
    (folder / "kept.py").write_text("y\n")
    old, new = commit(folder)
    (file,) = files_between(folder, old, new)
    patch = patch_of(folder, old, new, file)
    assert patch is not None
    assert "\x1b" not in patch
    assert patch.count("\n-x = 1") == 20


def test_white_space_can_be_left_out(folder: Path) -> None:
    (folder / "kept.py").write_text("x  =  1\n" * 20)
    old, new = commit(folder)
    (file,) = files_between(folder, old, new)
    assert patch_of(folder, old, new, file, "--ignore-all-space") == ""


def test_what_is_too_large_is_not_read(folder: Path) -> None:
    (folder / "big").write_text("0123456789\n" * (MOST_PATCH_BYTES // 10))
    old, new = commit(folder)
    (file,) = files_between(folder, old, new)
    assert patch_of(folder, old, new, file) is None
    assert text_of_blob(folder, file.new_blob) is None
    assert text_of_blob(folder, file.old_blob) == ""
    assert MOST_BLOB_BYTES < MOST_PATCH_BYTES


def test_another_repository_in_a_folder_has_no_text(folder: Path) -> None:
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},inner")
    old = git(folder, "rev-parse", "HEAD").strip()
    git(folder, "commit", "-qm", "inner")
    (file,) = files_between(folder, old, git(folder, "rev-parse", "HEAD").strip())
    assert (file.path, text_of_blob(folder, file.new_blob)) == ("inner", None)


def test_a_commit_that_is_gone_is_said_to_be(folder: Path) -> None:
    head = git(folder, "rev-parse", "HEAD").strip()
    for ask in (files_between, difference):
        with pytest.raises(CommitGone, match="0000"):
            ask(folder, head, "0" * 40)
