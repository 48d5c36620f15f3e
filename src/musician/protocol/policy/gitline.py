"""What one git command line would do of what a musician may not (D21, D43).

One table of git's subcommands says what each may do, by its options and words, abbreviated ones included. It knows no
repository, so that what git decides by looking (is this word a branch or a file?) counts as the worse of the two, where
a plainer way to write it exists. Reading is never refused. Texts that git would run as commands are given back as
scripts.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from musician.protocol.policy.forbidden import UNTOLD, Act
from musician.protocol.policy.shell import UNKNOWN

__all__ = ["GitLine", "read_git_line"]

_MOST_ALIASES_DEEP = 10
_VALUED_GLOBALS = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source", "--super-prefix"}
)
_PLACES = ("-C", "--git-dir", "--work-tree")
_PATTERN = frozenset("*?[")
_FILE = re.compile(r"[^/]\.[A-Za-z]\w*$")
_GUARD_KEYS = ("core.hookspath", "core.worktree", "core.bare", "include.path", "includeif.")
_RUNNING = frozenset({"difftool", "mergetool", "rebase", "submodule", "bisect", "filter-branch"})
_WRITING = frozenset(
    {"add", "commit", "merge", "cherry-pick", "revert", "am", "apply", "mv", "rm", "restore", "reset", "pull"}
)
_SHOWING_STASHES = frozenset({"list", "show"})


@dataclass(slots=True)
class GitLine:
    """``acts`` in the order found; ``untold``: the subcommand cannot be known. ``scripts`` are shell texts that git
    would run; ``aliases`` those that the line sets; ``places`` the folders it is sent to; ``writes`` whether it changes
    files, index or history there; ``files`` those it deletes or moves."""

    acts: list[Act] = field(default_factory=list)
    untold: bool = False
    scripts: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    writes: bool = False
    files: list[str] = field(default_factory=list)


def read_git_line(arguments: Sequence[str], aliases: Mapping[str, str]) -> GitLine:
    """What ``git`` with these arguments would do. ``aliases``: configured ones by their lower-case name."""
    line = GitLine()
    known = dict(aliases)
    rest = list(arguments)
    for _ in range(_MOST_ALIASES_DEEP):
        rest = _after_globals(rest, known, line)
        value = known.get(rest[0].lower()) if rest and rest[0] not in _VERBS else None
        if value is None:
            break
        if value.startswith("!"):
            line.scripts.append(" ".join([value[1:], *map(shlex.quote, rest[1:])]))
            return line
        rest = [*_split(value), *rest[1:]]
    if not rest or rest[1:] in (["-h"], ["--help"]):
        return line
    _read_verb(rest[0], rest[1:], line)
    return line


def _read_verb(name: str, rest: list[str], line: GitLine) -> None:
    if UNKNOWN in name or _PATTERN & set(name):
        line.acts, line.untold = list(UNTOLD), True
    elif name in _VERBS:
        line.acts += _VERBS[name].acts(rest)
    operands = _operands(rest)
    line.writes = name in _WRITING or (name == "stash" and not _SHOWING_STASHES & set(operands[:1]))
    if name in ("rm", "mv"):
        line.files = operands
    if name in _RUNNING:
        line.scripts += [argument for argument in rest if any(map(str.isspace, argument))]
    if name == "submodule" and "foreach" in rest:
        line.scripts.append(" ".join(a for a in rest[rest.index("foreach") + 1 :] if a != "--recursive"))
    elif name == "bisect" and rest[:1] == ["run"]:
        line.scripts.append(shlex.join(rest[1:]))
    elif name == "config":
        _configured(rest, line)


def _after_globals(arguments: list[str], known: dict[str, str], line: GitLine) -> list[str]:
    """What is left from the subcommand on; what stands before it is noted."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        option, _, value = arguments[at].partition("=")
        if option in _VALUED_GLOBALS and not value:
            at += 1
            value = arguments[at] if at < len(arguments) else ""
        if option == "-c":
            known |= _given(*value.partition("=")[::2], line)
        elif option == "--config-env":
            line.acts, line.untold = list(UNTOLD), True
        elif option in _PLACES and value:
            line.places.append(value)
        at += 1
    return arguments[at:]


