"""How this program runs Python: on nothing but what it was installed with.

Whoever works on a project stands in it, and may have it on ``PYTHONPATH``. A ``click.py`` or ``types.py`` there is for
the project's own programs: in ours it would be run with our rights, and in place of what we mean. So every Python of
ours is started by :func:`own_python`, and the first one, which the user starts, lets go of his path before it imports
anything of others. What an agent, a test or a set-up runs is the project's own, and gets the environment as it is.
"""

import os
import sys

_OPTIONS = ("-E", "-P", "-X", "utf8")
"""No ``PYTHON…`` variables, no folder one stands in. Unlike ``-I`` it finds an installation for one user."""


def own_python(*arguments: str) -> list[str]:
    """The command that runs ``arguments`` with our own interpreter and packages, wherever it is started."""
    return [sys.executable, *_OPTIONS, *arguments]


def install_extra(extra: str) -> str:
    """The command that installs what an extra needs for this program. A plain `pip` may be another Python's."""
    import shlex  # of a message: what starts fast has no need of it

    return f"{shlex.quote(sys.executable)} -m pip install 'musician[{extra}]'"


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


def leave_users_path() -> None:
    """Take what the user's folder and environment have put there from this process's search path."""
    if not sys.flags.safe_path and sys.path[:1] in ([""], [_folder()]):  # by ``python -m musician``
        del sys.path[0]
    theirs = {os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each}
    if not theirs or sys.flags.ignore_environment:
        return
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) not in theirs]
    if here in theirs:  # where we were found ourselves; everything else goes before it
        sys.path.append(here)
