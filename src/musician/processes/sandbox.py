"""Confines programs: they may read this machine, except logins, and write only their own tree (D36).

A wall, where reading what a program is about to do is none: bubblewrap (``bwrap``) gives it file systems, processes
and, if wanted, a network of its own. Everything that ``spawn`` starts within :func:`confining` is behind it, so nobody
who starts a program has to think of it. What is the same for all stands here; what of a repository is open, its caller
says. Each path has one view, and the deepest path decides: so a folder is opened, and a part of it is not.

- A program's working folder can be written, but for git's pointer in it; so can a scratch folder of ours that it is
  told of, by its words or its environment.
- Temporary folders are its session's own. What lies in one and is named to the program can be read.
- ``/run`` is empty: sockets there lead out (a bus, a container's daemon). With the whole network, what names are looked
  up with is left. Where only some hosts may be reached, there is a ``gateway`` to them and no other way.
- Logins are hidden (``_LOGINS``), and so are the variables that lead to them.
- Its processes are a space of their own: it sees and ends no other, and all of it ends with the one that began it, at
  once and without a SIGTERM.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from enum import StrEnum
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from musician.processes.scratch import OWNER
from musician.protocol.values import dataclass

if TYPE_CHECKING:
    from musician.processes.gateway import Gateway

_PROBE_LIMIT_S = 10.0

_LOGINS = """
.ssh .aws .azure .gnupg .kube .docker .netrc .git-credentials .npmrc .yarnrc.yml .pypirc .pgpass .my.cnf .vault-token
.config/gh .config/glab-cli .config/hub .config/gcloud .config/git/credentials .config/rclone .config/op .config/pip
.cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml .gradle/gradle.properties
.terraform.d/credentials.tfrc.json .password-store .local/share/keyrings .mozilla .config/google-chrome .config/chromium
.claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json .local/share/opencode/auth.json
"""
"""Below a home: what logs in somewhere. An agent's own is shown to that agent."""

_LEADING = """
SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS DOCKER_HOST KUBECONFIG GH_TOKEN GITHUB_TOKEN
GITLAB_TOKEN NPM_TOKEN NODE_AUTH_TOKEN TWINE_PASSWORD CARGO_REGISTRY_TOKEN
"""
"""Variables with a login in them, or the way to one."""

_RESOLVING = ("/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf")
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - the names by which programs know them

_PROGRAMS = (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2])
"""Of our own, which git's hooks run."""

_SPACES = ("--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-drop", "ALL")


class View(StrEnum):
    HIDDEN = "hidden"
    READABLE = "readable"
    WRITABLE = "writable"
    OWN = "own"
    """The session's own folder stands in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """``views`` are those of the repository and the plan; they win over what is said above.

    ``temporary`` is the folder that is ``/tmp`` inside.
    """

    views: Mapping[Path, View]
    temporary: Path
    is_online: bool = True
    gateway: "Gateway | None" = None
    """Where ``is_online`` is not: the way to some hosts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """What a sandbox leaves a program of its own: paths, and the hosts that it cannot do without."""

    views: Mapping[Path, View] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()


_around: ContextVar[Sandbox | None] = ContextVar("sandbox", default=None)


@contextmanager
def confining(sandbox: Sandbox | None) -> Iterator[None]:
    """Confine the programs that start in this block, and in tasks that begin in it, by ``sandbox`` (None: not)."""
    before = _around.set(sandbox)
    try:
        yield
    finally:
        _around.reset(before)


@cache
def _bwrap() -> str | None:
    """As we find it: the program's own ``PATH`` is not asked."""
    return shutil.which("bwrap")


