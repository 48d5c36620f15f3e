"""What a working tree or branch of ours holds that would be lost with it, and its removal (D32).

Theory. Cleaning is where work is lost, so nothing goes because it seems to be finished: it goes because everything in
it is known to be somewhere else. Whatever cannot be explained is a reason to stay, and is told. Files that git ignores
are no exception: those stay that were not there when the tree was set up, or have changed since, unless they are caches
by their own word (a ``CACHEDIR.TAG``) or Python's compiled files.

Who may go at all, by plan and task, is for ``runtime/cleaning.py``.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from musician.protocol.errors import MusicianError
from musician.trees.branches import full_ref, integration_branch
from musician.trees.git import Git, git_dir_of, named, tree_git_dir
from musician.trees.left_out import given_to
from musician.trees.looking import unsaved_in_scratch_tree
from musician.trees.obstacles import hidden_from, place_in
from musician.trees.registrations import alone_with_trees, checked_out_at, entry_of, is_whole, run_patiently
from musician.trees.root import Root
from musician.trees.status import operation_under_way, read_status
from musician.trees.submodules import that_hold_nothing
from musician.trees.worktree import place_of, remove_detached_tree

_START = "musician-start"
"""In a tree's git folder: what its set-up left that git ignores, a record ``size mtime path`` each."""

_CACHE_TAG = b"Signature: 8a477f597d28d172789f06886806bc55"
"""How a folder says that it is a cache (bford.info/cachedir)."""

_MOST_NAMED = 3

_HOLDERS = ("--exclude=refs/remotes/*", "--glob=refs/*")
"""What holds a commit for good. A branch of a remote does not: whoever deletes it there takes it from here, too. Git's
own ``--all`` would take HEAD for one.
"""

Ignored = dict[bytes, tuple[int, int]]
"""By path, size and time of the last change."""


def ignored_in(tree: Path) -> Ignored:
    """Return the files in a tree that git ignores."""
    found: Ignored = {}
    for path in Git(tree).records("ls-files", "--others", "--ignored", "--exclude-standard", "-z"):
        try:
            stat = os.lstat(os.path.join(os.fsencode(tree), path))
        except FileNotFoundError:
            continue
        found[path] = (stat.st_size, stat.st_mtime_ns)
    return found


def note_start(tree: Path, before: Ignored) -> None:
    """Record what a set-up, or tests in a tree of the program's own, added to what git ignores in the tree."""
    known = {
        **_start_of(tree),
        **{path: is_ for path, is_ in ignored_in(tree).items() if before.get(path) != is_},
    }
    place = tree_git_dir(tree) / _START
    new = place.with_name(f"{_START}.new")
    new.write_bytes(b"".join(b"%d %d %b\0" % (*is_, path) for path, is_ in known.items()))
    new.replace(place)


def held_by_tree(root: Root, tree: Path, branch: str) -> Iterator[str]:
    """Yield what would be lost with the tree, or why it cannot be known. Commits of its branch are the branch's."""
    entry = entry_of(root, tree)
    if entry is None or git_dir_of(tree) != entry or not is_whole(entry):
        yield "it is no whole working tree of this repository (musician doctor)"
        return
    if (entry / "locked").exists():
        yield "it is locked (git worktree lock)"
    modules = that_hold_nothing(root, tree)
    if any(store not in modules.values() for store in _stores_in(entry / "modules")):
        yield "its submodules have commits in a store of its own"
    under_way = operation_under_way(entry)
    if under_way is not None:
        yield f"a {under_way} is under way"
    yield from unsaved_in(tree)
    status = read_status(tree)
    if status.branch is None:
        yield "its HEAD is detached"
    elif status.branch != branch:
        yield f"branch {status.branch!r} is checked out in it"
    git = Git(tree)
    lost = _lost_commits(git)
    if lost:
        yield f"commits that no branch holds: {', '.join(each[:12] for each in lost[:_MOST_NAMED])}"
    if git.text("for-each-ref", "--format=%(refname)", "refs/worktree", "refs/bisect", "refs/rewritten"):
        yield "refs that are in no other working tree"
    inner = [path for path in _repositories_in(tree) if path not in modules]
    if inner:
        yield f"repositories of their own: {named(inner, _MOST_NAMED)}"
    unseen = [path for path in hidden_from(git) if os.path.lexists(place_in(tree, path))]
    if unseen:
        yield f"files that git is told not to look at: {named(unseen, _MOST_NAMED)}"
    yield from _ignored_of_others(root, tree)


