"""Finds the forbidden acts in one git command line (D21, D43).

A table of git's subcommands says what each may do, by its options and words, including abbreviated options. The
repository is not known here. So if git would look into it to decide (is this word a branch or a file?), the worse case
is assumed, provided there is a plainer way to write the command. Reading is never refused. Texts that git would run as
commands are returned as scripts.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from musician.protocol.policy.forbidden import UNTOLD, Act
from musician.protocol.policy.run import UNKNOWN
from musician.protocol.values import dataclass

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
    """Return what ``git`` would do with these arguments. ``aliases`` are the configured ones, by lower-case name."""
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
        decided = _VERBS[name].acts(rest)
        line.acts += _undecided(name, rest) if decided is None else decided
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
    """Return the words from the subcommand on, and note the global options before it."""
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

_TABLE = """
push send-pack http-push send-email imap-send | => push
subtree        | push => push | split => branch
lfs            | push => push
svn            | dcommit => push
p4             | submit => push
annex          | push sync => push
branch         | -d -D --delete => discard | -m -M -c -C -f --move --copy --force => branch
               | -l --list --contains --no-contains --merged --no-merged --points-at --show-current => -
               | -u --set-upstream-to --unset-upstream --edit-description => - | * => branch
checkout       | -b -B -t --orphan --track --detach => branch | * -f --force -p --patch => discard
switch         | -f --force --discard-changes => discard
               | * -c -C -d --create --force-create --detach --orphan => branch
restore (s)    | -W --worktree => discard | -S --staged => - | * => discard
reset          | --hard --merge --keep => discard
clean (e)      | --no-dry-run => discard | -n --dry-run => - | => discard
stash          | drop clear pop => discard | branch => branch
worktree       | add move => branch | remove prune => discard
update-ref     | -d --delete --stdin => discard | => branch
symbolic-ref   | -d --delete => branch
pull           | -r --rebase => discard
fetch          |
rebase         | --abort --quit --continue --skip --show-current-patch => - | => discard
apply (pC)     | -R --reverse => discard
fast-import    | => branch
filter-branch filter-repo checkout-index | => discard
read-tree      | -u --reset => discard
prune          | -n --dry-run => - | => discard
gc             | --prune => discard
reflog         | expire delete => discard
replace        | -l --list => - | => discard
rm             | --cached -n --dry-run => -
tag            | -d -f --delete --force => discard
"""
"""What each subcommand may do. Of a line's clauses the first that applies decides: by an option, by the first word
after the subcommand (one that is unknown may be any of them), by any word at all (``*``), or always. ``-`` is harmless.
In parentheses: short options that take the rest of their cluster. A word that may be a file is taken for a branch."""


@dataclass(frozen=True, slots=True)
class _Verb:
    clauses: tuple[tuple[frozenset[str], tuple[Act, ...]], ...]
    valued: str

    def acts(self, arguments: list[str]) -> tuple[Act, ...] | None:
        """None where no clause decides."""
        first = next(iter(_operands(arguments)), None)
        if first is not None and UNKNOWN in first:
            named = [acts for names, acts in self.clauses if any(name[0] not in "-*" for name in names)]
            if named:
                return tuple(dict.fromkeys(act for acts in named for act in acts))
        for names, acts in self.clauses:
            flags = [name for name in names if name.startswith("-")]
            is_given = first is not None and ("*" in names or first in names)
            if not names or is_given or _has(arguments, *flags, valued=self.valued):
                return acts
        return None


def _verbs(table: str) -> Iterator[tuple[str, _Verb]]:
    for line in table.replace("\n   ", "").strip().splitlines():
        head, *parts = line.split("|")
        names, _, valued = head.partition("(")
        clauses = [part.partition("=>")[::2] for part in parts if part.strip()]
        read = ((frozenset(said.split()), _ACTS[act.strip()]) for said, act in clauses)
        yield from dict.fromkeys(names.split(), _Verb(tuple(read), valued.strip(" )"))).items()


_ACTS = {"-": (), **{act.value: (act,) for act in UNTOLD}}
_VERBS = dict(_verbs(_TABLE))


def _makes_branches(refspec: str) -> bool:
    target = refspec.rpartition(":")[2] if ":" in refspec else ""
    return bool(target) and not target.startswith("refs/remotes/") and "://" not in refspec


def _resets(arguments: list[str]) -> bool:
    """It moves the branch where it is given a commit and no path."""
    at = arguments.index("--") if "--" in arguments else None
    operands = _operands(arguments[:at])
    paths = arguments[at + 1 :] if at is not None else operands[1:]
    moves = operands[:1] not in ([], ["HEAD"], ["@"]) and not paths and not _FILE.search(operands[0])
    return moves or any(UNKNOWN in operand for operand in operands)


def _undecided(name: str, arguments: list[str]) -> tuple[Act, ...]:
    """By more than one word."""
    operands = _operands(arguments)
    if name == "reset" and _resets(arguments):
        return (Act.DISCARD,)
    if name == "rm" and {"", ".", "*", ":"} & {operand.rstrip("/") for operand in operands}:
        return (Act.DISCARD,)
    if name == "symbolic-ref" and len(operands) > 1:
        return (Act.BRANCH,)
    if name in ("fetch", "pull") and any(map(_makes_branches, operands[1:])):
        return (Act.BRANCH,)
    return ()
