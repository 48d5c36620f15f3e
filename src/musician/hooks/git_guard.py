"""Asked by git, before it pushes or changes a branch: is this a musician's session without a grant (D21, D43)?

Only a session that owns a claim is ever refused: a push; any branch but its own; its own, where that is moved back
from its work; and what takes a stash or a tag away. Where the database cannot say whose session it is, a mark beside
the repository can (D36): a musician is refused then, and everybody else's git goes on.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from musician.hooks.hook_context import HookContext
    from musician.protocol.policy.forbidden import Act

_MOST_REFS_CHARS = 1_000_000


def main(argv: "Sequence[str]", stdin: "TextIO | None" = None) -> int:
    """``push``, or ``refs`` with git's lines ``old new name`` on standard input; 1 refuses."""
    from musician.hooks.event import session_of
    from musician.hooks.hook_context import find_database

    session_id = session_of(os.environ.get("MUSICIAN_SESSION"))
    context = find_database(os.environ, os.getcwd())
    if session_id is None or context is None:
        return 0
    try:
        if not context.exists:
            raise FileNotFoundError(f"there is no {context.database}")
        context.look(session_id)
        return int(bool(context.played) and _refuses(context, argv, stdin or sys.stdin))
    except Exception as error:  # an error of ours must not stop the git of a session that is no musician
        if not context.has_marks:
            return 0
        _say(f"whether this is a musician's session cannot be read: {error}")
        return int(context.is_marked(session_id))
    finally:
        context.close()


def _refuses(context: "HookContext", argv: "Sequence[str]", stdin: "TextIO") -> bool:
    """Whether something is wanted that was not granted; said, and written down where that can be done."""
    from musician import service
    from musician.hooks.status_file import note_down
    from musician.protocol.errors import MusicianError
    from musician.protocol.policy.forbidden import Act, Refusal

    wanted = {"git push": Act.PUSH} if argv[:1] == ["push"] else _changes(stdin, _own(context))
    granted = service.grants_of(context.store, *(held.task_id for held in context.played))
    for what, act in wanted.items():
        if act in granted:
            continue
        refusal = Refusal(act=act, what=what)
        _say(str(refusal))
        try:
            note_down(context, service.note_refusal(context.store, context.played[0].claim, refusal))
        except MusicianError as error:
            _say(f"the refusal is not in the journal: {error}")
        return True
    return False


def _own(context: "HookContext") -> "frozenset[str] | None":
    """The branches that the session's claims are played on; None where one of them has no tree of its own."""
    from musician.trees.branches import branch_of

    if any(context.tree_of(held) in (None, context.tree) for held in context.played):
        return None
    return frozenset(
        "refs/heads/" + branch_of(held.plan_id or "tasks", held.task_id) for held in context.played
    )


def _changes(lines: "TextIO", own: "frozenset[str] | None") -> "dict[str, Act]":
    """Return the refs that the session may not create, move or delete, with the act; zeros stand for no commit."""
    from musician.protocol.policy.forbidden import Act

    found = {}
    for line in lines.read(_MOST_REFS_CHARS).splitlines():
        old, _, rest = line.partition(" ")
        new, _, name = rest.partition(" ")
        if not name.startswith(("refs/heads/", "refs/tags/", "refs/stash")):
            continue
        now = _commit_at(name)
        if not new.strip("0"):
            if not _is_packed(name, old):
                found[f"deleting {name}"] = Act.DISCARD
        elif now == new or not name.startswith("refs/heads/"):
            continue
        elif not now:
            found[f"making {name}"] = Act.BRANCH
        elif own is not None and name not in own:
            found[f"moving {name}"] = Act.BRANCH
        elif _contains(now, new):
            found[f"moving {name} back"] = Act.DISCARD
    return found


def _commit_at(name: str) -> str:
    return _git("rev-parse", "--quiet", "--verify", name).strip()


def _contains(commit: str, other: str) -> bool:
    return _git("merge-base", commit, other).strip() == other


def _is_packed(name: str, commit: str) -> bool:
    """Whether only its own file is taken away, because the packed one says the same: that deletes nothing."""
    own, _, packed = _git("rev-parse", "--git-path", name, "--git-path", "packed-refs").partition("\n")
    try:
        with open(packed.rstrip("\n"), encoding="utf-8", errors="surrogateescape") as file:
            return os.path.exists(own) and f"{commit} {name}\n" in file
    except OSError:
        return False


def _git(*arguments: str) -> str:
    """Return git's output; "" if it fails."""
    import subprocess

    argv = ["git", *arguments]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return os.fsdecode(done.stdout) if done.returncode == 0 else ""


def _say(text: str) -> None:
    print(f"musician: {text}", file=sys.stderr)  # noqa: T201  # git shows it
