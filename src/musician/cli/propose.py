"""The command ``propose``, with which a musician offers knowledge worth keeping (sources "Proposal System", D21)."""

import click

from musician.cli.acting import Acting, acting
from musician.cli.options import command, parse_text, task_argument, text_argument
from musician.cli.render import show
from musician.protocol.proposals import Draft, ProposalType, parse_type, read_draft
from musician.runtime.proposing import Desk


def _type(ctx: click.Context, param: click.Parameter, value: str | None) -> ProposalType | None:
    return None if value is None else parse_type(value)


@command("propose")
@task_argument
@text_argument()
@click.option(
    "--type", "kind", metavar="TYPE", callback=_type, help="One of " + ", ".join(ProposalType) + "."
)
@click.option("--title", metavar="LINE", help="A title of one line.")
@click.option("--why", metavar="TEXT", callback=parse_text, help="Why it is worth keeping, or why it failed.")
@acting
def propose(acting: Acting, text: str, kind: ProposalType | None, title: str | None, why: str | None) -> None:
    """Propose something worth keeping; the conductor decides on it.

    TEXT (or standard input, for -) may also be a whole proposal in the form of
    docs/implementation/proposals/TEMPLATE.md, which has its own type and title.
    """
    app = acting.app
    kept = Desk(root=app.root, store=app.store).propose(acting.claim, _draft(text, kind, title, why))
    document = {
        "id": kept.row.id,
        "path": kept.row.path,
        "type": kept.proposal.type,
        "title": kept.proposal.title,
        "status": kept.proposal.status,
    }
    show(
        app,
        document,
        f"{acting.task_id}: proposal {kept.row.id} is {kept.proposal.status}, in {kept.row.path}",
    )


def _draft(text: str, kind: ProposalType | None, title: str | None, why: str | None) -> Draft:
    """Make the draft. Options override the fields in the text."""
    written = None if kind is not None and title is not None else read_draft(text)
    if written is not None:
        return Draft(
            type=kind or written.type,
            title=title or written.title,
            body=written.body,
            why=written.why if why is None else why,
        )
    if kind is None or title is None:
        raise click.UsageError("give --type and --title, or a text that has both in its front matter")
    return Draft(type=kind, title=title.strip(), body=text, why=why or "")
