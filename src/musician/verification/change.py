"""What changed between the tree at the last checkpoint and the tree now, line by line.

Knows two git trees and git's diff between them. Refuses to look at the working folder: a
test run may leave things there, and evidence is about exactly the tree it names. Rules:

- A renamed file is one deleted and one created: every line of it counts as new.
- Files that are too large, too many, no text or oddly named are not read; how many those are is said, never hidden.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Literal

from musician.protocol.values import dataclass, replace
from musician.trees.git import Git
from musician.trees.obstacles import changed_between

MAX_CHANGED_FILES = 2_000
MAX_FILE_BYTES = 1024 * 1024
"""A larger file is data or generated; it is counted, not read."""
_MAX_ALL_BYTES = 64 * 1024 * 1024
_MAX_PATH_BYTES = 512 * 1024
"""Of all paths together: they are named on a command line."""
_MAX_LINE_CHARS = 1_000

_HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)")
_TEST_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "__snapshots__"})
_TEST_FILE = re.compile(r"test_.*|.*_tests?|.*[._-]spec|.*\.test|conftest")
_PYTHON_TEST = re.compile(r"test_.*\.py|.*_test\.py")
_DOCUMENTATION = frozenset({".md", ".rst", ".txt", ".adoc"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedLine:
    """``number`` counts from 1 in the file as it is now; ``text`` is cut where a line is endless."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """``old_blob`` and ``new_blob`` are git's ids, "" on the side where the file is not."""

    path: str
    kind: Literal["created", "modified", "deleted"]
    mode: str
    old_blob: str
    new_blob: str
    old_mode: str = ""
    added: tuple[AddedLine, ...] = ()

    @property
    def is_python(self) -> bool:
        return self.path.endswith(".py") and self.mode.startswith("100")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeChange:
    """Everything that changed from ``base`` to ``tree_id``; ``unread`` counts the files that were not looked
    into.

    ``listed`` are all changed files, including the unread ones, without their lines.
    """

    base: str
    tree_id: str
    files: tuple[ChangedFile, ...]
    unread: int = 0
    listed: tuple[ChangedFile, ...] = ()

    @property
    def present(self) -> tuple[ChangedFile, ...]:
        """The changed files that exist now."""
        return tuple(file for file in self.files if file.kind != "deleted")

    @property
    def subjects(self) -> tuple[ChangedFile, ...]:
        """The files that tests could be about: neither tests nor documentation."""
        return tuple(
            file for file in self.files if not is_test_side(file.path) and not is_documentation(file.path)
        )


def is_test_side(path: str) -> bool:
    """Whether a file belongs to the tests: a test, or anything that lies among tests to support them."""
    pure = PurePosixPath(path)
    return bool(_TEST_FOLDERS & set(pure.parts[:-1])) or _TEST_FILE.fullmatch(pure.stem) is not None


def is_test_file(path: str) -> bool:
    """Whether pytest and unittest would look for Python tests in it, by its name."""
    return _PYTHON_TEST.fullmatch(PurePosixPath(path).name) is not None


