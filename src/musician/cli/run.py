"""Conducting a plan from the command line."""

import os
from pathlib import Path

import anyio
import click

from musician.cli.context import App
from musician.cli.options import command
from musician.cli.render import show
from musician.plans.model import Review
from musician.runtime.conduct import Ending, Outcome, conduct
from musician.runtime.locking import lock_plan_file

__all__ = ["run"]

EXIT_CODES = {Ending.COMPLETE: 0, Ending.NEEDS_HUMAN: 1, Ending.INTERRUPTED: 130}
MOST_JOBS = 64


@command("run")
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--agent", help="Play with this agent instead of the plan's.")
@click.option(
    "--jobs", type=click.IntRange(1, MOST_JOBS), help="Musicians at once; by default one a core, at least 2."
)
@click.option(
    "--review", type=click.Choice([each.value for each in Review]), help="Who reviews, instead of the plan's."
)
@click.pass_obj
def run(app: App, plan: Path, agent: str | None, jobs: int | None, review: str | None) -> None:
    """Conduct PLAN to its end. Run again to go on where it stopped."""
    locked = lock_plan_file(app.root, app.store, plan, app.settings)

    async def play() -> Outcome:
        return await conduct(
            app.root,
            app.store,
            locked,
            settings=app.settings,
            jobs=jobs or max(2, os.cpu_count() or 1),
            agent=agent,
            review=None if review is None else Review(review),
        )

    outcome = anyio.run(play)
    show(
        app,
        {"plan": locked.plan_id, "ending": outcome.ending, "needs_human": [ask.text for ask in outcome.asks]},
        f"{locked.plan_id}: {outcome.ending}",
    )
    click.get_current_context().exit(EXIT_CODES[outcome.ending])
