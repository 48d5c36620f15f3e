"""The configuration and hooks that all working trees of a repository share besides its commits (D31).

A step's `git config`, `git remote add` or a package's own hook set-up lands in the user's repository and stays there.
So what it was when the plan was locked is written down in ``.musician/``; what is not so any more is
told after the piece, with the command that takes it back, and the program's git runs no filter and no merge driver that
came since (``trust.py``).
"""

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from musician.protocol.values import dataclass
from musician.trees.root import Root
from musician.trees.trust import TRUSTED, configured

_MISSING: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """``settings`` are all values of each key, ``hooks`` the digest of each file in the repository's hooks folder."""

    settings: Mapping[str, tuple[str, ...]]
    hooks: Mapping[str, str]


def _read(root: Root) -> _Shared:
    folder = root.git_dir / "hooks"
    hooks = {
        path.name: _digest(path) for path in sorted(folder.glob("*")) if not path.name.endswith(".sample")
    }
    return _Shared(settings=configured(root.git_dir), hooks=hooks)


def trust_what_is_there(root: Root) -> None:
    """Record the present configuration as the user's own, at the lock of a plan."""
    shared = _read(root)
    file = root.musician_dir / TRUSTED
    new = file.with_name(TRUSTED + ".new")
    new.write_text(json.dumps({"settings": shared.settings, "hooks": shared.hooks}), encoding="utf-8")
    new.replace(file)


def since_the_lock(root: Root) -> tuple[str, ...]:
    """Return what has changed since a plan was last locked, each with the command that takes it back."""
    try:
        read = json.loads((root.musician_dir / TRUSTED).read_text(encoding="utf-8"))
        before = _Shared(
            settings={key: tuple(values) for key, values in read["settings"].items()}, hooks=read["hooks"]
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ()
    after = _read(root)
    settings = _in_settings(root, before.settings, after.settings)
    return (*settings, *_in_hooks(root, before.hooks, after.hooks))


def _in_settings(
    root: Root, before: Mapping[str, tuple[str, ...]], after: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    git = f"git -C {shlex.quote(str(root.path))}"
    remotes = {key.split(".")[1] for key in after.keys() - before.keys() if key.startswith("remote.")}
    for name in sorted(remotes - {key.split(".")[1] for key in before if key.startswith("remote.")}):
        yield f"a git remote was added: {name}. Undo it with: {git} remote remove {shlex.quote(name)}"
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key, _MISSING), after.get(key, _MISSING)
        if was == now or (key.startswith("remote.") and key.split(".")[1] in remotes):
            continue
        undo = [f"config --unset-all {shlex.quote(key)}"] if now else []
        undo += [f"config --add {shlex.quote(key)} {shlex.quote(value)}" for value in was]
        said = f"is {', '.join(now)} now" if now else "is gone"
        commands = " && ".join(f"{git} {each}" for each in undo)
        yield f"git's configuration of your repository was changed: {key} {said}. Undo it with: {commands}"


def _in_hooks(root: Root, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        path = shlex.quote(str(root.git_dir / "hooks" / name))
        if name not in before:
            yield f"a git hook was added to your repository: {name}. Undo it with: rm {path}"
        elif before[name] != after.get(name):
            what = "changed" if name in after else "removed"
            yield f"the git hook {name} of your repository was {what}: look at {path}"


def _digest(path: Path) -> str:
    try:
        content = path.read_bytes() if path.is_file() else bytes(str(path.is_symlink()), "ascii")
        return hashlib.sha256(content).hexdigest() + f" {path.stat().st_mode & 0o111:o}"
    except OSError:
        return "unreadable"
