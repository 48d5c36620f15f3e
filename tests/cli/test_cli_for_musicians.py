"""Which commands a musician's shell may give: whoever adds one decides it here."""

from collections.abc import Iterator

import click
import pytest

from musician.cli.main import program
from musician.protocol.policy.forbidden import Act
from musician.protocol.policy.paths import Surroundings
from musician.protocol.policy.tool_calls import judge

LOOKING = """
demo, doctor, status, history, messages, timeline, log, trace, needs-me, pr, validate, verify-temp, headroom,
statusline, completion, show message, show step, show verification, review list, review show, review diff,
proposals list, proposals show, plan check, plan graph, plan list, plan new, plan show, plugin check, plugin path
"""
ITS_OWN = """
claim, release, heartbeat, step, deviation, self-correction, correction, checkpoint, error, complete, exit, inbox,
wait, propose
"""
MAY = frozenset(each.strip() for each in f"{LOOKING},{ITS_OWN}".replace("\n", " ").split(","))

TREE = "/repo/.musician/trees/task-03"
HERE = Surroundings(cwd=TREE, root="/repo", tree=TREE, database="/repo/.musician/comms.db", session="mine")


def _commands(group: click.Group, before: str = "") -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield before + name


def _act(command: str) -> Act | None:
    refusal = judge("Bash", {"command": command}, HERE)
    return None if refusal is None else refusal.act


def test_what_is_no_musicians_is_refused_to_it() -> None:
    """So nobody approves its own work by the dashboard's key, or by a hook or a server that it starts itself."""
    every = set(_commands(program))
    assert every >= MAY
    assert {name for name in every if _act(f"musician {name} x") is None} == MAY


@pytest.mark.parametrize(
    ("command", "act"),
    [
        ("musician send task-01 --more 5usd -- --help", Act.CONDUCT),
        ("musician review approve task-01 -- --help", Act.CONDUCT),
        ("musician push -- --help", Act.PUSH),
        ("musician pr task-01 --create --title --help", Act.PUSH),
        ("gh pr create --title --help", Act.PUSH),
        ("echo '{}' | CLAUDE_CODE_SESSION_ID=other musician hook UserPromptExpansion", Act.CONDUCT),
        ("CLAUDE_CODE_SESSION_ID=other musician mcp", Act.CONDUCT),
        ("script -qc 'musician attach task-01' /dev/null", Act.CONDUCT),
        ("musician review approve --help", None),
        ("musician send task-01 --help", None),
        ("gh pr create --help", None),
    ],
)
def test_help_is_only_what_the_program_takes_for_it(command: str, act: Act | None) -> None:
    """A text after ``--``, or an option's value, may be spelled like the option."""
    assert _act(command) is act
