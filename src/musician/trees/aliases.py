"""Git's configured aliases: what a command that names one would do can be known only with them."""

import subprocess
from collections.abc import Mapping

_WITHIN_S = 5.0


def git_aliases(cwd: str) -> Mapping[str, str]:
    """Return git's aliases by name; none if git is not installed. Raises :class:`TimeoutError` if git does
    not answer in time.
    """
    argv = ["git", "config", "--null", "--get-regexp", r"^alias\."]
    try:
        done = subprocess.run(
            argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=_WITHIN_S, check=False
        )
    except OSError:
        return {}
    except subprocess.TimeoutExpired as error:
        raise TimeoutError("git does not say what its aliases are") from error
    pairs = (
        record.partition("\n") for record in done.stdout.decode("utf-8", "replace").split("\0") if record
    )
    return {name.removeprefix("alias."): value for name, _, value in pairs}
