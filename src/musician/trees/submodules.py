"""Submodules of a task's tree: what a commit of ours may name must be found in the user's repository too (D31).

A submodule that is checked out in a linked tree has its objects in that tree's own git folder. A commit made there
exists nowhere else, and goes with the tree; the user's branch would name what nobody can check out. So it is fetched
into the repository that the user's own checkout of the submodule uses, and kept there by a ref; or it is published
already; or the step is not done. So a tree whose submodules have nothing but what is there or published can go.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from musician.protocol.errors import TreeNotReady
from musician.trees.git import Completed, Git, git_dir_of, shown
from musician.trees.root import Root
from musician.trees.submodule_paths import submodules_named

_ANY_COMMIT = "git -c uploadpack.allowAnySHA1InWant=true upload-pack"


def check_no_edits(submodules: tuple[bytes, ...], stray: tuple[bytes, ...]) -> None:
    """Raise :class:`TreeNotReady` if a submodule has uncommitted files, or its place has some although it is not
    checked out: no commit of ours could hold them.
    """
    if stray:
        raise TreeNotReady(
            reason="files lie where a submodule belongs that is not checked out here; git does not look there, so no"
            " commit can hold them",
            paths=tuple(shown(path) for path in stray),
            remedy="write them elsewhere; or check the submodule out in each tree, by"
            " `setup: git submodule update --init` in the plan",
        )
    if submodules:
        raise TreeNotReady(
            reason="files inside a submodule are changed or new, and no commit of the project can hold them",
            paths=tuple(shown(path) for path in submodules),
            remedy="commit them inside the submodule, or take them back; what a build leaves there belongs into its"
            " .gitignore, or `ignore = untracked` into .gitmodules",
        )


def keep_commit(root: Root, tree: Path, path: bytes, commit: str, *, branch: str) -> None:
    """Make ``commit``, which the tree has at the submodule ``path``, available in the user's repository as
    well.
    """
    name = _name_of(tree, path)
    if name is None:
        raise TreeNotReady(
            reason="a git repository of its own lies in the working tree; its files cannot be committed",
            paths=(shown(path),),
            remedy="remove its .git folder, name it in .gitignore, or make it a submodule",
        )
    of_user = _store_of_user(root, path, name)
    if of_user is not None and _has(of_user, commit):
        return
    of_tree = git_dir_of(tree / os.fsdecode(path))
    if of_tree is None or not _has(of_tree, commit):
        raise TreeNotReady(
            reason=f"commit {commit:.12} of a submodule is in no repository here",
            paths=(shown(path),),
            remedy="check the submodule out (git submodule update --init) and choose a commit that is there",
        )
    if of_user is not None:
        _run(of_user, "fetch-pack", "--quiet", f"--upload-pack={_ANY_COMMIT}", str(of_tree), commit)
        _run(
            of_user,
            "update-ref",
            f"refs/musician/submodule/{branch.removeprefix('musician/')}/{commit}",
            commit,
        )
        return
    if not _is_published(of_tree, commit):
        raise TreeNotReady(
            reason=f"commit {commit:.12} of a submodule exists in the task's own tree alone: your checkout of it has"
            " no repository that could take it",
            paths=(shown(path),),
            remedy=f"check it out in your tree (git submodule update --init {shown(path)}), then try again",
        )


def bring_back(tree: Path) -> None:
    """Check out in each submodule the commit that the tree names, after the tree was brought back.

    Only where it is checked out already: git would clone each that the user's own tree has, from wherever it comes.
    What is edited inside stays: nothing of ours keeps it.
    """
    top = os.fsencode(tree)
    there = [path for _, path in submodules_named(tree) if os.path.lexists(os.path.join(top, path, b".git"))]
    if there:
        words = ("submodule", "--quiet", "update", "--checkout", "--no-fetch", "--")
        Git(tree).run(*words, *map(os.fsdecode, there), accept=(0, 1, 128))


def that_hold_nothing(root: Root, tree: Path) -> dict[bytes, Path]:
    """Return the submodules checked out in a tree of which all is elsewhere, by their paths, with their git folders.

    Not one with files that git ignores, or with submodules of its own: what those are is not known.
    """
    found = {}
    for name, path in submodules_named(tree):
        place = tree / os.fsdecode(path)
        store = git_dir_of(place)
        if (
            store is None
            or (place / ".git").is_dir()
            or (store / "modules").exists()
            or _ignores_files(place)
        ):
            continue
        made = _run(
            store, "rev-list", "--all", "--reflog", "HEAD", "--not", "--remotes", "--", accept=(0, 128)
        )
        own = list(map(os.fsdecode, made.stdout.split()))
        of_user = _store_of_user(root, path, name)
        is_elsewhere = not own or (of_user is not None and _holds(of_user, own))
        if made.returncode == 0 and is_elsewhere:
            found[path] = store
    return found


def _ignores_files(place: Path) -> bool:
    return bool(
        Git(place).records("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    )


def _holds(git_dir: Path, commits: Sequence[str]) -> bool:
    """Whether refs of a repository hold all of these commits."""
    if not all(_has(git_dir, each) for each in commits):
        return False
    return not _run(git_dir, "rev-list", "-1", *commits, "--not", "--all", "--").stdout


def _store_of_user(root: Root, path: bytes, name: str) -> Path | None:
    """Return the repository that the user's checkout of a submodule uses."""
    for place in (git_dir_of(root.path / os.fsdecode(path)), root.git_dir / "modules" / name):
        if place is not None and (place / "objects").is_dir():
            return place
    return None


def _name_of(tree: Path, path: bytes) -> str | None:
    """Return a submodule's name by its path; None if the path is not a submodule."""
    return next((name for name, place in submodules_named(tree) if place == path), None)


def _has(git_dir: Path, commit: str) -> bool:
    return _run(git_dir, "cat-file", "-e", commit + "^{commit}", accept=(0, 1, 128)).returncode == 0


def _is_published(git_dir: Path, commit: str) -> bool:
    found = _run(git_dir, "for-each-ref", "--count=1", f"--contains={commit}", "refs/remotes")
    return bool(found.stdout)


def _run(git_dir: Path, *arguments: str, accept: tuple[int, ...] = (0,)) -> Completed:
    """Run git on a submodule's repository alone: its ``core.worktree`` may point to a checkout that is gone."""
    return Git(git_dir, finds=True).run("--git-dir=.", "--work-tree=.", *arguments, accept=accept)
