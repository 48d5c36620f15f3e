"""The verbs of a session that is played by hand, for one claim."""

from collections.abc import Mapping

from musician.cli.context import App
from musician.cli.options import claim_of
from musician.cli.render import show
from musician.runtime.manual.manual_session import ManualSession


def manual_session(app: App, task_id: str, session: str | None, epoch: int | None) -> ManualSession:
    """What a musician's verb acts with; the ids are checked first (B43)."""
    claim = claim_of(app, task_id, session, epoch)
    return ManualSession(root=app.root, store=app.store, claim=claim, settings=app.settings)


def tell(
    app: App, manual: ManualSession, context_pct: float | None, document: Mapping[str, object], *lines: str
) -> None:
    """What a verb did, and what the context it was told of asks of the session now (D15)."""
    after = ManualSession(root=manual.root, store=manual.store, claim=manual.claim, settings=manual.settings)
    advice = after.advice(context_pct)
    remark = [f"context at {context_pct:g} %: {advice}"] if advice else []
    show(app, {**document, "context_advice": advice or None}, *lines, *remark)
