"""Which programs git's configuration may make our own git calls run: those it named when a plan was locked (D31).

A clean filter runs when a file is committed, a merge driver when branches are merged; a step that configures one has it
run by the program, with the program's rights, on other tasks' work. What was not there at the lock is switched off for
each call by an option, which stands above every file.
"""

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from musician.trees.starting import played

TRUSTED = "trusted.json"
"""In ``.musician/``."""

_OUR_FOLDER = ".musician"

_PLAIN_MERGE = "git merge-file %A %O %B"
_CONFIG_TIME_LIMIT_S = 60.0


def distrusted(tree: Path, git_dir: Path | None) -> tuple[str, ...]:
    """Return the options that switch off what was configured since the lock; none if no plan was locked."""
    if git_dir is None:
        return ()
    common = common_dir_of(git_dir)
    for place in _places(tree, common):
        file = place / TRUSTED
        stamp = _stamp(file)
        if stamp is not None:
            return _options(file, stamp, _configured(common))
    return ()


def _places(tree: Path, common: Path) -> Iterator[Path]:
    """Yield where our own folder may be, seen from a tree of ours, the main tree, or another tree of the
    user's.
    """
    yield from (each for each in tree.parents if each.name == _OUR_FOLDER)
    yield tree / _OUR_FOLDER
    yield common.parent / _OUR_FOLDER


def common_dir_of(git_dir: Path) -> Path:
    """Return the git folder that all trees of a repository share."""
    try:
        said = os.fsdecode((git_dir / "commondir").read_bytes()).removesuffix("\n")
    except OSError:
        return git_dir
    return Path(os.path.normpath(git_dir / said))


def configured(common: Path) -> Mapping[str, tuple[str, ...]]:
    """Return all settings of the repository's own configuration, with includes."""
    return dict(_configured(common))


_Settings = tuple[tuple[str, tuple[str, ...]], ...]
_Stamp = tuple[int, int, int]

_known: dict[Path, tuple[dict[Path, _Stamp | None], _Settings]] = {}
"""What was read last, and how the files were that it stands in."""


def _configured(common: Path) -> _Settings:
    """Return the settings, read again only if one of the files has changed."""
    stamps, settings = _known.get(common, ({common / "config": None}, ()))
    now = {file: _stamp(file) for file in stamps}
    if now == stamps and common in _known:
        return settings
    while True:
        settings, files = _ask(common)
        if files <= now.keys():
            _known[common] = now, settings
            return settings
        # Known as they were before they are read: what is written meanwhile is seen the next time.
        now = {file: _stamp(file) for file in files}


def _ask(common: Path) -> tuple[_Settings, set[Path]]:
    """Return the settings, and the files that hold them or could hold some."""
    file = common / "config"
    asked = ["git", f"--git-dir={common}", "config", "--file", str(file), "--includes", "-z", "--list"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    _, listed, _ = played([*asked, "--show-origin"], env=environ, within_s=_CONFIG_TIME_LIMIT_S)
    found: dict[str, tuple[str, ...]] = {}
    files = {file}
    told = listed.split(b"\0")
    for origin, record in zip(told[::2], told[1::2], strict=False):
        key, value = (each.decode("utf-8", "backslashreplace") for each in record.partition(b"\n")[::2])
        found[key] = (*found.get(key, ()), value)
        inside = Path(os.fsdecode(origin.removeprefix(b"file:")))
        files.add(inside)
        if key.startswith(("include.", "includeif.")):
            files.add(inside.parent / os.path.expanduser(value))
    return tuple(found.items()), files


def _stamp(file: Path) -> _Stamp | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=64)
def _options(file: Path, _now: _Stamp, settings: _Settings) -> tuple[str, ...]:
    import json

    try:
        before = json.loads(file.read_text(encoding="utf-8"))["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return ()
    options: list[str] = []
    for key, values in settings:
        section, name = key.partition(".")[0], key.rpartition(".")[2]
        if list(values) == before.get(key) or "=" in key:  # no command-line option can set such a name
            continue
        was = before.get(key, [""])[-1]
        if (section, name) in {("filter", "clean"), ("filter", "smudge"), ("filter", "process")}:
            options += ["-c", f"{key}={was}"]
        elif (section, name) == ("filter", "required"):
            options += ["-c", f"{key}={was or 'false'}"]
        elif (section, name) == ("merge", "driver"):
            options += ["-c", f"{key}={was or _PLAIN_MERGE}"]
    return tuple(options)
