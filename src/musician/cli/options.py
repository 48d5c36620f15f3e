"""The options and arguments that commands share: tasks, texts, sessions and the database."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from musician.cli.context import App
from musician.protocol.errors import BadField, MusicianError
from musician.protocol.names import CONDUCTOR, check_session_id, parse_launch_reference

MOST_TEXT_BYTES = 1_000_000
"""The size of one message. A larger one is a file that was passed by mistake."""

F = TypeVar("F", bound=Callable[..., Any])


def _task(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Parse a task as in a launch prompt: ``task-03``, ``3`` or ``#3``. Ids are checked before anything else (D8)."""
    return parse_launch_reference(value)


def parse_row(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Parse a task that is only looked at; it may be the conductor's own row."""
    return value if value in (None, CONDUCTOR) else parse_launch_reference(value)


def parse_text(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Read a text to be stored byte for byte (B18); ``-`` reads standard input."""
    if value == "-":
        value = _read_standard_input()
    if value is not None:
        # Imported here because every command imports this module and few take a text.
        from musician.protocol.messages.checks import check_said

        check_said("text", value)
    return value


def _read_standard_input() -> str:
    data = sys.stdin.buffer.read(MOST_TEXT_BYTES + 1)
    if len(data) > MOST_TEXT_BYTES:
        raise BadField(field="text", value="-", reason=f"a message has at most {MOST_TEXT_BYTES} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadField(field="text", value="-", reason="standard input must be UTF-8") from None


def complete_task(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the ids of tasks for a shell, complete ones too: they are looked at. Of ``--plan``, those of that plan."""
    from musician import service  # most commands that take a task are not completed

    with suppress(MusicianError, OSError), ctx.ensure_object(App) as app:
        named = app.plan_id
        plans = (named,) if named else (None, *(row.plan_id for row in service.all_plans(app.store)))
        found = (row.task_id for plan in plans for row in service.tasks_of(app.shown, plan))
        return [task_id for task_id in found if task_id.startswith(incomplete)]
    return []


def complete_plan(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of plans for a shell, archived ones too."""
    from musician.reporting.plan_list import list_plans

    with suppress(MusicianError, OSError), ctx.ensure_object(App) as app:
        return [each.plan_id for each in list_plans(app.store) if each.plan_id.startswith(incomplete)]
    return []


def complete_agent(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of the agents that can be used here for a shell."""
    from musician.agents.registry import found_agents

    return [name for name in found_agents() if name.startswith(incomplete)]


class PlanFile(click.Path):
    """A plan's file. What the current folder has not is looked for at the project's top, from where the program names
    a plan in the commands it tells.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        given = Path(os.fsdecode(super().convert(value, param, ctx)))
        if ctx is None or given.is_absolute() or os.path.lexists(given):
            return given
        with suppress(MusicianError, OSError):
            named = ctx.ensure_object(App).root.path / given
            if named.is_file():
                return Path(os.path.relpath(named))
        return given


task_argument = click.argument("task_id", metavar="TASK", callback=_task, shell_complete=complete_task)
row_argument = click.argument("task_id", metavar="TASK", callback=parse_row, shell_complete=complete_task)
plan_argument = click.argument("plan_id", metavar="NAME", shell_complete=complete_plan)


def agent_option(what: str) -> Callable[[F], F]:
    """Add ``--agent``; ``what`` says in its help what it is for."""
    return click.option("--agent", metavar="A", help=what, shell_complete=complete_agent)


def text_argument(*, required: bool = True, name: str = "TEXT") -> Callable[[F], F]:
    return click.argument(
        "text", metavar=name if required else f"[{name}]", callback=parse_text, required=required
    )


def database_option(function: F) -> F:
    return click.option(
        "--db",
        envvar="MUSICIAN_DB",
        metavar="URL",
        expose_value=False,
        callback=_keep_database,
        help="The database if not the repository's own: sqlite:///PATH, or just the path.  [env: MUSICIAN_DB]",
    )(function)


def _keep_database(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    app = ctx.ensure_object(App)
    # The group's --db counts unless the command has one of its own.
    if value is not None and (app.named is None or ctx.get_parameter_source("db") is _COMMAND_LINE):
        app.named = value


_COMMAND_LINE = click.core.ParameterSource.COMMANDLINE


def _keep_plan(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    ctx.ensure_object(App).plan_id = value


plan_option = click.option(
    "--plan",
    metavar="NAME",
    expose_value=False,
    callback=_keep_plan,
    shell_complete=complete_plan,
    help="Look at this plan; it may be archived.",
)


def _keep_json(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.ensure_object(App).json = value


_json_option = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=_keep_json,
    help="Print one JSON document.",
)


def command(
    name: str, *, parent: click.Group | None = None
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command with ``--db`` and ``--json``, in the group ``parent`` if that is given."""

    def make(function: Callable[..., None]) -> click.Command:
        maker = click.command if parent is None else parent.command
        made: click.Command = maker(name)(database_option(_json_option(function)))
        return made

    return make


context_option = click.option(
    "--context",
    "context_pct",
    type=click.FloatRange(0, 100),
    metavar="PCT",
    help="The context used so far, in per cent, if it is known.",
)


force_option = click.option(
    "--force",
    "out_of_turn",
    is_flag=True,
    help="For the conductor: claim it although tasks that come first in the plan are not finished.",
)


correct_option = click.option(
    "--correct",
    "corrections",
    multiple=True,
    metavar="STEP",
    help="A correction step to play before anything else: a shell command, `revert step 2` (add `and skip it` to"
    " leave the step out afterwards), or `skip step 3`. Several are played in the order given.",
)


def _session(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    return None if value is None else check_session_id(value)


def session_option(what: str) -> Callable[[F], F]:
    """Add ``--session``; ``what`` says in its help which session it is."""
    return click.option(
        "--session",
        envvar="MUSICIAN_SESSION",
        metavar="ID",
        callback=_session,
        help=f"{what}  [env: MUSICIAN_SESSION]",
    )


def session_options(function: F) -> F:
    """Add ``--session`` and ``--epoch``, which name the claim that a musician's command acts for (D2)."""
    session = session_option("The session that acts.")
    epoch = click.option(
        "--epoch",
        type=click.IntRange(min=1),
        metavar="N",
        help="The claim's epoch, if not the session's current claim.",
    )
    return session(epoch(function))
