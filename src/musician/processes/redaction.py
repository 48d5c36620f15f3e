"""Keeping secrets out of what is written down: the values of variables that are named like one, and what looks like a
token wherever it comes from.

It is a net, not a wall: what somebody encodes, or takes apart, passes. A text is looked at before it is cut.
"""

import re
from collections.abc import Iterator, Mapping

LEAST_SECRET_CHARS = 8
"""A shorter value cannot be told from an ordinary word."""

_WORDS = r"(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|AUTH)S?"
_NAMED = re.compile(rf"(?:^|_){_WORDS}(?:_|\d|$)", re.IGNORECASE)
_PLACES = ("/", "~", "./", "../")
"""How a value begins that says where something is: ``SSH_AUTH_SOCK``, ``KEY_FILE``."""

_KEY_BEGINS = "-----BEGIN [A-Z ]*PRIVATE KEY-----"
_KEY_ENDS = "-----END [A-Z ]*PRIVATE KEY-----"
_OPEN_KEY = re.compile(rf"{_KEY_BEGINS}(?!.*{_KEY_ENDS})", re.DOTALL)
_KINDS = re.compile(
    rf"(?P<private_key>{_KEY_BEGINS}.*?(?:{_KEY_ENDS}|\Z))"
    r"|(?P<token>\b(?:sk-[\w-]{20,}|gh[oprsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_\w{30,}"
    r"|pypi-[\w-]{40,}|xox[abeoprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z\d]{16}|AIza[\w-]{30,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}))"
    r"|(?P<password>(?<=://)[^\s/:@]*:[^\s/@]+(?=@))"
    r"|\b(?P<bearer>[Bb]earer\s+)[\w.~+/=-]{16,}"
    rf"|\b(?P<name>(?:[A-Z\d]+_)*{_WORDS}(?:_[A-Z\d]+)*=[\"']?)(?!\[)[^\s\"']{{{LEAST_SECRET_CHARS},}}",
    re.DOTALL,
)


class Redactor:
    """Text in, text without the secrets out: in the place of each stands what it is."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._names = {value: name for name, value in _secrets(env)}
        longest_first = sorted(self._names, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def __call__(self, text: str) -> str:
        named = self._values.sub(lambda found: f"[{self._names[found[0]]}]", text)
        return _KINDS.sub(_replaced, named)


def is_cut(text: str) -> bool:
    """Whether a private key has begun in it that is not at its end."""
    return _OPEN_KEY.search(text) is not None


def _replaced(found: re.Match[str]) -> str:
    kind = found.lastgroup or ""
    kept = found[kind] if kind in ("bearer", "name") else ""
    return f"{kept}[{'a secret' if kept else kind.replace('_', ' ')}]"


def _secrets(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each line of a value: what prints a key of several lines prints them one by one."""
    for name, value in env.items():
        if _NAMED.search(name) and not value.startswith(_PLACES):
            for line in value.splitlines():
                if len(line.strip()) >= LEAST_SECRET_CHARS:
                    yield name, line.strip()
