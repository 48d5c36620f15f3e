"""The command ``init``: sets a repository up. It is safe to repeat and overwrites nothing (D25)."""

import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import click

from musician.cli.context import App
from musician.cli.options import command
from musician.cli.render import pairs, show
from musician.config import render_defaults
from musician.protocol.errors import TreeNotReady
from musician.service import keep_settings
from musician.store.opening import create_store
from musician.trees.preconditions import check_layout
from musician.trees.root import (
    Root,
    choose_temp,
    exclude_private,
    how_shared,
    is_network_filesystem,
    keep_from_cleaning,
    share_as_git_does,
)
from musician.trees.sharing import follow

_INSTALLED = Path(__file__).parent / "installed"
_REPORTS_README = """\
# Reports

Musicians write their completion reports here, one file for each task. The database keeps a copy of each.
When a plan is complete, a page on all of it is written beside them, as `<plan>-summary.md`.
Commit them or not, as you like.
"""


@command("init")
@click.pass_obj
def init(app: App) -> None:
    """Set Musician up in this repository.

    Creates the database, the settings and the folders that are missing. It can be repeated safely.
    """
    root = app.root
    check_layout(root)
    created = _make_folders(root)
    exclude_private(root)
    keep_from_cleaning(root)
    created += _write_new(root, root.config, render_defaults())
    settings = app.settings  # to report an invalid file now and not in the first run
    database = Path(app.database)
    is_new = not database.exists()
    with closing(create_store(database)) as store:
        mended = () if is_new else store.mend()
        keep_settings(store, settings)
    created += [app.database] if is_new else []
    warnings = network_warnings(database)
    document = {
        "root": str(root.path),
        "database": app.database,
        "config": str(root.config),
        "created": created,
        "mended": mended,
        "warnings": warnings,
    }
    facts = {
        "database": app.database,
        "settings": root.config,
        "new": ", ".join(_outermost([name.removeprefix(f"{root.path}/") for name in created]))
        or "nothing, everything existed",
    } | ({"mended": "; ".join(mended)} if mended else {})
    next_step = "next: write a plan (musician plan new), commit it, and play it with: musician run PLAN.md"
    show(app, document, pairs(facts), *(f"warning: {warning}" for warning in warnings), next_step)


def _outermost(created: list[str]) -> list[str]:
    """Leave out the paths inside a folder that is new itself."""
    folders = tuple(name for name in created if name.endswith("/"))
    return [name for name in created if not name.startswith(tuple(each for each in folders if each != name))]


def _make_folders(root: Root) -> list[str]:
    folders = (root.musician_dir, choose_temp(root), root.reports_dir, root.proposals_dir)
    ways = [way for folder in folders for way in (folder, *folder.parents) if way.is_relative_to(root.path)]
    if in_the_way := sorted({str(way) for way in ways if os.path.lexists(way) and not way.is_dir()}):
        raise TreeNotReady(
            reason="there is a file where a folder is needed",
            paths=tuple(in_the_way),
            remedy="move it away",
        )
    made = [f"{folder.relative_to(root.path)}/" for folder in folders if not folder.is_dir()]
    shared = how_shared(root)
    for folder in folders:  # .musician comes first: the others get its permissions
        is_users = folder.is_dir() and folder != root.musician_dir
        folder.mkdir(parents=True, exist_ok=True)
        if not is_users:
            share_as_git_does(root, folder, shared)
        follow(str(root.musician_dir))
    made += _write_new(root, root.reports_dir / "README.md", _REPORTS_README)
    for name in ("README.md", "TEMPLATE.md"):
        text = (_INSTALLED / f"proposals-{name}").read_text(encoding="utf-8")
        made += _write_new(root, root.proposals_dir / name, text)
    return made


def _write_new(root: Root, path: Path, text: str) -> list[str]:
    """Write a file unless it exists; return the paths that were created."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return []
    return [str(path.relative_to(root.path))]


def network_warnings(database: Path, *, mounts: Iterable[tuple[str, str]] | None = None) -> list[str]:
    """Return warnings about the database's file system; ``mounts`` are as in :func:`is_network_filesystem`."""
    kind = is_network_filesystem(database, mounts=mounts)
    if kind is None:
        return []
    trouble = f"{database} is on a network file system ({kind}), where SQLite's locks are not reliable"
    return [f"{trouble}; use --db with a local path"]
