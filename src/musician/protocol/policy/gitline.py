"""What one git command line would do of what a musician may not (D21).

Knows git's subcommands and options, abbreviated ones included; knows no repository, so that what git decides by looking
(is this word a branch or a file?) counts as the worse of the two, where a plainer way to write it exists. Reading is
never refused. Commands that a git command runs in its turn are given back as scripts.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from musician.protocol.policy.commands import UNKNOWN
from musician.protocol.policy.forbidden import UNTOLD, Act

__all__ = ["GitLine", "read_git_line"]

_MOST_ALIASES_DEEP = 10
_VALUED_GLOBALS = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source", "--super-prefix"}
)
_PATTERN = frozenset("*?[")


@dataclass(slots=True)
class GitLine:
    """``acts`` in the order found; ``untold``: the subcommand cannot be known. ``scripts`` are shell texts that git
    would run; ``aliases`` those that the line sets."""

    acts: list[Act] = field(default_factory=list)
    untold: bool = False
    scripts: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)


def read_git_line(arguments: Sequence[str], aliases: Mapping[str, str]) -> GitLine:
    """What ``git`` with these arguments would do. ``aliases``: configured ones by their lower-case name."""
    line = GitLine()
    known = dict(aliases)
    rest = list(arguments)
    for _ in range(_MOST_ALIASES_DEEP):
        rest, given = _after_globals(rest)
        known |= given
        value = known.get(rest[0].lower()) if rest and rest[0] not in _READERS else None
        if value is None:
            break
        if value.startswith("!"):
            line.scripts.append(" ".join([value[1:], *map(shlex.quote, rest[1:])]))
            return line
        rest = [*_split(value), *rest[1:]]
    if not rest or rest[1:] in (["-h"], ["--help"]):
        return line
    name, rest = rest[0], rest[1:]
    if UNKNOWN in name or _PATTERN & set(name):
        line.acts, line.untold = list(UNTOLD), True
    elif name in _READERS:
        line.acts = list(_READERS[name](rest))
    _look_through(name, rest, line)
    return line


def _after_globals(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    """What is left from the subcommand on, and the aliases that ``-c`` sets."""
    given: dict[str, str] = {}
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        if arguments[at] == "-c" and arguments[at + 1 : at + 2]:
            given |= _alias(*arguments[at + 1].partition("=")[::2])
        at += 2 if arguments[at] in _VALUED_GLOBALS else 1
    return arguments[at:], given


def _alias(key: str, value: str) -> dict[str, str]:
    section, _, name = key.partition(".")
    return {name.lower(): value} if section.lower() == "alias" and value else {}


def _split(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return [UNKNOWN]


def _look_through(name: str, rest: list[str], line: GitLine) -> None:
    """Commands that this subcommand runs, and aliases that it sets."""
    if name == "submodule" and "foreach" in rest:
        line.scripts.append(" ".join(a for a in rest[rest.index("foreach") + 1 :] if a != "--recursive"))
    elif name == "bisect" and rest[:1] == ["run"]:
        line.scripts.append(shlex.join(rest[1:]))
    elif name == "config":
        plain = [argument for argument in rest if not argument.startswith("-") and argument != "set"]
        line.aliases = _alias(*plain[:2]) if len(plain) > 1 else {}


# -- options --------------------------------------------------------------------------------------------------------


def _has(arguments: Iterable[str], *flags: str) -> bool:
    """Whether one of the flags is given: in a cluster of short ones, or as a long one that may be abbreviated."""
    for argument in arguments:
        if argument == "--":
            return False
        given = argument.partition("=")[0]
        if argument.startswith("--"):
            if len(given) > len("--x") and any(flag.startswith(given) for flag in flags):
                return True
        elif argument.startswith("-") and any(
            len(flag) == len("-x") and flag[1] in argument[1:] for flag in flags
        ):
            return True
    return False


def _operands(arguments: Iterable[str]) -> list[str]:
    return [argument for argument in arguments if not argument.startswith("-")]


# -- subcommands ----------------------------------------------------------------------------------------------------


def _always(*acts: Act) -> Callable[[list[str]], Iterator[Act]]:
    def read(arguments: list[str]) -> Iterator[Act]:  # noqa: ARG001
        yield from acts

    return read


def _first(**acts: Act) -> Callable[[list[str]], Iterator[Act]]:
    """Decided by the word after the subcommand; one that is unknown may be any of them."""

    def read(arguments: list[str]) -> Iterator[Act]:
        word = next(iter(_operands(arguments)), "")
        if UNKNOWN in word:
            yield from dict.fromkeys(acts.values())
        elif word in acts:
            yield acts[word]

    return read


def _when(act: Act, *flags: str) -> Callable[[list[str]], Iterator[Act]]:
    def read(arguments: list[str]) -> Iterator[Act]:
        if _has(arguments, *flags):
            yield act

    return read


_LOOKING_AT_BRANCHES = (
    *(
        "-l",
        "--list",
        "--contains",
        "--no-contains",
        "--merged",
        "--no-merged",
        "--points-at",
        "--show-current",
    ),
    *("-u", "--set-upstream-to", "--unset-upstream", "--edit-description"),
)


def _branch(arguments: list[str]) -> Iterator[Act]:
    if _has(arguments, "-d", "-D", "--delete"):
        yield Act.DISCARD
    elif _has(arguments, "-m", "-M", "-c", "-C", "--move", "--copy"):
        yield Act.BRANCH
    elif _has(arguments, *_LOOKING_AT_BRANCHES):
        return
    elif _operands(arguments):
        yield Act.BRANCH


def _checkout(arguments: list[str]) -> Iterator[Act]:
    if _has(arguments, "-b", "-B", "-t", "--orphan", "--track", "--detach"):
        yield Act.BRANCH
    elif arguments:
        yield Act.DISCARD  # a word may be a file, whose changes would be lost


def _switch(arguments: list[str]) -> Iterator[Act]:
    if _has(arguments, "-f", "--force", "--discard-changes"):
        yield Act.DISCARD
    if arguments:
        yield Act.BRANCH


def _restore(arguments: list[str]) -> Iterator[Act]:
    if arguments and not (_has(arguments, "-S", "--staged") and not _has(arguments, "-W", "--worktree")):
        yield Act.DISCARD


def _reset(arguments: list[str]) -> Iterator[Act]:
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    operands = _operands(before)
    moves = len(operands) == 1 and operands[0] not in ("HEAD", "@") and "--" not in arguments
    may_move = any(UNKNOWN in operand for operand in operands)
    if _has(arguments, "--hard", "--merge", "--keep") or moves or may_move:
        yield Act.DISCARD


def _clean(arguments: list[str]) -> Iterator[Act]:
    if not _has(arguments, "-n", "--dry-run"):
        yield Act.DISCARD


def _update_ref(arguments: list[str]) -> Iterator[Act]:
    yield Act.DISCARD if _has(arguments, "-d", "--delete", "--stdin") else Act.BRANCH


def _symbolic_ref(arguments: list[str]) -> Iterator[Act]:
    if _has(arguments, "-d", "--delete") or len(_operands(arguments)) > 1:
        yield Act.BRANCH


def _fetch(arguments: list[str]) -> Iterator[Act]:
    if any(
        target
        for _, _, target in (
            refspec.rpartition(":") for refspec in _operands(arguments)[1:] if ":" in refspec
        )
    ):
        yield Act.BRANCH


def _pull(arguments: list[str]) -> Iterator[Act]:
    yield from _fetch(arguments)
    if _has(arguments, "-r", "--rebase"):
        yield Act.DISCARD


def _rebase(arguments: list[str]) -> Iterator[Act]:
    if not _has(arguments, "--abort", "--quit", "--continue", "--skip", "--show-current-patch"):
        yield Act.DISCARD


def _rm(arguments: list[str]) -> Iterator[Act]:
    if {"", ".", "*", ":"} & {operand.rstrip("/") for operand in _operands(arguments)}:
        yield Act.DISCARD


def _gc(arguments: list[str]) -> Iterator[Act]:
    if any(argument.startswith("--prune") for argument in arguments):
        yield Act.DISCARD


_READERS: Mapping[str, Callable[[list[str]], Iterator[Act]]] = MappingProxyType(
    {
        "push": _always(Act.PUSH),
        "send-pack": _always(Act.PUSH),
        "http-push": _always(Act.PUSH),
        "subtree": _first(push=Act.PUSH, split=Act.BRANCH),
        "lfs": _first(push=Act.PUSH),
        "svn": _first(dcommit=Act.PUSH),
        "p4": _first(submit=Act.PUSH),
        "annex": _first(push=Act.PUSH, sync=Act.PUSH),
        "branch": _branch,
        "checkout": _checkout,
        "switch": _switch,
        "restore": _restore,
        "reset": _reset,
        "clean": _clean,
        "stash": _first(drop=Act.DISCARD, clear=Act.DISCARD, branch=Act.BRANCH),
        "worktree": _first(add=Act.BRANCH, move=Act.BRANCH, remove=Act.DISCARD, prune=Act.DISCARD),
        "update-ref": _update_ref,
        "symbolic-ref": _symbolic_ref,
        "fetch": _fetch,
        "pull": _pull,
        "rebase": _rebase,
        "fast-import": _always(Act.BRANCH),
        "filter-branch": _always(Act.DISCARD),
        "filter-repo": _always(Act.DISCARD),
        "checkout-index": _always(Act.DISCARD),
        "read-tree": _when(Act.DISCARD, "-u", "--reset"),
        "prune": _clean,
        "gc": _gc,
        "reflog": _first(expire=Act.DISCARD, delete=Act.DISCARD),
        "replace": _always(Act.DISCARD),
        "rm": _rm,
        "tag": _when(Act.DISCARD, "-d", "--delete"),
    }
)
