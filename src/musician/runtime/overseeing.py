"""What a person sees who oversees a whole project, on whatever surface: the look of this moment.

The fold itself is ``reporting/overview.py``; here it is asked with what this machine knows of owners and of the run.
"""

import os

from musician.processes.machine import Machine
from musician.project import Project
from musician.protocol.errors import DatabaseUnusable
from musician.reporting.overview import Overview, overview_of
from musician.reporting.owners import owners_for
from musician.reporting.run_at_work import is_conducted
from musician.store.port import Store
from musician.trees.git import Git
from musician.trees.root import Root


def check_database(store: Store) -> None:
    """Raise :class:`DatabaseUnusable` if the open database is no longer the one that other programs open."""
    if not store.is_there():
        raise DatabaseUnusable(
            path=store.name,
            kind="gone",
            detail="it was moved, replaced or deleted while this program had it open",
            remedy="put it back, or start this command again",
        )


def look(project: Project, machine: Machine) -> Overview:
    """Return the look of this moment; :class:`DatabaseUnusable`. Blocks."""
    root, store, settings = project.root, project.store, project.settings
    check_database(store)
    return overview_of(
        store,
        is_conducted=is_conducted(root, store, settings),
        owner_of=owners_for(root, settings, machine),
    )


def branch_of(root: Root) -> str:
    """Return the branch that is checked out, "no branch" if none is."""
    done = Git(root.path).run("symbolic-ref", "--quiet", "--short", "HEAD", accept=(0, 1, 128))
    return os.fsdecode(done.stdout).strip() or "no branch"
