"""The commands ``plugin path``, ``install``, ``uninstall`` and ``check`` for Claude Code's plugin (CLI-22)."""

import os

import click

from musician.cli.context import App
from musician.cli.doctor.plugins import installations
from musician.cli.faults import FAILED
from musician.cli.options import command
from musician.cli.render import pairs, show, show_findings
from musician.plugin.installation import StatusLine
from musician.plugin.installation import install as install_plugin
from musician.plugin.installation import uninstall as uninstall_plugin
from musician.plugin.rendering import render, this_program
from musician.plugin.scopes import Installation, Scope, for_project, for_user
from musician.plugin.selfcheck import check_plugin
from musician.trees.root import exclude_private

_LOCAL_SETTINGS = b"/.claude/settings.local.json"

_scope_option = click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    default=Scope.USER.value,
    show_default=True,
    help="For all your sessions, or only for sessions in this repository.",
)

_STATUS_LINE = {
    StatusLine.OURS: "shown in every session",
    StatusLine.KEPT: "yours is kept; call `musician statusline` from it to add ours",
    StatusLine.NONE: "not shown; `musician plugin install --statusline` shows it",
}


@click.group("plugin")
def plugin() -> None:
    """Install, check and remove Claude Code's plugin."""


@command("path", parent=plugin)
@_scope_option
@click.pass_obj
def path(app: App, scope: str) -> None:
    """Print the plugin's folder, for `claude --plugin-dir`.

    The folder is created if it does not exist. No settings are changed.
    """
    installation = _installation(app, scope)
    render(installation, this_program())
    show(app, {"path": str(installation.plugin), "scope": scope}, str(installation.plugin))


@command("install", parent=plugin)
@_scope_option
@click.option(
    "--statusline", "with_status_line", is_flag=True, help="Show task, state, context and unread messages."
)
@click.pass_obj
def install(app: App, scope: str, with_status_line: bool) -> None:
    """Add the plugin to Claude Code's settings. New sessions have it.

    Install again after Musician or its Python has moved; repeating it is safe. Other settings are not changed.
    """
    installation = _installation(app, scope)
    if scope == Scope.PROJECT:
        exclude_private(app.root, _LOCAL_SETTINGS)
    done = install_plugin(installation, this_program(), with_status_line=with_status_line)
    document = {**_facts(installation), "changed": done.is_new, "status_line": done.status_line}
    facts = {
        "plugin": installation.plugin,
        "settings": installation.settings,
        "status line": _STATUS_LINE[done.status_line],
    }
    next_step = "next: open Claude Code in a repository and type: /musician task-01"
    show(app, document, pairs(facts), next_step if done.is_new else "nothing to do, it was installed already")


@command("uninstall", parent=plugin)
@_scope_option
@click.pass_obj
def uninstall(app: App, scope: str) -> None:
    """Remove the plugin, and nothing else.

    Open sessions keep it until they end.
    """
    installation = _installation(app, scope)
    was_there = uninstall_plugin(installation)
    document = {**_facts(installation), "changed": was_there}
    show(app, document, f"removed from {installation.settings}" if was_there else "it was not installed")


@command("check", parent=plugin)
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    help="Which installation; all of them if not given.",
)
@click.pass_obj
@click.pass_context
def check(context: click.Context, app: App, scope: str | None) -> None:
    """Call every hook and server of the installed plugin once, and report those that do not work.

    They are called for a sample session in a temporary repository. Exit code 1 if something must be mended.
    """
    found = _installed(app) if scope is None else [_installation(app, scope)]
    findings = [finding for each in found for finding in check_plugin(each, this_program())]
    if show_findings(app, findings):
        context.exit(FAILED)


def _installation(app: App, scope: str) -> Installation:
    return for_project(app.root, os.environ) if scope == Scope.PROJECT else for_user(os.environ)


def _installed(app: App) -> list[Installation]:
    """Return the installations that exist; if there are none the user's, whose check then says what is missing."""
    known = installations(app)
    return [each for each in known if each.plugin.is_dir()] or known[:1]


def _facts(installation: Installation) -> dict[str, object]:
    return {
        "scope": installation.scope.value,
        "path": str(installation.plugin),
        "settings": str(installation.settings),
        "plugin": installation.plugin_id,
    }
