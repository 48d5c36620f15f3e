"""Renders the packaged templates into a folder that Claude Code reads. Each file is written whole or not at all.

``{{name}}`` in a template is replaced by a fact of this machine, ``{{name:shell}}`` by the same fact quoted for a
shell. In JSON, facts are filled into the parsed strings and not into the text, so no quote or dollar sign of a path can
change the meaning of a file (B09). The client expands ``${name}`` in every command and offers no escape for it, so an
interpreter with that in its path is refused.

The interpreter is the base interpreter of our virtual environment: it starts faster, and it still exists when the
environment has been removed. A hook is started through a shell script, because a shell is on every machine and costs a
millisecond: the script checks whether there is anything to ask, and whether all files exist. Rendering again writes
only files that differ and removes those that no longer belong. Running sessions find either the old file or the new.
"""

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from musician import __version__
from musician.plugin.scopes import Installation
from musician.processes.whole_file import write_whole
from musician.protocol.errors import TreeNotReady
from musician.protocol.values import dataclass

TEMPLATE = Path(__file__).parent / "template"
_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)(:shell)?\}\}")
_CONSTANT = re.compile(r"^(PACKAGES|VERSION)\b.*$", re.MULTILINE)
_UNWRITABLE = re.compile("[\\x00-\\x1f\\x7f\\ud800-\\udfff]")
"""Control characters, and bytes of a path that are not UTF-8: neither JSON nor a shell line can hold them."""
_KEPT = ("installed.json",)
_NEEDED = ("musician", "apsw")
"""The packages that a hook imports beside the standard library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginRuntime:
    """The programs and folders of this machine that run the plugin.

    ``python`` runs the boot file, ``program_python`` the command line. ``packages`` are the folders of the packages
    that a hook imports.
    """

    python: str
    program_python: str
    packages: tuple[str, ...]
    version: str = __version__


def this_program() -> PluginRuntime:
    """Return the runtime of the program that is running now."""
    own = os.path.abspath(sys.executable)
    base = os.path.abspath(getattr(sys, "_base_executable", None) or own)
    return PluginRuntime(
        python=os.path.realpath(base) if os.access(base, os.X_OK) else own,
        program_python=own,
        packages=tuple(map(_folder_of, _NEEDED)),
    )


def _folder_of(name: str) -> str:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise TreeNotReady(
            reason=f"{name} is not importable from files", paths=(), remedy="install Musician with pip"
        )
    return os.path.dirname(os.path.abspath(spec.origin))


def render(installation: Installation, program: PluginRuntime) -> tuple[str, ...]:
    """Write the folder and return the files that were written, relative to it.

    Raises :class:`TreeNotReady` if it cannot be written.
    """
    wanted = _wanted(installation, program)
    try:
        written = tuple(path for path, data in wanted.items() if _write(installation.folder / path, data))
        _sweep(installation.folder, {*wanted, *_KEPT})
    except OSError as error:
        raise TreeNotReady(
            reason=f"the plugin cannot be written there ({error.strerror})",
            paths=(str(installation.folder),),
            remedy="make the folder writable",
        ) from error
    return written


def outdated(installation: Installation, program: PluginRuntime) -> tuple[str, ...]:
    """Return the files that differ from what this program would write."""
    wanted = _wanted(installation, program)
    return tuple(path for path, data in wanted.items() if not _has(installation.folder / path, data))


def _wanted(installation: Installation, program: PluginRuntime) -> dict[str, bytes]:
    facts = {
        "python": program.python,
        "needed": " ".join(map(shell_word, (program.python, *program.packages))),
        "program_python": program.program_python,
        "boot": str(installation.plugin / "boot.py"),
        "version": program.version,
        "marketplace": installation.marketplace,
    }
    for text in (*facts.values(), *program.packages):
        if _UNWRITABLE.search(text) or ("${" in text and text in (program.python, program.program_python)):
            raise TreeNotReady(
                reason="a path that no settings can hold", paths=(ascii(text),), remedy="install elsewhere"
            )
    return {path: _filled(TEMPLATE / path, facts, program) for path in _files()}


def _files() -> Iterator[str]:
    """Yield the template's files, relative to its folder."""
    for folder, folders, names in os.walk(TEMPLATE):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            yield str(Path(folder, name).relative_to(TEMPLATE))


def _filled(path: Path, facts: Mapping[str, str], program: PluginRuntime) -> bytes:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return (json.dumps(_fill(json.loads(text), facts), ensure_ascii=False, indent=1) + "\n").encode()
    if path.suffix == ".sh":
        text = str(_fill(text, facts))
    if path.name == "boot.py":
        constants = {"PACKAGES": program.packages, "VERSION": program.version}
        text = _CONSTANT.sub(lambda found: f"{found[1]} = {constants[found[1]]!a}", text)
    return text.encode()


def _fill(value: Any, facts: Mapping[str, str]) -> Any:
    """Fill the facts into a JSON value. An unknown name is a defect of the template and raises KeyError."""
    match value:
        case str():
            return _PLACEHOLDER.sub(
                lambda found: shell_word(facts[found[1]]) if found[2] else facts[found[1]], value
            )
        case list():
            return [_fill(each, facts) for each in value]
        case dict():
            return {key: _fill(each, facts) for key, each in value.items()}
    return value


def shell_word(text: str) -> str:
    """Quote ``text`` for a shell, and so that the client finds no ``${name}`` in it to expand."""
    return shlex.quote(text).replace("${", "$''{")


def _write(path: Path, data: bytes) -> bool:
    """Write the file if it differs; return whether it did."""
    if _has(path, data):
        return False
    write_whole(path, data)
    return True


def _has(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except FileNotFoundError:
        return False


def _sweep(folder: Path, wanted: set[str]) -> None:
    """Remove the files that an older version left."""
    for here, _, names in os.walk(folder, topdown=False):
        for name in names:
            if str(Path(here, name).relative_to(folder)) not in wanted:
                os.unlink(os.path.join(here, name))
        with suppress(OSError):  # not empty
            os.rmdir(here)
