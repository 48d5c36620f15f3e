"""Finds proposals that say nearly the same (sources "Proposal System": the conductor deduplicates).

A hint for a person, never a decision. Two are alike if their titles are nearly the same letters, in any order of the
words, or if their whole texts are nearly the same words. The library is imported when it is first needed: most
commands never compare anything.
"""

from collections.abc import Sequence

from musician.protocol.proposals import Proposal, Status
from musician.protocol.values import dataclass
from musician.service.proposals import KeptProposal

ALIKE_FROM_PCT = 80.0
MOST_COMPARED_CHARS = 2000
"""Of a text, from its beginning: comparing takes the product of two lengths."""

MOST_COMPARED = 200
"""The newest proposals that are compared, each with each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """``of`` resembles ``other``, by number; 100 % is the same words."""

    of: int
    other: int
    likeness_pct: float


def alike_among(proposals: Sequence[KeptProposal]) -> tuple[Alike, ...]:
    """For each open proposal the ones it resembles, most alike first. What was rejected or merged does not count."""
    compared = [
        (
            kept.row.id,
            kept.proposal.status,
            " ".join(_words(kept.proposal.title)),
            _words(_text(kept.proposal)),
        )
        for kept in proposals[-MOST_COMPARED:]
        if kept.proposal.status in (Status.OPEN, Status.ACCEPTED)
    ]
    found = []
    for place, (one, one_status, *one_texts) in enumerate(compared):
        for other, other_status, *other_texts in compared[:place]:
            if Status.OPEN not in (one_status, other_status):
                continue
            pct = max(map(_likeness_pct, one_texts, other_texts))
            if pct >= ALIKE_FROM_PCT:
                found += [Alike(of=one, other=other, likeness_pct=pct)] if one_status is Status.OPEN else []
                found += [Alike(of=other, other=one, likeness_pct=pct)] if other_status is Status.OPEN else []
    return tuple(sorted(found, key=lambda each: (each.of, -each.likeness_pct, each.other)))


def alike_to_each(proposals: Sequence[KeptProposal]) -> dict[int, list[int]]:
    """Return the same by numbers: what each open proposal resembles, most alike first."""
    found: dict[int, list[int]] = {}
    for each in alike_among(proposals):
        found.setdefault(each.of, []).append(each.other)
    return found


def _text(proposal: Proposal) -> str:
    return f"{proposal.title}\n{proposal.why}\n{proposal.body}"[:MOST_COMPARED_CHARS]


def _words(text: str) -> list[str]:
    """Letters and digits only, in small letters, sorted."""
    from rapidfuzz.utils import default_process

    return sorted(default_process(text).split())


def _likeness_pct(one: Sequence[str], other: Sequence[str]) -> float:
    """Of two titles letter by letter, of two lists word by word."""
    from rapidfuzz import fuzz

    if not one or not other:
        return 0.0  # signs only: nothing to compare
    return round(fuzz.ratio(one, other, score_cutoff=ALIKE_FROM_PCT), 1)
