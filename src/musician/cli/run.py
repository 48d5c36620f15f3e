"""The command ``run``, which conducts a plan."""

import os
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio
import click
from click.core import ParameterSource

from musician.cli.clean import stays
from musician.cli.context import App
from musician.cli.faults import FAILED
from musician.cli.options import PlanFile, agent_option, command
from musician.cli.render import note
from musician.cli.run_time import local_minute
from musician.cli.run_view import View
from musician.interruption import INTERRUPTED
from musician.plans.model import Answers, Review
from musician.processes.of_session import without_session
from musician.processes.signals import hearing_stops
from musician.protocol.arguments import as_argument
from musician.protocol.errors import MusicianError
from musician.reporting.plan_list import say_left_open
from musician.reporting.standing import Standing
from musician.runtime.beginnings import notes_at_the_start
from musician.runtime.cleaning import clean, clean_task
from musician.runtime.conductor.conduct import Ending, conduct
from musician.runtime.conductor.plan_run import Audience, RunOptions
from musician.runtime.in_force import settings_of_plan
from musician.runtime.locking import lock_plan_file
from musician.runtime.notifying import Notifier, own_terminal, ways_of
from musician.store.rows import ArchiveRow
from musician.trees.base import Move

EXIT_CODES = {Ending.COMPLETE: 0, Ending.NEEDS_HUMAN: FAILED, Ending.INTERRUPTED: INTERRUPTED}
LEAST_JOBS = 2
MOST_JOBS = 64
_TYPED = ParameterSource.COMMANDLINE


@command("run")
@click.argument("plan", type=PlanFile())
@agent_option("Play with this agent instead of the plan's.")
@click.option(
    "--jobs",
    type=click.IntRange(0, MOST_JOBS),
    metavar="N",
    help=f"How many musicians run at once, at most {MOST_JOBS}; by default one for each core, at least {LEAST_JOBS}."
    " With 0 it starts none, and conducts the sessions and workers that you start.",
)
@click.option(
    "--review", type=click.Choice([each.value for each in Review]), help="Who reviews, instead of the plan's."
)
@click.option(
    "--answers",
    type=click.Choice([each.value for each in Answers]),
    help="Who answers questions and repeated errors, instead of the plan's.",
)
@click.option(
    "--avoid-conflicts",
    "avoids_conflicts",
    is_flag=True,
    help="Begin a task that names files which another touches only once that one is merged.",
)
@click.option(
    "--keep",
    is_flag=True,
    help="Leave the working trees of complete tasks and the branches of a complete plan; see musician clean.",
)
@click.option(
    "--summary",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.md",
    help="Write a page on what was done, what was sent back and what is open, as Markdown, however the run ends.",
)
@click.option(
    "--events",
    "has_events",
    is_flag=True,
    help="Print each event as a JSON object on a line of its own, and the end of the run as the last one.",
)
@click.pass_obj
def run(
    app: App,
    plan: Path,
    agent: str | None,
    jobs: int | None,
    review: str | None,
    answers: str | None,
    avoids_conflicts: bool,
    keep: bool,
    summary: Path | None,
    has_events: bool,
) -> None:
    """Conduct PLAN to its end. Run it again to go on where it stopped.

    Shows a live table on a terminal, and one line for each event in a pipe. Times are local.
    """
    for name in os.environ.keys() - without_session(os.environ).keys():
        del os.environ[name]  # a session's own command may have started us
    app.wait_as_long_as_a_claim()
    away: list[ArchiveRow] = []
    locked = lock_plan_file(app.root, app.store, plan, app.settings, on_archived=away.append)
    if jobs is None:
        jobs = min(MOST_JOBS, max(LEAST_JOBS, os.cpu_count() or 1))
    again = " ".join(("musician run", as_argument(str(plan)), *_given_options()))
    view = View(app, locked, jobs=jobs, again=again, summary=summary, has_events=has_events)
    settings = settings_of_plan(app.store, locked.plan_id, app.settings)
    is_kept = keep or settings.trees.keep
    notifier = Notifier(
        app.store,
        settings.notify,
        plan_id=locked.plan_id,
        ways=ways_of(settings.notify, folder=app.root.path, terminal=own_terminal(), env=os.environ),
        local_minute=local_minute,
        on_trouble=view.note,
    )

    def on_look(standings: tuple[Standing, ...]) -> None:
        view.on_look(standings)
        notifier.on_look(standings)

    play = partial(
        conduct,
        app.root,
        app.store,
        locked,
        settings=settings,
        options=RunOptions(
            jobs=jobs,
            agent=agent,
            review=None if review is None else Review(review),
            answers=None if answers is None else Answers(answers),
            avoids_conflicts=avoids_conflicts,
        ),
        audience=Audience(
            on_look=on_look,
            on_base=view.on_base,
            on_note=view.note,
            on_complete=(lambda _: None)
            if is_kept
            else partial(clean_task, app.root, app.store, locked.plan_id),
        ),
    )
    for each in (*filter(None, map(say_left_open, away)), *notes_at_the_start(app.root, app.store, locked)):
        note(each)
    with view, hearing_stops():  # from the first moment to the last word
        outcome = anyio.run(notifier.beside, play)
        end = view.end(outcome)
    if outcome.ending is Ending.COMPLETE and not is_kept:
        try:
            for line in stays(clean(app.root, app.store, plan_id=locked.plan_id)):
                note(line)
        except MusicianError as error:  # the plan is complete all the same
            note(f"nothing more is cleaned: {error}; later: musician clean")
    if outcome.ending is not Ending.INTERRUPTED:  # whoever interrupted the run knows that it has ended
        anyio.run(notifier.tell_end, end.headline)
    is_left = outcome.moved is not None and outcome.moved.move is Move.FAILED
    click.get_current_context().exit(FAILED if is_left else EXIT_CODES[outcome.ending])


def _given_options() -> Iterator[str]:
    """Yield the options that this run was given, to be given again."""
    context = click.get_current_context()
    for each in context.command.params:
        value = context.params.get(each.name or "")
        if isinstance(each, click.Option) and context.get_parameter_source(each.name or "") is _TYPED:
            yield each.opts[-1] if each.is_flag else shlex.join((each.opts[-1], str(value)))
