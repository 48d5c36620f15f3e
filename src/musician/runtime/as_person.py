"""The database for what the person at a surface decides, which bears his name."""

import os

from musician import service
from musician.processes.identity import login_name
from musician.project import Project
from musician.store.port import Store


def person_name() -> str:
    """Return the name that the person at a surface is known by, where a row says it in words."""
    return login_name()


def as_person(project: Project) -> Store:
    """Return the project's open database, signed. A client's session that gives a command in its shell speaks for the
    person, and is told apart.
    """
    is_client = bool(os.environ.get("CLAUDECODE"))
    signer = service.Signer(name=login_name(), session_id="of Claude Code" if is_client else None)
    return service.signed(project.store, signer)
