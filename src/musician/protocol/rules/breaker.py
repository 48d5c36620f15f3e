"""How long nothing is asked of a provider that gives nothing: one breaker for each, whoever has met its limit.

What a provider says is believed within bounds. Where it says nothing, a time that cannot be meant (one that is over
already, or years away), or times after which it gave nothing either, the pause is the program's own, and grows while
the limit is met again and again. That ends: after so many waits in vain a person is asked. Times are the database's, in
seconds since 1970, and are handed in.

Once a limit is over nobody knows yet whether the provider gives again. One session asks first, the probe; the others go
on when it was given something, or wait for the end of the limit that it has met. A probe that is silent is replaced.
"""

from enum import StrEnum

from musician.protocol.values import dataclass, replace

MOST_SAID_S = 31 * 86_400.0
"""A month's quota is the longest that is sold."""

MOST_OWN_S = 3600.0
"""What the program's own pause grows to."""

AGAIN_WITHIN_S = 600.0
"""Of a limit that is met so soon after its end it is taken that it never was over, unless something was given since."""

MOST_BELIEVED = 3
"""So often in a row the time is believed that a provider says, where it gave nothing after the one before."""

MOST_IN_VAIN = 10
"""So often in a row a limit is waited for, then a person is asked: after seven hours of an outage that says nothing."""

PROBE_S = 120.0
"""How long a probe may be silent: a model that thinks long has said something by then, or its session is gone."""


class Giving(StrEnum):
    """What is known against a provider."""

    LIMITED = "limited"
    REFUSED = "refused"
    """A person has to act."""
    UNPROVEN = "unproven"
    """Its limit is over, and nobody has been given anything since."""


class Leave(StrEnum):
    """Whether a session may ask its provider for something."""

    FREE = "free"
    PROBE = "probe"
    """It may, as the first."""
    WAIT = "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """``times`` it was met in a row. ``is_proven``: the provider has given again; ``probed_at_s``: it was asked."""

    met_at_s: float
    until_s: float
    times: int = 1
    is_proven: bool = False
    probed_at_s: float = 0.0

    def left_s(self, now_s: float) -> float:
        """How long it holds yet; 0 once it is over.

        A clock that was set back behind its beginning has ended it: to ask once tells more than to wait for years. If
        something was given then, it stays over when the clock comes to its beginning again.
        """
        is_over = self.is_proven or now_s < self.met_at_s
        return 0.0 if is_over else max(0.0, self.until_s - now_s)

    def is_met_again(self, now_s: float) -> bool:
        """Whether one that is met now is the same: it was waited for, and nothing was given since."""
        return not self.is_proven and 0 <= now_s - self.until_s <= AGAIN_WITHIN_S


def leave(limit: Limit, *, now_s: float, is_probe: bool) -> Leave:
    """Return whether a session may ask now; ``is_probe`` of the one that has asked first."""
    if limit.left_s(now_s) > 0:
        return Leave.WAIT
    if limit.is_proven:
        return Leave.FREE
    is_probed = 0 <= now_s - limit.probed_at_s < PROBE_S
    return Leave.WAIT if is_probed and not is_probe else Leave.PROBE


def met(before: Limit | None, *, now_s: float, said_s: float | None, own_s: float) -> Limit:
    """The limit that holds from now on; ``said_s`` is how long its provider says, ``own_s`` the first pause of ours.

    While one holds, others meet the same: that counts once, and only what their provider says may prolong it.
    """
    believed_s = said_s if said_s is not None and 0 < said_s <= MOST_SAID_S else None
    if before is not None and before.left_s(now_s) > 0:
        return replace(before, until_s=max(before.until_s, now_s + (believed_s or 0.0)))
    times = before.times + 1 if before is not None and before.is_met_again(now_s) else 1
    if believed_s and times <= MOST_BELIEVED:
        return Limit(met_at_s=now_s, until_s=now_s + believed_s, times=times)
    of_our_own = times - MOST_BELIEVED if believed_s else times
    grown_s = min(own_s * 2.0 ** min(of_our_own - 1, 20), max(MOST_OWN_S, own_s))
    return Limit(met_at_s=now_s, until_s=now_s + max(grown_s, believed_s or 0.0), times=times)


def is_in_vain(before: Limit | None, *, now_s: float) -> bool:
    """Whether a limit that is met now was waited for so often that a person is asked."""
    return before is not None and before.times >= MOST_IN_VAIN and before.is_met_again(now_s)
