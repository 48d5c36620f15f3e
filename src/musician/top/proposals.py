"""What musicians propose to keep: looked at, accepted or rejected."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType

from musician import service
from musician.project import Project
from musician.protocol.values import dataclass
from musician.reporting.overview import Overview
from musician.runtime.as_person import as_person
from musician.runtime.proposing import Desk
from musician.service.proposals import KeptProposal
from musician.service.similarity import alike_to_each
from musician.top.page import Folded, Page
from musician.top.rows import Row, block, heading, nearest, row

_OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfProposal:
    number: int
    status: str


class Proposals(Page):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "accept", "Accept"),
        Binding("r", "reject", "Reject"),
    ]
    ORDERS: ClassVar[frozenset[str]] = frozenset({"accept", "reject"})

    def __init__(self) -> None:
        super().__init__()
        self._open: set[int] = set()
        """Those whose text is shown."""

    def fold(self, _: Overview, project: Project) -> Folded:
        every = service.list_proposals(project.store, only_open=False)
        like = alike_to_each(every)
        waiting = [each for each in every if each.row.status == _OPEN]
        rows = [found for each in waiting for found in self._rows(each, like.get(each.row.id, []))]
        decided = [each for each in every if each.row.status != _OPEN]
        if decided:
            rows.append(heading("decided", f"decided ({len(decided)})"))
            rows += [found for each in decided for found in self._rows(each, [])]
        return ((f"Proposals: {len(waiting)} open", "bold"),), rows or [row("none", "Nothing is proposed.")]

    def _rows(self, kept: KeptProposal, like: list[int]) -> Iterator[Row]:
        each = kept.row
        outcome = "" if each.status == _OPEN else f"{each.status} ({each.outcome})"
        alike = f"nearly the same as {', '.join(map(str, like))}" if like else ""
        told = "  ".join(filter(None, (outcome, each.type, each.task_id, alike)))
        key = f"proposal-{each.id}"
        yield Row(
            key=key,
            parts=((f"{each.id}  {each.title}", "bold"), (f"  {told}", "dim")),
            opens=OfProposal(number=each.id, status=each.status),
            begins=True,
        )
        if each.id in self._open:
            yield from block(f"{key}-why", kept.proposal.why or "", "italic", indent="    ")
            yield from block(f"{key}-body", kept.proposal.body, indent="    ")

    def open_row(self, opens: object) -> None:
        if isinstance(opens, OfProposal):
            self._open ^= {opens.number}
            self.top.look_now()

    def action_accept(self) -> None:
        at = self._at()
        if at is not None:
            accept = partial(self._desk.accept, at.number, session_id=None)
            self.top.order(
                f"Accept proposal {at.number}: it is written to the place for its type; nothing is committed",
                lambda _: accept(),
                text=None,
            )

    def action_reject(self) -> None:
        at = self._at()
        if at is not None:
            self.top.order(f"Reject proposal {at.number}: why not", partial(self._reject, at.number))

    def _reject(self, number: int, why: str) -> None:
        self._desk.reject(number, why, session_id=None)

    def _at(self) -> OfProposal | None:
        at = nearest(self.rows.here, OfProposal)
        if at is None or at.status != _OPEN:
            self.top.tell("This is no open proposal.")
            return None
        return at

    @property
    def _desk(self) -> Desk:
        return Desk(root=self.top.project.root, store=as_person(self.top.project))
