"""Asked by git, before it pushes or makes or deletes a branch: is this a musician's session without a grant (D21)?

Only a session that owns a claim is ever refused. Where that cannot be found out, git goes on: a broken database must
not stop the user's own work, and the reader of commands has refused what it could see.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from musician.hooks.place import Place
    from musician.protocol.policy.forbidden import Act

__all__ = ["main"]

_MOST_REFS_CHARS = 1_000_000


def main(argv: "Sequence[str]", stdin: "TextIO | None" = None) -> int:
    """``push``, or ``refs`` with git's lines ``old new name`` on standard input; 1 refuses."""
    from musician.hooks.event import session_of
    from musician.hooks.place import find_database

    session_id = session_of(os.environ.get("MUSICIAN_SESSION"))
    place = find_database(os.environ, os.getcwd())
    if session_id is None or place is None or not place.exists:
        return 0
    try:
        place.look(session_id)
        return int(bool(place.played) and _refuses(place, session_id, argv, stdin or sys.stdin))
    except Exception as error:  # whatever is wrong here, it is not git's fault
        _say(f"whether this is a musician's session cannot be read: {error}")
        return 0
    finally:
        place.close()


def _refuses(place: "Place", session_id: str, argv: "Sequence[str]", stdin: "TextIO") -> bool:
    """Whether something is wanted that was not granted; said, and written down where that can be done."""
    from musician import service
    from musician.hooks.standing import claim_of
    from musician.protocol.errors import MusicianError
    from musician.protocol.policy.forbidden import Act, Refusal

    wanted = {"git push": Act.PUSH} if argv[:1] == ["push"] else _branches(stdin)
    granted = service.grants_of(place.store(), *(held.task_id for held in place.played))
    for what, act in wanted.items():
        if act in granted:
            continue
        refusal = Refusal(act=act, what=what)
        _say(str(refusal))
        try:
            service.note_refusal(place.store(), claim_of(place.played[0], session_id), refusal)
        except MusicianError as error:
            _say(f"the refusal is not in the journal: {error}")
        return True
    return False


def _branches(lines: "TextIO") -> "dict[str, Act]":
    """What is made of branches, or lost: by the zeros that git puts in place of a commit."""
    from musician.protocol.policy.forbidden import Act

    found = {}
    for line in lines.read(_MOST_REFS_CHARS).splitlines():
        old, _, rest = line.partition(" ")
        new, _, name = rest.partition(" ")
        if not name.startswith("refs/heads/"):
            continue
        if not new.strip("0"):
            found[f"deleting {name}"] = Act.DISCARD
        elif not old.strip("0") and not _exists(name):
            found[f"making {name}"] = Act.BRANCH
    return found


def _exists(name: str) -> bool:
    """A change that expects nothing in particular has zeros too."""
    import subprocess

    done = subprocess.run(["git", "show-ref", "--verify", "--quiet", name], check=False)
    return done.returncode == 0


def _say(text: str) -> None:
    print(f"musician: {text}", file=sys.stderr)  # noqa: T201  # git shows it