def unsaved_in(tree: Path) -> Iterator[str]:
    """Yield that files are not as a commit holds them, if they are not."""
    status = read_status(tree)
    if status.is_dirty or status.unsaved:
        yield f"changes that are in no commit: {named((*status.unsaved, *status.deleted), _MOST_NAMED)}"


def held_by_trial_tree(root: Root, tree: Path) -> Iterator[str]:
    """Yield what somebody has left in a tree in which the program tries merges, and nobody is to work.

    The program's own trials are merges of what branches hold; any other commit that no ref holds is a person's. Of what
    git ignores there, what set-up and tests have left is noted (:func:`note_start`).
    """
    yield from unsaved_in(tree)
    yield from _ignored_of_others(root, tree)
    lost = Git(tree).text("rev-list", "--no-merges", "HEAD", "--not", *_HOLDERS).split()
    if lost:
        yield f"commits that no branch holds: {', '.join(each[:12] for each in lost[:_MOST_NAMED])}"


def held_by_scratch_tree(root: Root, place: Path) -> Iterator[str]:
    """Yield what a person has left in a scratch tree."""
    yield from filter(None, [unsaved_in_scratch_tree(place)])
    yield from _ignored_of_others(root, place)


def held_by_branch(root: Root, branch: str) -> Iterator[str]:
    """Yield why a branch of ours cannot be deleted."""
    tree = checked_out_at(root, branch)
    if tree is not None:
        yield f"it is checked out in {tree}"
    if not is_held_elsewhere(root, branch):
        yield "commits that no other branch holds"


def is_held_elsewhere(root: Root, branch: str) -> bool:
    """Whether the plan's branch holds a task's branch, or a branch or tag that is not ours; not if there is none."""
    if Git(root.path).commit_id(full_ref(branch)) is None:  # renamed, or deleted
        return False
    plans = full_ref(integration_branch(branch.split("/")[1]))
    refs = Git(root.path).text(
        "for-each-ref",
        "--format=%(refname)",
        f"--contains={full_ref(branch)}",
        *("refs/heads", "refs/tags"),
    )
    ours = full_ref("musician/")
    return any(not ref.startswith(ours) or ref == plans != full_ref(branch) for ref in refs.splitlines())


def remove_tree(root: Root, tree: Path, branch: str) -> tuple[str, ...]:
    """Remove a tree that holds nothing; return what it holds after all, then it stays."""
    with alone_with_trees(root):
        held = tuple(held_by_tree(root, tree, branch))
        if not held:
            # Forced, because git would stop at what the plan has put there; what else is there was looked at.
            run_patiently(root, "worktree", "remove", "--force", str(tree))
            if tree.parent.is_dir() and not any(tree.parent.iterdir()):
                tree.parent.rmdir()
        return held


def remove_trial_tree(root: Root, branch: str) -> tuple[str, ...]:
    """Remove a tree for trial merges; return what it holds, then it stays."""
    held = tuple(held_by_trial_tree(root, place_of(root, branch)))
    if not held:
        remove_detached_tree(root, branch)
    return held


def remove_branch(root: Root, branch: str) -> tuple[str, ...]:
    """Delete a branch that others hold; return why it stays. One that moves meanwhile stays."""
    git = Git(root.path)
    commit = git.commit_id(full_ref(branch))
    held = () if commit is None else tuple(held_by_branch(root, branch))
    if commit is not None and not held:
        git.run("update-ref", "-d", full_ref(branch), commit)
    return held