def is_documentation(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in _DOCUMENTATION


def paths_in(git: Git, tree_id: str, paths: Iterable[str]) -> set[str]:
    """Return those of the paths, relative to the top, that are files of a tree."""
    found = git.records("ls-tree", "-z", "--name-only", "--full-tree", tree_id, "--", *paths)
    return {path.decode("utf-8", "surrogateescape") for path in found}


def files_in(git: Git, tree_id: str) -> Iterator[tuple[str, str, str]]:
    """Yield all files of a tree: path, mode and blob; bytes of a name that are not UTF-8 become surrogates."""
    for record in git.records("ls-tree", "-r", "-z", "--full-tree", tree_id):
        head, _, path = record.partition(b"\t")
        mode, _, blob = head.decode("ascii").split()
        yield path.decode("utf-8", "surrogateescape"), mode, blob


def read_change(git: Git, base: str, tree_id: str) -> CodeChange:
    """Return the change from ``base`` to ``tree_id``, each a commit or a tree. :class:`GitFailed` if one does
    not exist.
    """
    listed = _listed(git, base, tree_id)
    read = _within_bounds(git, listed)
    added = _added_lines(git, base, tree_id, [file.path for file in read])
    return CodeChange(
        base=base,
        tree_id=tree_id,
        files=tuple(replace(file, added=added.get(file.path, ())) for file in read),
        unread=len(listed) - len(read),
        listed=tuple(listed),
    )


def read_blobs(git: Git, ids: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of blobs by id; ids that do not exist, or are no blobs, are left out."""
    wanted = [blob for blob in dict.fromkeys(ids) if blob]
    if not wanted:
        return {}
    raw = git.run("cat-file", "--batch", stdin="\n".join(wanted).encode("ascii") + b"\n").stdout
    found: dict[str, bytes] = {}
    at = 0
    while at < len(raw):
        end = raw.index(b"\n", at)
        head = raw[at:end].split()
        at = end + 1
        if len(head) != 3 or not head[2].isdigit():
            continue  # "<id> missing"
        size = int(head[2])
        if head[1] == b"blob":
            found[head[0].decode("ascii")] = raw[at : at + size]
        at += size + 1
    return found


def _listed(git: Git, base: str, tree_id: str) -> list[ChangedFile]:
    """Return everything that differs, unread; bytes of a name that are not UTF-8 become surrogates."""
    return [
        ChangedFile(
            path=each.path.decode("utf-8", "surrogateescape"),
            kind="created" if each.is_new else "deleted" if each.is_gone else "modified",
            mode=(each.old_mode if each.is_gone else each.new_mode).decode("ascii"),
            old_mode=each.old_mode.decode("ascii"),
            old_blob="" if each.is_new else each.old_id,
            new_blob="" if each.is_gone else each.new_id,
        )
        for each in changed_between(git, base, tree_id, "--no-abbrev")
    ]


def _within_bounds(git: Git, files: list[ChangedFile]) -> list[ChangedFile]:
    sizes = _sizes(git, [blob for file in files for blob in (file.old_blob, file.new_blob) if blob])
    kept: list[ChangedFile] = []
    all_bytes = path_bytes = 0
    for file in files:
        own = max(sizes.get(file.old_blob, 0), sizes.get(file.new_blob, 0))
        if own > MAX_FILE_BYTES or not file.path.isprintable() or not file.mode.startswith("100"):
            continue
        all_bytes += own
        path_bytes += len(file.path.encode())
        if len(kept) == MAX_CHANGED_FILES or all_bytes > _MAX_ALL_BYTES or path_bytes > _MAX_PATH_BYTES:
            break
        kept.append(file)
    return kept


def _sizes(git: Git, blobs: list[str]) -> Mapping[str, int]:
    if not blobs:
        return {}
    asked = "\n".join(dict.fromkeys(blobs)).encode("ascii") + b"\n"
    answer = git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=asked).stdout
    pairs = (line.split() for line in answer.decode("ascii").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _added_lines(git: Git, base: str, tree_id: str, paths: list[str]) -> dict[str, tuple[AddedLine, ...]]:
    if not paths:
        return {}
    patch = git.run(
        "--literal-pathspecs",
        "diff-tree",
        "-r",
        "-p",
        "-U0",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        base,
        tree_id,
        "--",
        *paths,
    ).stdout
    added: dict[str, list[AddedLine]] = {}
    lines: list[AddedLine] = []
    number = 0
    in_hunk = False
    for raw in patch.split(b"\n"):
        if raw.startswith(b"diff --git "):
            in_hunk = False
        elif not in_hunk and raw.startswith(b"+++ "):
            lines = added.setdefault(_named(raw[4:]), [])
        elif hunk := _HUNK.match(raw):
            in_hunk, number = True, int(hunk[1])
        elif in_hunk and raw.startswith(b"+"):
            text = raw[1 : 1 + 4 * _MAX_LINE_CHARS].decode("utf-8", "replace").rstrip("\r")
            lines.append(AddedLine(number=number, text=text[:_MAX_LINE_CHARS]))
            number += 1
    return {path: tuple(found) for path, found in added.items()}


def _named(raw: bytes) -> str:
    """Return the path in a patch's header line, which git quotes like C if it is unusual."""
    name = raw.rstrip(b"\t")
    if name.startswith(b'"'):
        name = name[1:-1].decode("unicode_escape").encode("latin-1")
    return name.decode("utf-8", "surrogateescape").removeprefix("b/")
