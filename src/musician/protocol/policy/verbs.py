"""Command lines of programs that publish or conduct, by their verbs (D21, D34)."""

import re
from collections.abc import Sequence
from itertools import takewhile

from musician.protocol.policy.listed import listed
from musician.protocol.policy.paths import Surroundings
from musician.protocol.policy.run import UNKNOWN, Run

PUBLISHERS = listed("""
    buildah bun bunx cargo conda docker dotnet flit gem gradle hatch helm jj kubectl lerna mvn npm npx nuget pdm pnpm
    podman poetry terraform twine uv yarn
    """)
_PUBLISHING = frozenset({"deprecate", "dist-tag", "publish", "unpublish", "push", "upload", "yank"})
_DEPLOYING = frozenset(
    {"cdk", "firebase", "fly", "flyctl", "gradle", "mvn", "netlify", "serverless", "vercel", "wrangler"}
)
_OTHERS_WORDS = frozenset({"exec", "run", "search", "test", "x"})
"""After these come words that are not the program's own."""

_ROLLING_OUT = """
cargo: release
goreleaser: release
helm: install rollback uninstall upgrade
kubectl: apply create delete edit patch replace scale set
rollout: pause restart resume undo
pulumi: destroy up
terraform: apply destroy import
tofu: apply destroy import
"""
"""Verbs that publish, or change what runs for others."""
_RELEASERS = frozenset({"release-it", "semantic-release"})
"""Programs that publish without a verb."""
_SCRIPTS = frozenset({"deploy", "publish", "release"})
"""Scripts of a package that say by their names that they publish."""
_SCRIPTED = frozenset({"bun", "npm", "pnpm", "yarn"})

_LOOKING = listed("""
    browse checks clone completion diff download help issues list log logs search show status version view watch
    """)
_VALUED = frozenset({"-R", "--repo", "--hostname", "-H", "--db", "--session"})
_METHOD = re.compile(r"(?:^| )(?:-X|--method)[ =]?(\w+)")
_SENDING = ("-f", "-F", "--field", "--raw-field", "--input")

_CONDUCTING = """
run send stop handoff work worker init clean attach dashboard top hook mcp
review: approve reject fix checkout open comment comments
proposals: accept reject merge
plan: lock amend pause resume archive restore drop
task: add retry skip
plugin: install uninstall
"""
"""Verbs of this program that act as the conductor or a client, hand out a person's key, or set it up."""

_SESSION = re.compile(r"--session[ =](\S+)")
_ACTING = listed("""
    agent ask checkpoint claim complete correction deviation error execute exit heartbeat inbox propose release
    self-correction step wait
    """)
"""Verbs by which a musician acts on its task: a subagent has none (D34)."""

_CLIENT = """
plugin: disable enable install marketplace remove uninstall update
plugins: disable enable install marketplace remove uninstall update
mcp: add add-json remove reset-project-choices
config: add remove set
"""
"""Those of the client's program that change its settings."""


def publishes(program: str, arguments: Sequence[str]) -> bool:
    """Whether a program publishes by its verb: whatever it is, a first word like these means the same."""
    words = _words(arguments)
    if _releases(program, words) and not any(word.startswith("--dry-run") for word in arguments):
        return True
    if program in (UNKNOWN, "git") or (words[:1] and words[0] in _OTHERS_WORDS):
        return False
    most = 2 if program in PUBLISHERS else 1
    is_sent = program in PUBLISHERS and "--push" in arguments
    is_sent |= program in ("gradle", "gradlew") and any(word.startswith("publish") for word in words)
    return is_sent or bool(_PUBLISHING & set(words[:most])) or (program in _DEPLOYING and "deploy" in words)


def _releases(program: str, words: Sequence[str]) -> bool:
    """Whether it does so by a word that says this of this program alone."""
    if program in _SCRIPTED and words[:1] in (["run"], ["run-script"]):
        return not _SCRIPTS.isdisjoint(words[1:2])
    if program in ("npx", "bunx") or (program in _SCRIPTED and words[:1] in (["exec"], ["dlx"], ["x"])):
        return not _RELEASERS.isdisjoint(word.partition("@")[0] for word in words[:2])
    if program == "yarn" and words[:1] in (["release"], ["deploy"]):
        return True
    pairs = ([program, *words[:1]], [program, *words[1:2]], words[:2], words[1:3])
    return program in _RELEASERS or any(_is_listed(pair, _ROLLING_OUT) for pair in pairs)


def forge(arguments: Sequence[str]) -> bool:
    """Whether a forge's program does more than look."""
    words = _words(arguments)
    if words[:1] == ["api"]:
        text = " ".join(arguments)
        if method := _METHOD.search(text):
            return method[1].upper() != "GET"
        sends = any(argument.startswith(_SENDING) for argument in arguments)
        return sends and ("graphql" not in words or "mutation" in text)
    return (
        bool(words) and not _asks_for_help(arguments) and not _LOOKING & set(words[:2]) and words[0] != "auth"
    )


def claude(arguments: Sequence[str]) -> bool:
    """Whether the client's program changes its settings."""
    return _is_listed(_words(arguments), _CLIENT)


def publishes_task(arguments: Sequence[str]) -> bool:
    """Whether this program is asked to publish a task's work."""
    words = _words(arguments)
    is_created = words[:1] == ["pr"] and "--create" in arguments
    return (words[:1] == ["push"] or is_created) and not _asks_for_help(arguments)


def musician(run: Run, where: Surroundings) -> bool:
    """Whether this program is asked to conduct, or to act as somebody else."""
    words = _words(run.arguments)
    named = _SESSION.findall(" ".join(run.arguments)) if where.session else []
    if any(UNKNOWN not in name and name != where.session for name in named):
        return True
    if _asks_for_help(run.arguments) or ("--dry-run" in run.arguments and words[:1] == ["clean"]):
        return False
    return _is_listed(words, _CONDUCTING) or (where.is_subagent and not _ACTING.isdisjoint(words[:1]))


def _asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether nothing but words comes before ``--help``: after ``--`` or an option it may be a text or a value."""
    before = takewhile("--help".__ne__, arguments)
    return "--help" in arguments and not any(word.startswith("-") for word in before)


def _is_listed(words: Sequence[str], table: str) -> bool:
    """Whether a command's first word, or its first two, stand in a table of verbs."""
    for row in table.splitlines():
        group, _, said = row.rpartition(":")
        verb = words[1:2] if group else words[:1]
        if group in ("", *words[:1]) and not set(said.split()).isdisjoint(verb):
            return True
    return False


def _words(arguments: Sequence[str]) -> list[str]:
    """Without options, and without the values of those that stand before a verb."""
    pairs = zip(("", *arguments), arguments, strict=False)
    return [word for before, word in pairs if not word.startswith("-") and before not in _VALUED]