def bytes_in(folder: Path) -> int:
    """Return how much disk a folder or file uses; links count for themselves."""
    total = 0
    try:
        total += os.lstat(folder).st_blocks * 512
        with os.scandir(folder) as found:
            for each in found:
                is_folder = each.is_dir(follow_symlinks=False)
                total += (
                    bytes_in(Path(each.path))
                    if is_folder
                    else each.stat(follow_symlinks=False).st_blocks * 512
                )
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    return total


def _lost_commits(git: Git) -> list[str]:
    """Return commits that were checked out here and that no ref holds: taken back, amended, or made on no branch."""
    seen = set(git.text("log", "-g", "--format=%H", "HEAD").split()) | {git.head()}
    named = "".join(f"{commit}\n" for commit in sorted(seen)).encode()
    try:
        return git.text("rev-list", "--no-walk", "--stdin", "--not", *_HOLDERS, stdin=named).split()
    except MusicianError:  # the reflog names what is gone already: ask one by one
        there = [commit for commit in sorted(seen) if git.commit_id(commit) is not None]
        return git.text("rev-list", "--no-walk", *there, "--not", *_HOLDERS).split()


def _repositories_in(tree: Path) -> Iterator[bytes]:
    """Yield folders that are repositories, whose commits git does not look for: in what it ignores, or a link's."""
    top = os.fsencode(tree)
    for folder, folders, files in os.walk(top):
        if folder != top and b".git" in (*folders, *files):
            yield os.path.relpath(folder, top)
            folders.clear()
        folders[:] = [
            each for each in folders if not _is_tagged(Path(os.fsdecode(folder), os.fsdecode(each)))
        ]


def _stores_in(folder: Path) -> Iterator[Path]:
    """Yield the git folders of submodules. A submodule's name may have slashes."""
    for place, folders, files in os.walk(folder):
        if "HEAD" in files:
            yield Path(place).resolve()
            folders.clear()


def _ignored_of_others(root: Root, tree: Path) -> Iterator[str]:
    new = list(_new_ignored(root, tree))
    if new:
        yield f"files that git ignores and that were not there at its start: {named(new, _MOST_NAMED)}"


def _new_ignored(root: Root, tree: Path) -> Iterator[bytes]:
    start, given = _start_of(tree), given_to(tree)
    for path, is_ in ignored_in(tree).items():
        if path == b"temp" or start.get(path) == is_ or _is_cache(tree, path):
            continue
        if not (path in given and _is_as_given(root, tree, path)):
            yield path


def _is_as_given(root: Root, tree: Path, path: bytes) -> bool:
    """Whether what the plan has put into the tree is still the user's."""
    here, there = tree / os.fsdecode(path), root.users_tree / os.fsdecode(path)
    if here.is_symlink():
        return True
    try:
        return here.read_bytes() == there.read_bytes()
    except OSError:
        return False


def _is_cache(tree: Path, path: bytes) -> bool:
    place = tree / os.fsdecode(path)
    if place.suffix == ".pyc" and place.parent.name == "__pycache__":
        return True
    return any(_is_tagged(above) for above in place.parents if above != tree and above.is_relative_to(tree))


def _is_tagged(folder: Path) -> bool:
    try:
        with (folder / "CACHEDIR.TAG").open("rb") as file:
            return file.read(len(_CACHE_TAG)) == _CACHE_TAG
    except OSError:
        return False


def _start_of(tree: Path) -> Ignored:
    try:
        records = (tree_git_dir(tree) / _START).read_bytes().split(b"\0")
    except FileNotFoundError:
        return {}
    found = (record.split(b" ", 2) for record in records if record)
    return {path: (int(size), int(mtime)) for size, mtime, path in found}
