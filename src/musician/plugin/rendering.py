"""From the packaged templates to a folder that Claude Code reads: paths filled in, each file whole or not at all.

A template's ``{{name}}`` is a fact of this machine; ``{{name:shell}}`` is the same as one word of a shell, for what the
client starts through one. Facts are filled into the strings of a JSON document, not into its text, so that no quote,
dollar sign or letter of a path can change what a file says (B09). The client fills in ``${name}`` itself wherever a
program is named, and knows no way to escape it: an interpreter with that in its path is refused.

The interpreter is the one that ours was made from, not ours: it starts faster, and it is still there when somebody
has removed the virtual environment. What starts a hook looks whether there is anything to ask, and whether all is
there: a shell, which is on every machine and costs a millisecond. Rendering again writes only what is different and
removes what no longer belongs; sessions that run meanwhile find the old file or the new one.
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
from musician.plugin.places import Installation
from musician.processes.whole_file import write_whole
from musician.protocol.errors import TreeNotReady
from musician.protocol.values import dataclass

TEMPLATE = Path(__file__).parent / "template"
_PLACE = re.compile(r"\{\{([a-z_]+)(:shell)?\}\}")
_CONSTANT = re.compile(r"^(PACKAGES|VERSION)\b.*$", re.MULTILINE)
_UNWRITABLE = re.compile("[\\x00-\\x1f\\x7f\\ud800-\\udfff]")
"""Control characters, and bytes of a path that are no UTF-8: what JSON or a shell line cannot carry."""
_KEPT = ("installed.json",)
_NEEDED = ("musician", "apsw")
"""What a hook imports beside the standard library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginRuntime:
    """What of this machine runs the plugin. ``python`` runs the boot file, ``program_python`` the whole program.

    ``packages`` are the folders of what a hook imports, each within a folder of Python's search path.
    """

    python: str
    program_python: str
    packages: tuple[str, ...]
    version: str = __version__


def this_program() -> PluginRuntime:
    """The one that is running now."""
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
    """Make the folder; the files that were written, relative to it. :class:`TreeNotReady` if it cannot be."""
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
    """The files that are not as this program would write them."""
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
    """The template's files, relative to it."""
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
    """A JSON value with its facts; a name that is none is a defect of the template and raises KeyError."""
    match value:
        case str():
            return _PLACE.sub(
                lambda found: shell_word(facts[found[1]]) if found[2] else facts[found[1]], value
            )
        case list():
            return [_fill(each, facts) for each in value]
        case dict():
            return {key: _fill(each, facts) for key, each in value.items()}
    return value


def shell_word(text: str) -> str:
    """One word of a shell, in which the client finds no ``${name}`` to fill in either."""
    return shlex.quote(text).replace("${", "$''{")


def _write(path: Path, data: bytes) -> bool:
    """Whether it had to be written."""
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
    """Remove what an older version left."""
    for here, _, names in os.walk(folder, topdown=False):
        for name in names:
            if str(Path(here, name).relative_to(folder)) not in wanted:
                os.unlink(os.path.join(here, name))
        with suppress(OSError):  # not empty
            os.rmdir(here)
