"""Claude Code's plugin: where it is, putting it there, taking it away, trying it (CLI-22)."""

import os

import click

from musician.cli.context import App
from musician.cli.doctor.place import is_known
from musician.cli.faults import FAILED
from musician.cli.options import command
from musician.cli.render import pairs, show, show_findings
from musician.plugin.installation import StatusLine
from musician.plugin.installation import install as install_plugin
from musician.plugin.installation import uninstall as uninstall_plugin
from musician.plugin.places import Installation, Scope, for_project, for_user
from musician.plugin.rendering import render, this_program
from musician.plugin.selfcheck import check_plugin
from musician.trees.root import exclude_private

_LOCAL_SETTINGS = b"/.claude/settings.local.json"

_scope_option = click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    default=Scope.USER.value,
    show_default=True,
    help="For every session of yours, or for sessions in this repository.",
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

    The folder is made if it is not there. No settings are touched.
    """
    place = _place(app, scope)
    render(place, this_program())
    show(app, {"path": str(place.plugin), "scope": scope}, str(place.plugin))


@command("install", parent=plugin)
@_scope_option
@click.option(
    "--statusline", "with_status_line", is_flag=True, help="Show task, state, context and unread messages."
)
@click.pass_obj
def install(app: App, scope: str, with_status_line: bool) -> None:
    """Make the plugin known to Claude Code; the next session has it.

    Repeating it is harmless, and needed after Musician or its Python has moved. Other settings are left as they are.
    """
    place = _place(app, scope)
    if scope == Scope.PROJECT:
        exclude_private(app.root, _LOCAL_SETTINGS)
    done = install_plugin(place, this_program(), with_status_line=with_status_line)
    document = {**_where(place), "changed": done.is_new, "status_line": done.status_line}
    facts = {
        "plugin": place.plugin,
        "settings": place.settings,
        "status line": _STATUS_LINE[done.status_line],
    }
    said = "next: open Claude Code in a repository and type: /musician task-01"
    show(app, document, pairs(facts), said if done.is_new else "nothing to do, all was there")


@command("uninstall", parent=plugin)
@_scope_option
@click.pass_obj
def uninstall(app: App, scope: str) -> None:
    """Take the plugin away again, and nothing else.

    Sessions that are open keep it until they end.
    """
    place = _place(app, scope)
    was_there = uninstall_plugin(place)
    document = {**_where(place), "changed": was_there}
    show(app, document, f"removed from {place.settings}" if was_there else "it was not installed")


@command("check", parent=plugin)
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    help="Which installation; without it each that is there.",
)
@click.pass_obj
@click.pass_context
def check(context: click.Context, app: App, scope: str | None) -> None:
    """Call every hook and server of the installed plugin once, and say which are dead.

    They are given a sample session in a repository made for the occasion. Exit code 1 if something must be mended.
    """
    places = _installed(app) if scope is None else [_place(app, scope)]
    findings = [finding for place in places for finding in check_plugin(place, this_program())]
    if show_findings(app, findings):
        context.exit(FAILED)


def _place(app: App, scope: str) -> Installation:
    return for_project(app.root, os.environ) if scope == Scope.PROJECT else for_user(os.environ)


def _installed(app: App) -> list[Installation]:
    """The user's installation where nothing is there: what is missing is said of it."""
    places = [for_user(os.environ), *([for_project(app.root, os.environ)] if is_known(app) else [])]
    return [place for place in places if place.plugin.is_dir()] or places[:1]


def _where(place: Installation) -> dict[str, object]:
    return {
        "scope": place.scope.value,
        "path": str(place.plugin),
        "settings": str(place.settings),
        "plugin": place.plugin_id,
    }
