"""Which programs git's configuration may make our own git calls run: those it named when a plan was locked (D31).

A clean filter runs when a file is committed, a merge driver when branches are merged; a step that configures one has it
run by the program, with the program's rights, on other tasks' work. What was not there at the lock is switched off for
each call by an option, which stands above every file.
"""

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

TRUSTED = "trusted.json"
"""In ``.musician/``."""

_OUR_FOLDER = ".musician"

_PLAIN_MERGE = "git merge-file %A %O %B"
_CONFIG_TIME_LIMIT_S = 60.0


def distrusted(tree: Path, git_dir: Path | None) -> tuple[str, ...]:
    """The options that switch off what was configured since; none where no plan was locked."""
    if git_dir is None:
        return ()
    common = common_dir_of(git_dir)
    for place in _places(tree, common):
        try:
            stamp = tuple(file.stat().st_mtime_ns for file in (place / TRUSTED, common / "config"))
        except OSError:
            continue
        return _options(common, place, stamp)
    return ()


def _places(tree: Path, common: Path) -> Iterator[Path]:
    """Where our own folder may be, seen from a tree of ours, from the main tree, or from another of the user's."""
    yield from (each for each in tree.parents if each.name == _OUR_FOLDER)
    yield tree / _OUR_FOLDER
    yield common.parent / _OUR_FOLDER


def common_dir_of(git_dir: Path) -> Path:
    """The git folder that all trees of a repository share."""
    try:
        said = os.fsdecode((git_dir / "commondir").read_bytes()).removesuffix("\n")
    except OSError:
        return git_dir
    return Path(os.path.normpath(git_dir / said))


def configured(common: Path) -> Mapping[str, tuple[str, ...]]:
    """All that the repository's own configuration says, includes followed."""
    asked = [
        "git",
        f"--git-dir={common}",
        "config",
        "--file",
        str(common / "config"),
        "--includes",
        "-z",
        "--list",
    ]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    import subprocess

    done = subprocess.run(
        asked, capture_output=True, cwd="/", env=environ, timeout=_CONFIG_TIME_LIMIT_S, check=False
    )
    found: dict[str, tuple[str, ...]] = {}
    for record in done.stdout.decode("utf-8", "backslashreplace").split("\0"):
        key, _, value = record.partition("\n")
        if key:
            found[key] = (*found.get(key, ()), value)
    return found


@lru_cache(maxsize=64)
def _options(common: Path, place: Path, _stamp: tuple[int, ...]) -> tuple[str, ...]:
    import json

    try:
        before = json.loads((place / TRUSTED).read_text(encoding="utf-8"))["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return ()
    options: list[str] = []
    for key, values in configured(common).items():
        section, name = key.partition(".")[0], key.rpartition(".")[2]
        if list(values) == before.get(key) or "=" in key:  # which no option can name
            continue
        was = before.get(key, [""])[-1]
        if (section, name) in {("filter", "clean"), ("filter", "smudge"), ("filter", "process")}:
            options += ["-c", f"{key}={was}"]
        elif (section, name) == ("filter", "required"):
            options += ["-c", f"{key}={was or 'false'}"]
        elif (section, name) == ("merge", "driver"):
            options += ["-c", f"{key}={was or _PLAIN_MERGE}"]
    return tuple(options)
