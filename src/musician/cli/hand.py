"""The verbs of a session that is played by hand, for one claim."""

from musician.cli.context import App
from musician.cli.options import claim_of
from musician.runtime.byhand import Hand

__all__ = ["hand_of"]


def hand_of(app: App, task_id: str, session: str | None, epoch: int | None) -> Hand:
    """What a musician's verb acts with; the ids are checked first (B43)."""
    claim = claim_of(app, task_id, session, epoch)
    return Hand(root=app.root, store=app.store, claim=claim, settings=app.settings)
