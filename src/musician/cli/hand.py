"""The verbs of a session that is played by hand, for one claim."""

from collections.abc import Mapping

from musician.cli.context import App
from musician.cli.options import claim_of
from musician.cli.render import show
from musician.runtime.byhand.hand import Hand


def hand_of(app: App, task_id: str, session: str | None, epoch: int | None) -> Hand:
    """What a musician's verb acts with; the ids are checked first (B43)."""
    claim = claim_of(app, task_id, session, epoch)
    return Hand(root=app.root, store=app.store, claim=claim, settings=app.settings)


def tell(
    app: App, hand: Hand, context_pct: float | None, document: Mapping[str, object], *lines: str
) -> None:
    """What a verb did, and what the context it was told of asks of the session now (D15)."""
    after = Hand(root=hand.root, store=hand.store, claim=hand.claim, settings=hand.settings)
    advice = after.advice(context_pct)
    remark = [f"context at {context_pct:g} %: {advice}"] if advice else []
    show(app, {**document, "context_advice": advice or None}, *lines, *remark)
