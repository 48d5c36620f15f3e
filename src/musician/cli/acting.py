"""What a musician's command acts for: one claim, named by ``--session`` and ``--epoch`` (D2)."""

from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import TYPE_CHECKING

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import session_options
from musician.cli.render import show
from musician.protocol.names import check_session_id

if TYPE_CHECKING:
    from musician.protocol.claim import Claim
    from musician.runtime.manual.manual_session import ManualSession


class Acting:
    """A session's command on a task; ``context_pct`` is what the session said of its context, if anything."""

    def __init__(
        self, app: App, task_id: str, session_id: str | None, epoch: int | None, context_pct: float | None
    ) -> None:
        self.app, self.task_id, self.context_pct = app, task_id, context_pct
        self._session_id, self._epoch = session_id, epoch

    @cached_property
    def claim(self) -> "Claim":
        """The claim. Ids are checked before the database is opened (B43)."""
        check_session_id(self._session_id)
        return service.current_claim(self.app.store, self.task_id, self._session_id, epoch=self._epoch)

    @cached_property
    def manual(self) -> "ManualSession":
        return self._manual()

    def show(self, document: Mapping[str, object], said: str, *more: str) -> None:
        """Print the result of the command."""
        show(self.app, {"task_id": self.task_id, **document}, f"{self.task_id}: {said}", *more)

    def show_with_advice(self, document: Mapping[str, object], said: str, *more: str) -> None:
        """Print the result, and the advice for a session that has used this much of its context (D15)."""
        advice = self._manual().advice()  # anew: the command has changed what it depends on
        remark = [f"context at {self.context_pct:g} %: {advice}"] if advice else []
        self.show({**document, "context_advice": advice or None}, said, *more, *remark)

    def _manual(self) -> "ManualSession":
        from musician.runtime.manual.manual_session import (
            ManualSession,  # slow to import, and not always needed
        )

        return ManualSession.of(self.app, self.claim, context_pct=self.context_pct)


def acting(function: Callable[..., None]) -> Callable[..., None]:
    """Add ``--session`` and ``--epoch``, and call ``function`` with an :class:`Acting` and its own options."""

    @session_options
    @click.pass_obj
    @wraps(function)
    def act(
        app: App,
        /,
        task_id: str,
        session: str | None,
        epoch: int | None,
        context_pct: float | None = None,
        **options: object,
    ) -> None:
        function(Acting(app, task_id, session, epoch, context_pct), **options)

    return act
