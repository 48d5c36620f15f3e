"""How a file is named in a command that a person is told to give."""

import shlex


def as_argument(path: str) -> str:
    """Return a path as a shell's word: quoted where it has to be, and never taken for an option.

    A name that cannot be shown as it is (a line end, bytes that are no text) becomes bash's ``$'…'``.
    """
    path = f"./{path}" if path.startswith("-") else path
    return shlex.quote(path) if path.isprintable() else f"$'{''.join(map(_escaped, path))}'"


def _escaped(char: str) -> str:
    if char.isprintable() and char not in "\\'":
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
