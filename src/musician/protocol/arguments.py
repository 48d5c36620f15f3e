"""How a file is named in a command that a person is told to give."""

import shlex


def as_argument(path: str) -> str:
    """Return a path as a shell's word: quoted where it has to be, and never taken for an option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)