@cache
def why_no_sandbox() -> str:
    """Why there can be none on this machine, in a clause; "" where it works. Tried once; blocks."""
    program = _bwrap()
    if program is None:
        return "bubblewrap is not installed (`bwrap`; Linux only: apt-get install bubblewrap)"
    probe = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *_SPACES, "true"]
    try:
        tried = subprocess.run(probe, capture_output=True, check=False, timeout=_PROBE_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap does not start: {error}"
    said = tried.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    return "" if tried.returncode == 0 else f"bwrap is refused here: {''.join(said) or tried.returncode}"


def confined(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], keeps: Own | None = None
) -> Sequence[str]:
    """``argv`` behind the sandbox that is around us, or as it is.

    Whoever runs an agent says what that ``keeps``: its sessions, its login, its model.
    """
    sandbox = _around.get()
    if sandbox is None:
        return argv
    keeps = keeps or Own()
    views = _views(sandbox, argv, cwd, env) | _real(keeps.views)
    way_out: list[str] = []
    if sandbox.gateway is not None:
        sandbox.gateway.open_to(keeps.hosts)
        way_out, argv = sandbox.gateway.mounted(), sandbox.gateway.beside(argv)
    words = [
        *(_bwrap() or "bwrap", *_SPACES, *([] if sandbox.is_online else ["--unshare-net"])),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *_mounts(views, sandbox.temporary),
        *way_out,
        *(word for name in _LEADING.split() for word in ("--unsetenv", name)),
        *("--setenv", "TMPDIR", _TEMPORARY[0], "--chdir", os.path.realpath(cwd), "--", *argv),
    ]
    return words if sandbox.gateway is None else sandbox.gateway.kept_from_inside(words)


def _views(sandbox: Sandbox, argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> dict[Path, View]:
    resolving = _RESOLVING if sandbox.is_online else ()
    homes = {Path.home(), Path(env.get("HOME") or Path.home())}
    places = {Path(os.path.realpath(each)) for each in (*_TEMPORARY, gettempdir())}
    words = {
        part for text in (*argv, *env.values()) for part in text.split(os.pathsep) if part.startswith("/")
    }
    named = {
        Path(os.path.realpath(word)) for word in words if os.path.isdir(word) or os.path.isfile(word)
    } - places
    return {
        **_real({Path("/run"): View.HIDDEN, **dict.fromkeys(map(Path, resolving), View.READABLE)}),
        **dict.fromkeys(places, View.OWN),
        **_real(dict.fromkeys((*_PROGRAMS, *homes), View.READABLE)),
        **dict.fromkeys(named, View.READABLE),
        **{folder: View.WRITABLE for path in named for folder in _scratch_around(path, places)},
        **_real({home / each: View.HIDDEN for home in homes for each in _LOGINS.split()}),
        **_real({Path(cwd): View.WRITABLE, Path(cwd, ".git"): View.READABLE}),
        **_real(sandbox.views),
    }


def _scratch_around(path: Path, places: Collection[Path]) -> Iterator[Path]:
    """A scratch folder is known by its owner's file: anybody may have a folder of such a name."""
    return (each for each in (path, *path.parents) if each.parent in places and (each / OWNER).is_file())


def _real(views: Mapping[Path, View]) -> dict[Path, View]:
    """Bubblewrap follows no link."""
    return {Path(os.path.realpath(path)): view for path, view in views.items()}


def _mounts(views: Mapping[Path, View], temporary: Path) -> Iterator[str]:
    """Bubblewrap's words, outermost first. What is not there has no view; what is seen so already needs none."""
    for path in sorted(views, key=lambda each: len(each.parts)):
        view = views[path]
        around = next((views[each] for each in path.parents if each in views), View.READABLE)
        if not path.exists() or (view is around and view is not View.OWN):
            continue
        if view is View.OWN:
            yield from ("--bind", str(temporary), str(path))
        elif view is not View.HIDDEN:
            yield from ("--bind" if view is View.WRITABLE else "--ro-bind", str(path), str(path))
        elif path.is_dir():
            yield from ("--tmpfs", str(path))
        else:
            yield from ("--ro-bind", os.devnull, str(path))
