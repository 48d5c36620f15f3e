"""The command ``clean``: removes working trees and branches that nobody needs any more (D32)."""

from collections import Counter

import click
from rich.filesize import decimal

from musician.cli.context import App
from musician.cli.options import command
from musician.cli.render import show
from musician.runtime.cleaning import Piece, survey
from musician.runtime.cleaning import clean as remove


@command("clean")
@click.option("--dry-run", is_flag=True, help="Only say what would go and what would stay.")
@click.pass_obj
def clean(app: App, dry_run: bool) -> None:
    """Remove working trees and branches of finished work, and say of what stays why.

    A working tree goes when its task is complete and merged, or its plan archived or dropped; a branch when its plan is
    complete or dropped and another branch of yours or a tag holds it; a scratch tree of `review checkout` when its task
    is over. Nothing goes that holds something: changes, files that git ignores and that were not
    there at the start, commits of its own, a process. A run does the same for its plan.
    """
    pieces = survey(app.root, app.store) if dry_run else remove(app.root, app.store)
    told = [*_went(pieces, "would go" if dry_run else "removed"), *stays(pieces)]
    none = [] if pieces else ["nothing to clean: there are no working trees or branches of ours"]
    show(app, {"dry_run": dry_run, "pieces": [_document(each) for each in pieces]}, *told, *none)


def stays(pieces: tuple[Piece, ...]) -> list[str]:
    """Return the lines on what stays, each with the command to look at it. What the plan alone keeps is not looked at,
    and its branches are counted.
    """
    kept = [each for each in pieces if each.held]
    of_plans = Counter((each.plan_id, each.by_plan) for each in kept if each.tree is None and each.by_plan)
    return [
        *(
            f"stays: {each.what}: {'; '.join(each.held)}" + ("" if each.by_plan else f" ({each.look})")
            for each in kept
            if each.tree is not None or not each.by_plan
        ),
        *(f"stays: branches of {plan_id} ({n}): {why}" for (plan_id, why), n in of_plans.items()),
    ]


def _went(pieces: tuple[Piece, ...], word: str) -> list[str]:
    size = (f", {decimal(each.size_bytes)}" if each.tree else "" for each in pieces)
    return [f"{word}: {each.what}{said}" for each, said in zip(pieces, size, strict=True) if not each.held]


def _document(each: Piece) -> dict[str, object]:
    return {
        "plan": each.plan_id,
        "branch": each.branch,
        "tree": None if each.tree is None else str(each.tree),
        "bytes": each.size_bytes,
        "goes": not each.held,
        "held": list(each.held),
    }
