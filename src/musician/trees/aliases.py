"""Git's configured aliases: what a command that names one would do can be known only with them."""

import subprocess
from collections.abc import Mapping

from musician.trees.starting import played

_WITHIN_S = 5.0


def git_aliases(cwd: str) -> Mapping[str, str]:
    """Return git's aliases by name; none if git is not installed. Raises :class:`TimeoutError` if git does
    not answer in time.
    """
    argv = ["git", "config", "--null", "--get-regexp", r"^alias\."]
    try:
        _, listed, _ = played(argv, cwd=cwd, within_s=_WITHIN_S)
    except OSError:
        return {}
    except subprocess.TimeoutExpired as error:
        raise TimeoutError("git does not say what its aliases are") from error
    pairs = (record.partition("\n") for record in listed.decode("utf-8", "replace").split("\0") if record)
    return {name.removeprefix("alias."): value for name, _, value in pairs}
