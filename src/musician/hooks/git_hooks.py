"""Git's own hooks for a session's shell: what no reader of commands can see, a script that pushes, ends here (D21).

``core.hooksPath`` in the environment of the session's commands names a folder of ours. Each hook in it first asks
:mod:`musician.hooks.git_guard`, where that could refuse something, and then runs the user's own hook of that name,
found as git would find it without us. Nothing in the repository's configuration changes; other sessions, the user's
terminal and this program's own git (which takes no ``GIT_*`` along) never meet it.

It cannot see ``git push --no-verify`` in a script, nor a program that clears its environment. ``url.*.pushInsteadOf``
with a remote helper of ours was tried against the first and left: it does not hold for a remote with a ``pushurl``,
shows in ``git remote -v`` and to the user's own hooks, and would carry every push of every session here, for the
environment of a session is made before anybody knows whether it will be a musician's.
"""

import os
import sys

from musician.hooks.environment import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from musician.hooks.hook_context import HookContext

HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit"),
    *(
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "pre-rebase",
        "post-checkout",
        "post-merge",
        "pre-push",
    ),
    *("post-rewrite", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-index-change"),
    *("sendemail-validate", "pre-receive", "update", "proc-receive", "post-receive", "post-update"),
)
"""Every hook that git runs from ``core.hooksPath``: one that is missing there would silence the user's own."""

_BEFORE = "MUSICIAN_GIT_CONFIG_BEFORE"
_GUARD = "guard"
_MOST_CONFIGURED = 1000

_CHAIN = """\
own=$(GIT_CONFIG_COUNT="${MUSICIAN_GIT_CONFIG_BEFORE:-0}" git rev-parse --git-path hooks)/${0##*/}
"""
_PLAIN = _CHAIN + '[ ! -x "$own" ] || exec "$own" "$@"\n'
_PRE_PUSH = '"${0%/*}/guard" push </dev/null || exit 1\n' + _PLAIN
_REFS = (
    """\
said=$(cat)
case $1.$said in
prepared.*refs/heads/* | prepared.*000000000000000*refs/stash* | prepared.*000000000000000*refs/tags/*)
  printf '%s\\n' "$said" | "${0%/*}/guard" refs || exit 1 ;;
esac
"""
    + _CHAIN
    + '[ ! -x "$own" ] || { printf \'%s\\n\' "$said" | "$own" "$@"; }\n'
)
_OWN = {"pre-push": _PRE_PUSH, "reference-transaction": _REFS}


def prepare(context: "HookContext", environ: "Mapping[str, str]" = os.environ) -> "dict[str, str]":
    """Make the folder, and what has git look there; nothing where there is no repository. OSError if it cannot."""
    if context.tree is None:
        return {}
    folder = os.path.join(context.tree, ".musician", "git-hooks")
    _write(folder)
    counted = environ.get("GIT_CONFIG_COUNT", "0")
    before = int(counted) if counted.isascii() and counted.isdigit() else 0
    if environ.get(f"GIT_CONFIG_VALUE_{before - 1}") == folder or before > _MOST_CONFIGURED:
        return {}  # set already: this is a session within a session's shell
    return {
        "GIT_CONFIG_COUNT": str(before + 1),
        f"GIT_CONFIG_KEY_{before}": "core.hooksPath",
        f"GIT_CONFIG_VALUE_{before}": folder,
        _BEFORE: str(before),
    }


def _write(folder: str) -> None:
    """Each file whole, and only where it differs: other sessions may be running it."""
    os.makedirs(folder, exist_ok=True)
    for name, text in {_GUARD: _guard(), **{hook: _OWN.get(hook, _PLAIN) for hook in HOOKS}}.items():
        path = os.path.join(folder, name)
        script = "#!/bin/sh\n" + text
        if _read(path) == script:
            continue
        fresh = f"{path}.{os.getpid()}"
        with open(fresh, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(script)
        os.chmod(fresh, 0o755)  # noqa: S103  # git runs no other
        os.replace(fresh, path)


def _read(path: str) -> "str | None":
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return None


def _guard() -> str:
    """Starts the guard as the plugin starts a hook: no site, no environment, and only where all of it is there."""
    import apsw

    import musician

    packages = [os.path.dirname(os.path.abspath(str(module.__file__))) for module in (musician, apsw)]
    paths = [os.path.dirname(package) for package in packages]
    needed = " ".join(map(quoted, (sys.executable, *packages)))
    code = (
        f"import sys; sys.path[:0] = {paths!r}; "
        "from musician.hooks.git_guard import main; sys.exit(main(sys.argv[1:]))"
    )
    gone = "{ echo 'musician is gone: git asks nobody' >&2; exit 0; }"
    tried = f'for each in {needed}; do [ -x "$each" ] || {gone}; done\n'
    return tried + f'exec {quoted(sys.executable)} -I -S -X utf8 -c {quoted(code)} "$@"\n'
