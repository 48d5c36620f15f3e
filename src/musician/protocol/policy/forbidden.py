"""The acts that a musician may do only with a grant, and the reasons of their refusal (D21)."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from musician.protocol.values import dataclass


class Act(StrEnum):
    """One kind of act. Its value is its name in ``musician send --grant``."""

    PUSH = "push"
    BRANCH = "branch"
    DISCARD = "discard"
    ASK_USER = "ask-user"
    INGEST = "ingest"
    MEMORY = "memory"
    BOOKKEEPING = "bookkeeping"
    CONDUCT = "conduct"
    OUTSIDE = "outside"


GRANTABLE = tuple(act for act in Act if act not in (Act.BOOKKEEPING, Act.CONDUCT))
"""The acts that the conductor can grant in a message. Bookkeeping and conducting are never granted."""

UNTOLD = (Act.PUSH, Act.BRANCH, Act.DISCARD)
"""The acts that an unreadable git command may do; it needs a grant for all three."""

REASONS: Mapping[Act, str] = MappingProxyType(
    {
        Act.PUSH: "a musician does not publish anything",
        Act.BRANCH: "a musician makes and changes no branches; its work stays on the branch it was given",
        Act.DISCARD: "a musician does not delete or reset work, its own or anybody's",
        Act.ASK_USER: "a musician asks the conductor, never the user",
        Act.INGEST: "a musician only queries the knowledge base; what is worth keeping becomes a proposal",
        Act.MEMORY: "a musician does not edit what every session reads; it makes a proposal",
        Act.BOOKKEEPING: "the program keeps these files and this database itself",
        Act.CONDUCT: "this is the conductor's to do, not a musician's",
        Act.OUTSIDE: "a musician writes in its own tree and in temporary folders",
    }
)

_ASK = "`ask_conductor`, or without that tool a line `::question TEXT`"
_PROPOSE = "`propose`, or without that tool a line `::proposal TYPE TITLE`"
"""A session that is prompted piece by piece has none of our tools."""

_REMEDIES: Mapping[Act, str] = MappingProxyType(
    {
        Act.PUSH: f"ask the conductor what is to be pushed, and where: {_ASK}",
        Act.BRANCH: f"ask the conductor for the branch you need, and say why: {_ASK}",
        Act.DISCARD: f"ask the conductor, with what is to be thrown away, and why: {_ASK}",
        Act.ASK_USER: f"ask the conductor: {_ASK}",
        Act.INGEST: f"propose it, with type RAG: {_PROPOSE}",
        Act.MEMORY: f"propose it, with type MEMORY or CLAUDE_MD: {_PROPOSE}",
        Act.BOOKKEEPING: "leave them to it, or to the comms-link tools where you have them",
        Act.CONDUCT: f"ask the conductor: {_ASK}",
        Act.OUTSIDE: f"write in your own tree, or ask the conductor: {_ASK}",
    }
)


def worded_grants(grants: Iterable[Act], revokes: Iterable[Act]) -> str:
    """Return the lines that a message with grants or revocations ends with; "" if it has neither."""
    said = (("Granted", sorted(grants)), ("No longer granted", sorted(revokes)))
    return "".join(f"\n\n{what}: {', '.join(acts)}" for what, acts in said if acts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refused act. ``what`` quotes the call if it is short; ``untold`` is true if the call could not be read."""

    act: Act
    what: str
    untold: bool = False

    @property
    def reason(self) -> str:
        if self.untold:
            return "what this runs cannot be seen in its text, and it may push, branch or discard work"
        return REASONS[self.act]

    @property
    def remedy(self) -> str:
        return "write the command out in full" if self.untold else _REMEDIES[self.act]

    def __str__(self) -> str:
        return f"Refused ({self.act}): {self.what}: {self.reason}. Instead: {self.remedy}."
