"""The command ``doctor``: checks everything that a run needs, and says how to mend what is wrong.

A check is an entry of ``CHECKS`` and a function in the module of its subject. It says what it found, what that means,
and a command that mends it. To add a check, write its function and its entry here.
"""

import click

from musician.cli.context import App
from musician.cli.doctor import database, machine, permissions, plugins, repository, trees
from musician.cli.doctor.check import Check, make_all
from musician.cli.faults import FAILED
from musician.cli.options import command
from musician.cli.render import show_findings
from musician.plugin.check_result import Level

__all__ = ["CHECKS", "doctor"]

CHECKS = (
    Check(name="git", look=machine.git),
    Check(name="repository", look=repository.repository),
    Check(name="settings", look=repository.settings),
    Check(name="tree", look=repository.tree, needs=("repository",), worst=Level.WARN),
    Check(name="preconditions", look=trees.preconditions, needs=("repository",)),
    Check(name="trees", look=trees.trees, needs=("repository",)),
    Check(name="permissions", look=permissions.everything, needs=("repository",)),
    Check(name="database", look=database.soundness),
    Check(name="gate", look=database.gate, needs=("database",)),
    Check(name="contents", look=database.contents, needs=("database", "settings")),
    Check(name="disk", look=repository.disk),
    Check(name="sqlite3", look=machine.shell),
    Check(name="clock", look=database.clock, needs=("database",)),
    Check(name="agents", look=machine.agents),
    Check(name="sandbox", look=machine.sandbox),
    Check(name="plugin", look=plugins.installed),
)
"""The checks in the order in which they run. Without a repository or a named database, only the first two run."""


@command("doctor")
@click.pass_obj
@click.pass_context
def doctor(context: click.Context, app: App) -> None:
    """Check everything that a run needs, and say how to mend what is wrong.

    Checks git, the repository, settings, file permissions, the database and its contents, the clock, agents and Claude
    Code's plugin. Exit code 1 if something must be mended.
    """
    checks = CHECKS if app.named is not None or repository.is_known(app) else CHECKS[:2]
    if show_findings(app, list(make_all(checks, app))):
        context.exit(FAILED)
