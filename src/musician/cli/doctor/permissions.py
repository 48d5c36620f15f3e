"""Checks of the files that a run writes: whether they are writable, who owns them, and who else has access."""

import os
import shlex
import stat
from collections.abc import Iterator

from musician.cli.context import App
from musician.cli.doctor.check import fail, ok, warn
from musician.plugin.check_result import CheckResult
from musician.trees.preconditions import written
from musician.trees.root import Root, is_shared


def everything(app: App) -> Iterator[CheckResult]:
    root = app.root
    wrong = [*_unwritable(root), *_foreign_access(root)]
    yield from wrong or [ok("everything a run writes is writable, and for nobody else")]


def _unwritable(root: Root) -> Iterator[CheckResult]:
    for path in written(root):
        how = "-R u+rwX" if path.is_dir() else "u+rw"
        status = path.stat()
        if not os.access(path, os.W_OK):
            whose = "" if status.st_uid == os.geteuid() else f"; it belongs to user {status.st_uid}"
            by_owner = "" if status.st_uid == os.geteuid() else "as its owner, "
            yield fail(f"{path} cannot be written{whose}", f"{by_owner}chmod {how} {shlex.quote(str(path))}")
        elif not status.st_mode & stat.S_IWUSR:
            yield warn(
                f"{path} is read-only for everybody but the superuser",
                f"chmod {how} {shlex.quote(str(path))}",
            )


def _foreign_access(root: Root) -> Iterator[CheckResult]:
    folder = root.musician_dir
    if not folder.is_dir():
        return
    shared, status = is_shared(root), folder.stat()
    if not shared and status.st_uid != os.geteuid():
        yield warn(
            f"{folder} belongs to user {status.st_uid}, and git does not share this repository",
            f"work as that user, or: sudo chown -R {os.geteuid()} {shlex.quote(str(folder))}",
        )
    elif not shared and status.st_mode & 0o077:
        yield warn(
            f"other users have access to {folder} and can hold its locks",
            "`musician init` restricts it to you",
        )