def _given(key: str, value: str, line: GitLine) -> dict[str, str]:
    """One setting for this command alone: an alias, or what it may do. Any value may be a command."""
    if key.lower().startswith(_GUARD_KEYS):
        line.acts.append(Act.BOOKKEEPING)
    if key.lower().startswith("remote.") and _makes_branches(value):
        line.acts.append(Act.BRANCH)
    alias = _alias(key, value)
    if not alias and any(map(str.isspace, value)):
        line.scripts.append(value.removeprefix("!"))
    return alias


def _configured(rest: list[str], line: GitLine) -> None:
    """A setting that is written stays: an alias, or what has git ask."""
    valued = ("-f", "--file", "--blob", "--type", "--default")
    plain = [
        argument
        for before, argument in zip(["", *rest], rest, strict=False)
        if not argument.startswith("-") and before not in valued and argument not in ("set", "unset")
    ]
    takes_away = _has(rest, "--unset", "--unset-all") or "unset" in rest
    if plain and plain[0].lower().startswith(_GUARD_KEYS) and (len(plain) > 1 or takes_away):
        line.acts.append(Act.BOOKKEEPING)
    line.aliases = _alias(*plain[:2]) if len(plain) > 1 else {}


def _alias(key: str, value: str) -> dict[str, str]:
    section, _, name = key.partition(".")
    return {name.lower(): value} if section.lower() == "alias" and value else {}


