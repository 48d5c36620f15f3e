"""Whether what a verification has found still speaks of what is there: the one rule, for whoever judges by it.

Evidence is of one tree (D16). It is stale when the work has another one by now, and when what the work will be merged
into has gone on, since nobody has seen the two together.
"""

from musician.protocol.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What the work stands on now. A tree is None where it cannot be seen any more; ``behind`` counts the commits
    of the branch it will be merged into that it does not have.
    """

    tree_id: str | None = None
    behind: int = 0


def why_stale(tree_id: str, now: Grounds, *, worked_since: bool) -> str:
    """Return why evidence of ``tree_id`` is stale, in words; "" if nothing is known to say so."""
    if worked_since or now.tree_id not in (None, tree_id):
        return "the work has gone on since"
    if now.behind:
        commits = "1 commit" if now.behind == 1 else f"{now.behind} commits"
        return f"what it will be merged into has gone on, by {commits} that it does not have"
    return ""
