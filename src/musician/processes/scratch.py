"""Scratch folders, and the removal of those whose process was killed.

A process that is killed cannot tidy up after itself. So each folder says whose it is, and the next run removes the
folders whose owner is known to be dead: exactly that process ran on this host and does not any more. Whatever does not
say so readably, is another user's or another host's, or may run in another pid namespace, is left alone.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from musician.processes.identity import (
    ProcessIdentity,
    host_name,
    identify,
    is_running,
    is_same_boot,
    is_same_machine,
)

PREFIX = "musician-"
OWNER = ".owner.json"
"""In each folder: the identity of its process."""
_MOST_OWNER_BYTES = 4096


class ScratchFolder(TemporaryDirectory[str]):
    """A temporary folder of this process, removed with the context or by ``cleanup``; OSError if it cannot be made."""

    def __init__(self, purpose: str) -> None:
        super().__init__(prefix=f"{PREFIX}{purpose}-", ignore_cleanup_errors=True)
        owner = json.dumps(asdict(identify(os.getpid())))
        (Path(self.name) / OWNER).write_text(owner, encoding="ascii")


def sweep_scratch() -> tuple[str, ...]:
    """Remove the scratch folders of dead processes; their names. Never raises for one that cannot be removed."""
    gone = []
    for folder in _ours(Path(gettempdir())):
        owner = _owner_of(folder)
        if owner is not None and _is_dead(owner):
            shutil.rmtree(folder, ignore_errors=True)
            gone.append(folder.name)
    return tuple(gone)


def _ours(place: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            is_folder = entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False)
            if is_folder and entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                yield Path(entry.path)


def _owner_of(folder: Path) -> ProcessIdentity | None:
    try:
        with (folder / OWNER).open("rb") as file:
            return ProcessIdentity(**json.loads(file.read(_MOST_OWNER_BYTES)))
    except (OSError, ValueError, TypeError):
        return None


def _is_dead(owner: ProcessIdentity) -> bool:
    if is_same_machine(owner):
        return not is_running(owner)
    return owner.host == host_name() and not is_same_boot(owner)
