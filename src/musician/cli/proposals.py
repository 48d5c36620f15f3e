"""The commands ``proposals …``, with which the conductor decides on each proposal (sources "Proposal System", D21)."""

from collections.abc import Iterable

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, plan_option, session_option, text_argument
from musician.cli.render import Rows, fields, indented, pairs, show
from musician.protocol.landing import remark
from musician.runtime.as_person import as_person
from musician.runtime.proposing import Desk
from musician.service.proposals import KeptProposal
from musician.service.similarity import Alike, alike_among

_number = click.IntRange(min=1)


@click.group("proposals")
def proposals() -> None:
    """Decide on the proposals of musicians."""


@command("list", parent=proposals)
@plan_option
@click.option("--all", "is_all", is_flag=True, help="Include those that are decided.")
@click.pass_obj
def list_command(app: App, is_all: bool) -> None:
    """List the open proposals, and which of them are nearly the same."""
    every = service.list_proposals(app.shown, only_open=False)
    found = [kept for kept in every if is_all or kept.row.status == "open"]
    alike = alike_among(every)
    away = [
        f"{row.plan_id}, archived: {row.proposals} open (musician proposals list --plan {row.plan_id})"
        for row in (service.archives(app.store) if app.plan_id is None else ())
        if row.proposals
    ]
    rows = [
        (
            kept.row.id,
            kept.row.status,
            kept.row.type,
            kept.row.task_id,
            ", ".join(str(each.other) for each in alike if each.of == kept.row.id),
            kept.row.title,
        )
        for kept in found
    ]
    table = Rows(headings=("ID", "STATUS", "TYPE", "TASK", "LIKE", "TITLE"), rows=rows)
    none = "there are no proposals" if is_all else "there are no open proposals"
    document = {"proposals": [_document(kept, alike) for kept in found]}
    show(app, document, *away, table if found else none)


@command("show", parent=proposals)
@plan_option
@click.argument("proposal_id", metavar="ID", type=_number)
@click.pass_obj
def show_command(app: App, proposal_id: int) -> None:
    """Show one proposal whole, and those it resembles."""
    kept = service.find_proposal(app.shown, proposal_id)
    alike = [each for each in alike_among(_with(app, kept)) if each.of == proposal_id]
    written = kept.proposal
    facts = {
        "proposal": proposal_id,
        "status": written.status,
        "outcome": written.outcome,
        "type": written.type,
        "from": f"{written.task_id}, session {written.session_id}, {kept.row.at}",
        "file": kept.row.path,
        "like": ", ".join(f"{each.other} ({each.likeness_pct:g} %)" for each in alike),
    }
    why = ["why:", indented(written.why)] if written.why else []
    document = {**_document(kept, alike), "why": written.why, "body": written.body}
    show(app, document, written.title, pairs(facts), *why, "what:", indented(written.body))


def _with(app: App, kept: KeptProposal) -> tuple[KeptProposal, ...]:
    """Return all listed proposals and this one, which may be too old for the list."""
    every = service.list_proposals(app.store, only_open=False)
    return (*(each for each in every if each.row.id != kept.row.id), kept)


_conductor_only = session_option("The session that calls; a musician's is refused.")
"""So that it can be refused: it may not decide (D21)."""


@command("accept", parent=proposals)
@click.argument("proposal_id", metavar="ID", type=_number)
@_conductor_only
@click.pass_obj
def accept(app: App, proposal_id: int, session: str | None) -> None:
    """Write a proposal to the place for its type, and close it.

    MEMORY goes into MEMORY.md, CLAUDE_MD into CLAUDE.md, everything else into docs/knowledge-base/. Nothing is
    committed; that is left to you.
    """
    kept, path = _desk(app).accept(proposal_id, session_id=session)
    more = remark(kept.proposal.type)
    document = {**_document(kept), "changed": path, "remark": more}
    accepted = f"proposal {proposal_id} is accepted: {path} has it now; look at it and commit it"
    show(app, document, accepted, *([more] if more else []))


@command("reject", parent=proposals)
@click.argument("proposal_id", metavar="ID", type=_number)
@text_argument()
@_conductor_only
@click.pass_obj
def reject(app: App, proposal_id: int, text: str, session: str | None) -> None:
    """Reject a proposal; TEXT says why."""
    kept = _desk(app).reject(proposal_id, text, session_id=session)
    show(app, _document(kept), f"proposal {proposal_id} is rejected")


@command("merge", parent=proposals)
@click.argument("proposal_id", metavar="ID", type=_number)
@click.argument("into_id", metavar="INTO", type=_number)
@_conductor_only
@click.pass_obj
def merge(app: App, proposal_id: int, into_id: int, session: str | None) -> None:
    """Add the text of proposal ID to proposal INTO, and close ID.

    INTO stays open, to be accepted or rejected.
    """
    closed, kept = _desk(app).merge(proposal_id, into_id, session_id=session)
    document = {"closed": _document(closed), "kept": _document(kept)}
    show(app, document, f"proposal {proposal_id} is merged into {into_id}: {kept.row.path}")


def _desk(app: App) -> Desk:
    return Desk(root=app.root, store=as_person(app))


def _document(kept: KeptProposal, alike: Iterable[Alike] = ()) -> dict[str, object]:
    facts = fields(kept.row)
    for name in ("text", "document_id", "message_id", "claim_epoch"):
        del facts[name]
    found = [each for each in alike if each.of == kept.row.id]
    return {**facts, "alike": [{"id": each.other, "likeness_pct": each.likeness_pct} for each in found]}