def _split(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return [UNKNOWN]


# -- options --------------------------------------------------------------------------------------------------------


def _has(arguments: Iterable[str], *flags: str, valued: str = "") -> bool:
    """Whether one of the flags is given: in a cluster of short ones, which ends where one of the ``valued`` takes the
    rest of it, or as a long one that may be abbreviated."""
    for argument in arguments:
        if argument == "--":
            return False
        given = argument.partition("=")[0]
        if argument.startswith("--"):
            if len(given) > len("--x") and any(flag.startswith(given) for flag in flags):
                return True
        elif argument.startswith("-"):
            cluster = re.split(f"[{valued}]", argument)[0] if valued else argument
            if any(len(flag) == len("-x") and flag[1] in cluster[1:] for flag in flags):
                return True
    return False


def _operands(arguments: Iterable[str]) -> list[str]:
    return [argument for argument in arguments if not argument.startswith("-") or argument == "-"]


# -- subcommands ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verb:
    """What a subcommand may do. The first of these that applies decides: ``flags`` by which it acts; ``harmless`` ones;
    its first word (``words``; one that is unknown may be any of them); what ``judge`` says; that it is given any word
    at all (``operands``); and what it does ``always``."""

    flags: tuple[tuple[tuple[str, ...], Act], ...] = ()
    harmless: tuple[str, ...] = ()
    words: Mapping[str, Act] = field(default_factory=dict)
    judge: Callable[[list[str]], Act | None] | None = None
    operands: Act | None = None
    always: Act | None = None
    valued: str = ""

    def acts(self, arguments: list[str]) -> Iterable[Act]:
        for flags, act in self.flags:
            if _has(arguments, *flags, valued=self.valued):
                return (act,)
        if _has(arguments, *self.harmless, valued=self.valued):
            return ()
        words = _operands(arguments)
        first = words[0] if words else ""
        if self.words and UNKNOWN in first:
            return dict.fromkeys(self.words.values())
        judged = self.judge(arguments) if self.judge is not None else None
        found = self.words.get(first) or judged or (self.operands if words else None) or self.always
        return (found,) if found else ()


def _makes_branches(refspec: str) -> bool:
    target = refspec.rpartition(":")[2] if ":" in refspec else ""
    return bool(target) and not target.startswith("refs/remotes/") and "://" not in refspec


def _fetched(arguments: list[str]) -> Act | None:
    return Act.BRANCH if any(_makes_branches(refspec) for refspec in _operands(arguments)[1:]) else None


def _reset(arguments: list[str]) -> Act | None:
    """It moves the branch where it is given a commit and no path."""
    at = arguments.index("--") if "--" in arguments else None
    operands = _operands(arguments[:at])
    paths = arguments[at + 1 :] if at is not None else operands[1:]
    moves = operands[:1] not in ([], ["HEAD"], ["@"]) and not paths and not _FILE.search(operands[0])
    return Act.DISCARD if moves or any(UNKNOWN in operand for operand in operands) else None


def _removed(arguments: list[str]) -> Act | None:
    everything = {"", ".", "*", ":"}
    return Act.DISCARD if everything & {operand.rstrip("/") for operand in _operands(arguments)} else None


def _symbolic(arguments: list[str]) -> Act | None:
    return Act.BRANCH if len(_operands(arguments)) > 1 else None


_PUSH, _BRANCH, _DISCARD = (_Verb(always=act) for act in (Act.PUSH, Act.BRANCH, Act.DISCARD))
_DELETE = (("-d", "-D", "--delete"), Act.DISCARD)

_VERBS: Mapping[str, _Verb] = MappingProxyType(
    {
        **dict.fromkeys(("push", "send-pack", "http-push", "send-email", "imap-send"), _PUSH),
        "subtree": _Verb(words={"push": Act.PUSH, "split": Act.BRANCH}),
        "lfs": _Verb(words={"push": Act.PUSH}),
        "svn": _Verb(words={"dcommit": Act.PUSH}),
        "p4": _Verb(words={"submit": Act.PUSH}),
        "annex": _Verb(words={"push": Act.PUSH, "sync": Act.PUSH}),
        "branch": _Verb(
            flags=(_DELETE, (("-m", "-M", "-c", "-C", "-f", "--move", "--copy", "--force"), Act.BRANCH)),
            harmless=(
                *("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"),
                *("--show-current", "-u", "--set-upstream-to", "--unset-upstream", "--edit-description"),
            ),
            operands=Act.BRANCH,
        ),
        "checkout": _Verb(
            flags=(
                (("-b", "-B", "-t", "--orphan", "--track", "--detach"), Act.BRANCH),
                (("-f", "--force", "-p", "--patch"), Act.DISCARD),
            ),
            operands=Act.DISCARD,  # a word may be a file, whose changes would be lost
        ),
        "switch": _Verb(
            flags=(
                (("-f", "--force", "--discard-changes"), Act.DISCARD),
                (("-c", "-C", "-d", "--create", "--force-create", "--detach", "--orphan"), Act.BRANCH),
            ),
            operands=Act.BRANCH,
        ),
        "restore": _Verb(
            flags=((("-W", "--worktree"), Act.DISCARD),),
            harmless=("-S", "--staged"),
            operands=Act.DISCARD,
            valued="s",
        ),
        "reset": _Verb(flags=((("--hard", "--merge", "--keep"), Act.DISCARD),), judge=_reset),
        "clean": _Verb(
            flags=((("--no-dry-run",), Act.DISCARD),),
            harmless=("-n", "--dry-run"),
            always=Act.DISCARD,
            valued="e",
        ),
        "stash": _Verb(words={**dict.fromkeys(("drop", "clear", "pop"), Act.DISCARD), "branch": Act.BRANCH}),
        "worktree": _Verb(
            words={
                **dict.fromkeys(("add", "move"), Act.BRANCH),
                **dict.fromkeys(("remove", "prune"), Act.DISCARD),
            }
        ),
        "update-ref": _Verb(flags=((("-d", "--delete", "--stdin"), Act.DISCARD),), always=Act.BRANCH),
        "symbolic-ref": _Verb(flags=((("-d", "--delete"), Act.BRANCH),), judge=_symbolic),
        "fetch": _Verb(judge=_fetched),
        "pull": _Verb(flags=((("-r", "--rebase"), Act.DISCARD),), judge=_fetched),
        "rebase": _Verb(
            harmless=("--abort", "--quit", "--continue", "--skip", "--show-current-patch"), always=Act.DISCARD
        ),
        "apply": _Verb(flags=((("-R", "--reverse"), Act.DISCARD),), valued="pC"),
        "fast-import": _BRANCH,
        **dict.fromkeys(("filter-branch", "filter-repo", "checkout-index"), _DISCARD),
        "read-tree": _Verb(flags=((("-u", "--reset"), Act.DISCARD),)),
        "prune": _Verb(harmless=("-n", "--dry-run"), always=Act.DISCARD),
        "gc": _Verb(flags=((("--prune",), Act.DISCARD),)),
        "reflog": _Verb(words=dict.fromkeys(("expire", "delete"), Act.DISCARD)),
        "replace": _Verb(harmless=("-l", "--list"), always=Act.DISCARD),
        "rm": _Verb(harmless=("--cached", "-n", "--dry-run"), judge=_removed),
        "tag": _Verb(flags=(_DELETE, (("-f", "--force"), Act.DISCARD))),
    }
)
