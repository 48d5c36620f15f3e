"""Checks that the filters which files of the repository must pass can be run (D31).

A required filter whose program is missing (Git LFS that was removed) stops every `git add` and every checkout. Git
itself may say so late: `git status` runs a filter only on files that changed, and on those written in the second in
which the index was. So it is asked here, before anything is begun.
"""

import os
from collections.abc import Iterator

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.trees.git import Git
from musician.trees.root import Root

_LINE_END = "\n"


def check_filters(root: Root) -> None:
    """Raise :class:`TreeNotReady` if a required filter fails that a tracked file has; it is named with the file."""
    git = Git(root.path)
    names = set(_required(git))
    if not names:
        return
    for name, path in _first_of_each(git, names):
        why = _why_it_fails(git, path)
        if why is not None:
            raise TreeNotReady(
                reason=f"git's filter {name!r} is required and fails: {why.stderr.partition(_LINE_END)[0]}",
                paths=(os.fsdecode(path),),
                remedy=f"install its program, or see what it is: git config --get-regexp '^filter[.]{name}[.]'",
            )


def _required(git: Git) -> Iterator[str]:
    told = git.run("config", "--type=bool", "-z", "--get-regexp", r"^filter\..*\.required$", accept=(0, 1))
    for record in told.stdout.split(b"\0"):
        key, _, value = os.fsdecode(record).partition("\n")
        if value == "true":
            yield key.removeprefix("filter.").removesuffix(".required")


def _first_of_each(git: Git, names: set[str]) -> Iterator[tuple[str, bytes]]:
    tracked = git.run("ls-files", "-z").stdout
    records = git.run("check-attr", "-z", "--stdin", "filter", stdin=tracked).stdout.split(b"\0")
    for path, value in zip(records[::3], records[2::3], strict=False):
        name = os.fsdecode(value)
        if name in names:
            names.discard(name)
            yield name, path


def _why_it_fails(git: Git, path: bytes) -> GitFailed | None:
    """An empty file is passed first. Only if the filter refuses that, it gets what is committed, as it stands there:
    neither is a reason for a filter to download anything.
    """
    name = os.fsdecode(path)
    try:
        git.run("hash-object", "--stdin", f"--path={name}")
    except GitFailed:
        committed = git.run("cat-file", "blob", f":0:{name}").stdout
        try:
            git.run("hash-object", "--stdin", f"--path={name}", stdin=committed)
        except GitFailed as error:
            return error
    return None
