"""Helpers for the commands of a session by hand."""

from collections.abc import Mapping

from musician.cli.context import App
from musician.cli.options import claim_of
from musician.cli.render import show
from musician.runtime.manual.manual_session import ManualSession


def manual_session(app: App, task_id: str, session: str | None, epoch: int | None) -> ManualSession:
    """Return the session that a musician's command acts for. The ids are checked first (B43)."""
    claim = claim_of(app, task_id, session, epoch)
    return ManualSession(root=app.root, store=app.store, claim=claim, settings=app.settings)


def show_result(
    app: App, manual: ManualSession, context_pct: float | None, document: Mapping[str, object], *lines: str
) -> None:
    """Print the result of a command, and the advice for a session at ``context_pct`` (D15)."""
    after = ManualSession(root=manual.root, store=manual.store, claim=manual.claim, settings=manual.settings)
    advice = after.advice(context_pct)
    remark = [f"context at {context_pct:g} %: {advice}"] if advice else []
    show(app, {**document, "context_advice": advice or None}, *lines, *remark)
