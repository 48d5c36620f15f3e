"""Command lines of programs that publish or conduct, by their verbs (D21, D34)."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from musician.protocol.policy.listed import listed
from musician.protocol.policy.places import Surroundings
from musician.protocol.policy.shell import UNKNOWN, Run

__all__ = ["PUBLISHERS", "claude", "forge", "musician", "publishes"]

PUBLISHERS = listed("""
    buildah bun bunx cargo conda docker dotnet flit gem gradle hatch helm jj lerna mvn npm npx nuget pdm pnpm podman
    poetry twine uv yarn
    """)
_PUBLISHING = frozenset({"deprecate", "dist-tag", "publish", "unpublish", "push", "upload", "yank"})
_DEPLOYING = frozenset(
    {"cdk", "firebase", "fly", "flyctl", "gradle", "mvn", "netlify", "serverless", "vercel", "wrangler"}
)
_OTHERS_WORDS = frozenset({"exec", "run", "search", "test", "x"})
"""After these come words that are not the program's own."""

_LOOKING = listed("""
    browse checks clone completion diff download help issues list log logs search show status version view watch
    """)
_VALUED = frozenset({"-R", "--repo", "--hostname", "-H", "--db", "--session"})
_METHOD = re.compile(r"(?:^| )(?:-X|--method)[ =]?(\w+)")
_SENDING = ("-f", "-F", "--field", "--raw-field", "--input")

_CONDUCTING: frozenset[tuple[str, ...]] = frozenset(
    {
        *((verb,) for verb in ("run", "send", "stop", "handoff", "work", "worker", "init", "clean")),
        *(("review", verb) for verb in ("approve", "reject", "fix")),
        *(("proposals", verb) for verb in ("accept", "reject", "merge")),
        *(("plan", verb) for verb in ("lock", "amend", "archive", "restore", "drop")),
        *(("task", verb) for verb in ("add", "withdraw")),
        *(("plugin", verb) for verb in ("install", "uninstall")),
    }
)
"""Verbs of this program that act as the conductor, or set it up."""

_ACTING = listed("""
    agent ask checkpoint claim complete correction deviation error execute exit heartbeat inbox propose release
    self-correction step wait
    """)
"""Verbs by which a musician acts on its task: a subagent has none (D34)."""

_CLIENT: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("plugin", "plugins"),
            listed("disable enable install marketplace remove uninstall update"),
        ),
        "mcp": frozenset({"add", "add-json", "remove", "reset-project-choices"}),
        "config": frozenset({"add", "remove", "set"}),
    }
)


def publishes(program: str, arguments: Sequence[str]) -> bool:
    """Whether a program publishes by its verb: whatever it is, a first word like these means the same."""
    words = _words(arguments)
    if program in (UNKNOWN, "git") or (words[:1] and words[0] in _OTHERS_WORDS):
        return False
    most = 2 if program in PUBLISHERS else 1
    is_sent = program in PUBLISHERS and "--push" in arguments
    is_sent |= program in ("gradle", "gradlew") and any(word.startswith("publish") for word in words)
    return is_sent or bool(_PUBLISHING & set(words[:most])) or (program in _DEPLOYING and "deploy" in words)


def forge(arguments: Sequence[str]) -> bool:
    """Whether a forge's program does more than look."""
    words = _words(arguments)
    if words[:1] == ["api"]:
        text = " ".join(arguments)
        if method := _METHOD.search(text):
            return method[1].upper() != "GET"
        sends = any(argument.startswith(_SENDING) for argument in arguments)
        return sends and ("graphql" not in words or "mutation" in text)
    return bool(words) and "--help" not in arguments and not _LOOKING & set(words[:2]) and words[0] != "auth"


def claude(arguments: Sequence[str]) -> bool:
    """Whether the client's program changes its settings."""
    words = _words(arguments)
    return len(words) > 1 and words[1] in _CLIENT.get(words[0], ())


def musician(run: Run, where: Surroundings) -> bool:
    """Whether this program is asked to conduct, or to act as somebody else."""
    words = tuple(_words(run.arguments))
    options = dict(pairwise(run.arguments))
    named = (
        *(value for name, value in options.items() if name == "--session"),
        *(word.partition("=")[2] for word in run.arguments if word.startswith("--session=")),
    )
    if where.session and any(UNKNOWN not in name and name != where.session for name in named):
        return True
    if "--help" in run.arguments or ("--dry-run" in run.arguments and words[:1] == ("clean",)):
        return False
    conducts = any(words[: len(verb)] == verb for verb in _CONDUCTING)
    return conducts or (where.is_subagent and words[:1] != () and words[0] in _ACTING)


def _words(arguments: Sequence[str]) -> list[str]:
    """Without options, and without the values of those that stand before a verb."""
    pairs = zip(("", *arguments), arguments, strict=False)
    return [word for before, word in pairs if not word.startswith("-") and before not in _VALUED]
