"""Whether a musician's session may call a tool with this input (D21).

Theory. A tool call is judged by what it would do, not by how it is spelled: shell commands are read as a shell reads
them (:mod:`musician.protocol.policy.commands`), git command lines as git does
(:mod:`musician.protocol.policy.gitline`), and paths are compared after they are made absolute. What cannot be known
from the text counts as forbidden only where it is git's subcommand; a program that is run may still do anything, and
what it does through git is refused by git's own hooks. It knows no files and no database: the caller says where
things are, and which acts the conductor granted.

Reading is never refused.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import basename, dirname, join
from types import MappingProxyType

from musician.protocol.policy.commands import UNKNOWN, Run, resolved, runs_of
from musician.protocol.policy.forbidden import UNTOLD, Act, Refusal
from musician.protocol.policy.gitline import read_git_line
from musician.protocol.policy.glance import OWN_TOOLS
from musician.protocol.policy.shell import TooMuch

__all__ = ["Surroundings", "is_own_tool", "judge"]

_NO_GRANTS: frozenset[Act] = frozenset()
_NOTHING: Mapping[str, str] = MappingProxyType({})
_MOST_SHOWN = 120
_MOST_NESTED_SCRIPTS = 8

_WRITE_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_PATH_KEYS = re.compile(r"(?:^|_)(?:path|file|filename|destination|uri)$")
_READING_VERBS = re.compile(r"(?:^|_)(?:read|get|list|search|find|query|view|stat|grep|glob)(?:_|$)")
_MEMORY_FILES = frozenset({"memory.md", "claude.md", "claude.local.md"})
_MEMORY_SERVER = re.compile(r"mcp__(?:.*_)?memory(?:_.*)?__(?:create|add|delete|update|save|store)")
_BOOKS = re.compile(r"-(?:status|deviations|HANDOFF)$")
_DATABASE_COMPANIONS = ("", "-wal", "-shm", "-journal", "-gate")
_READING_SQL = re.compile(
    r"\s*(?:select\b|explain\b|\.(?:tables|schema|headers?|mode|width)\b)[^;]*;?\s*$", re.IGNORECASE
)
_REFS = re.compile(r"/\.git(?:/worktrees/[^/]+)?/(?:refs(?:/|$)|HEAD$|packed-refs$)")

_REMOTE_TOOLS: Mapping[str, Act] = MappingProxyType(
    {
        "push_files": Act.PUSH,
        "create_pull_request": Act.PUSH,
        "merge_pull_request": Act.PUSH,
        "create_or_update_file": Act.PUSH,
        "git_push": Act.PUSH,
        "create_branch": Act.BRANCH,
        "git_create_branch": Act.BRANCH,
        "git_checkout": Act.BRANCH,
    }
)
"""Tools of git's and the forges' servers, by what follows the server's name."""

_PUBLISHING: Mapping[str, frozenset[tuple[str, ...]]] = MappingProxyType(
    {
        "gh": frozenset({("pr", "create"), ("pr", "merge"), ("repo", "sync"), ("release", "create")}),
        "glab": frozenset({("mr", "create"), ("mr", "merge"), ("release", "create")}),
        "hub": frozenset({("push",), ("pull-request",), ("sync",)}),
        "jj": frozenset({("git", "push")}),
    }
)

_CONDUCTING: frozenset[tuple[str, ...]] = frozenset(
    {
        *((verb,) for verb in ("run", "send", "stop", "handoff")),
        *(("review", verb) for verb in ("approve", "reject", "fix")),
        *(("proposals", verb) for verb in ("accept", "reject", "merge")),
        *(("plan", verb) for verb in ("lock", "amend")),
        ("task", "add"),
    }
)
"""Verbs of this program that act as the conductor."""

_PLAINLY_GIT = frozenset(
    {"push", "send-pack", "branch", "checkout", "switch", "worktree", "stash", "update-ref", "filter-branch"}
)
_GUARDING = (
    *("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_CONFIG_PARAMETERS"),
    *("MUSICIAN_SESSION", "MUSICIAN_GIT_CONFIG_BEFORE"),
)
"""Variables by which git knows whom to ask before it pushes."""

_SETTING = frozenset({"export", "declare", "typeset", "readonly", "unset", "env"})

_PYTHON = re.compile(r"python[0-9.]*")
_WRITING_ALL = frozenset(
    {"tee", "rm", "unlink", "shred", "truncate", "mv", "ed", "ex", "vi", "vim", "nano", "sponge", "patch"}
)
_WRITING_LAST = frozenset({"cp", "install", "ln", "rsync"})
_WRITING_IN_PLACE = frozenset({"sed", "perl", "ruby", "gawk"})
_OUTPUT_OPTIONS = frozenset({"-o", "-O", "--output", "-t", "--target-directory"})
_DELETING = frozenset({"rm", "unlink", "shred", "mv"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where a tool call is made. Folders are absolute; ``tree`` is where the task is played, ``root`` the repository's
    main working tree. ``aliases``: git's configured ones; ``variables``: what is known of the environment."""

    cwd: str
    root: str
    tree: str
    database: str
    grants: frozenset[Act] = _NO_GRANTS
    aliases: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    variables: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


def is_own_tool(tool_name: str) -> bool:
    """Whether it is one of this project's tools, whose server checks what they may do."""
    return tool_name.startswith(OWN_TOOLS)


def judge(tool_name: str, tool_input: Mapping[str, object], where: Surroundings) -> Refusal | None:
    """The first act that is forbidden and not granted; None where the call may be made."""
    if is_own_tool(tool_name):
        return None
    found = _Judgement(where, dict(where.aliases)).of_tool(tool_name, tool_input)
    return next((refusal for refusal in found if refusal.act not in where.grants), None)


@dataclass(slots=True)
class _Judgement:
    """One call being judged; ``aliases`` grow with those the call itself sets."""

    where: Surroundings
    aliases: dict[str, str]
    depth: int = 0

    def of_tool(self, name: str, given: Mapping[str, object]) -> Iterator[Refusal]:
        yield from (Refusal(act=act, what=name) for act in _acts_of_name(name, given))
        command = given.get("command", given.get("cmd"))
        if isinstance(command, str):
            yield from self.of_script(command, self.where.cwd)
        if name in _WRITE_TOOLS or (
            name.startswith("mcp__") and not _READING_VERBS.search(name.rpartition("__")[2])
        ):
            for key, value in given.items():
                if _PATH_KEYS.search(key) and isinstance(value, str):
                    yield from self.of_path(value.removeprefix("file://"), self.where.cwd)

    # -- shell commands ---------------------------------------------------------------------------------------------

    def of_script(self, text: str, cwd: str) -> Iterator[Refusal]:
        self.depth += 1
        try:
            if self.depth > _MOST_NESTED_SCRIPTS:
                raise TooMuch
            runs = runs_of(text, cwd=cwd, variables=self.where.variables)
        except TooMuch:
            runs = ()
            yield from (Refusal(act=act, what=_shown(text.split()), untold=True) for act in UNTOLD)
        for run in runs:
            yield from self.of_run(run)
        self.depth -= 1

    def of_run(self, run: Run) -> Iterator[Refusal]:
        what = _shown((run.program, *run.arguments))
        for path in (*run.writes, *_written_by(run)):
            yield from self.of_path(path, run.cwd)
        if run.program in _DELETING:
            yield from (Refusal(act=act, what=what) for act in self.deleted_by(run))
        yield from (Refusal(act=act, what=what) for act in self.acts_of_program(run))
        arguments = _as_git(run)
        if arguments is None:
            return
        line = read_git_line(arguments, self.aliases)
        if run.program == UNKNOWN and (line.untold or not _is_plainly_git(arguments)):
            return
        yield from (Refusal(act=act, what=what, untold=line.untold) for act in line.acts)
        for script in line.scripts:
            yield from self.of_script(script, run.cwd)
        self.aliases |= line.aliases

    def acts_of_program(self, run: Run) -> Iterator[Act]:
        words = tuple(argument for argument in run.arguments if not argument.startswith("-"))
        if any(words[: len(verb)] == verb for verb in _PUBLISHING.get(run.program, ())):
            yield Act.PUSH
        own = _as_musician(run)
        if own is not None and any(own[: len(verb)] == verb for verb in _CONDUCTING):
            yield Act.CONDUCT
        if run.program.startswith("sqlite3") and not _only_reads(run.arguments):
            files = (word.removeprefix("file:").partition("?")[0] for word in words)
            if any(self.is_database(resolved(file, run.cwd)) for file in files):
                yield Act.BOOKKEEPING
        named = (*run.sets, *(run.arguments if run.program in _SETTING else ()))
        if any(name.startswith(_GUARDING) for name in named):
            yield Act.BOOKKEEPING  # what refuses a push is configured there

    # -- files ------------------------------------------------------------------------------------------------------

    def of_path(self, path: str, cwd: str) -> Iterator[Refusal]:
        act = self.act_of_writing(resolved(path, cwd))
        if act is not None:
            yield Refusal(act=act, what=f"writing {path.replace(UNKNOWN, '…')}")

    def act_of_writing(self, path: str) -> Act | None:
        if basename(path).lower() in _MEMORY_FILES:
            return Act.MEMORY
        if self.is_database(path) or self.is_private(path):
            return Act.BOOKKEEPING
        if basename(dirname(path)) == "temp" and _BOOKS.search(basename(path)):
            return Act.BOOKKEEPING
        return Act.BRANCH if _REFS.search(path) else None

    def is_database(self, path: str) -> bool:
        return path in {self.where.database + suffix for suffix in _DATABASE_COMPANIONS}

    def is_private(self, path: str) -> bool:
        """In ``.musician/``, but not in one of the trees that lie there."""
        for top in (self.where.root, self.where.tree):
            private = join(top, ".musician")
            if _within(path, private) and not path.startswith(join(private, "trees") + "/"):
                return True
        return False

    def deleted_by(self, run: Run) -> Iterator[Act]:
        """What is lost with a folder: all that lies in it."""
        for path in _operands(run.arguments)[: None if run.program != "mv" else -1]:
            target = resolved(path.removesuffix("/*") if path.endswith("/*") else path, run.cwd)
            target = run.cwd if path in ("*", ".*") else target
            if any(_within(top, target) for top in (self.where.root, self.where.tree)) or _is_git_dir(target):
                yield Act.DISCARD
            elif _within(self.where.database, target):
                yield Act.BOOKKEEPING


def _acts_of_name(name: str, given: Mapping[str, object]) -> Iterator[Act]:
    """What a tool does whatever its input is, or by a plain field of it."""
    last = name.rpartition("__")[2]
    if name == "AskUserQuestion":
        yield Act.ASK_USER
    if name.startswith("mcp__") and last.startswith("ingest_"):
        yield Act.INGEST
    if _MEMORY_SERVER.match(name):
        yield Act.MEMORY
    if name == "EnterWorktree" or (name in ("Agent", "Task") and given.get("isolation") == "worktree"):
        yield Act.BRANCH
    if name.startswith("mcp__") and last in _REMOTE_TOOLS:
        yield _REMOTE_TOOLS[last]


def _as_git(run: Run) -> list[str] | None:
    """The arguments of git that a run means; None if it is another program."""
    if run.program in ("git", UNKNOWN):
        return list(run.arguments)
    if run.program.startswith("git-"):
        return [run.program.removeprefix("git-"), *run.arguments]
    return None


def _is_plainly_git(arguments: Sequence[str]) -> bool:
    """Whether words after an unknown program speak of git: ``$MAKE clean`` does not."""
    return arguments[:1] != [] and (arguments[0] in _PLAINLY_GIT or "--hard" in arguments)


def _as_musician(run: Run) -> tuple[str, ...] | None:
    """The words of this program's command that a run means."""
    arguments = list(run.arguments)
    if _PYTHON.fullmatch(run.program) and "-m" in arguments[:-1]:
        arguments = arguments[arguments.index("-m") + 1 :]
        name = arguments.pop(0)
    else:
        name = run.program
    if name != "musician":
        return None
    if arguments[:1] == ["--db"]:
        arguments = arguments[2:]
    return tuple(argument for argument in arguments if not argument.startswith("-"))


def _written_by(run: Run) -> Iterator[str]:
    """The files that a program's own arguments have it write."""
    words = _operands(run.arguments)
    if run.program in _WRITING_ALL or (run.program in _WRITING_IN_PLACE and _in_place(run.arguments)):
        yield from words
    if run.program in _WRITING_LAST | {"mv"} and words:
        # into a folder the file keeps its name; a folder is told by how it is written
        is_folder = words[-1].endswith("/") or basename(words[-1]) in ("", ".", "..", UNKNOWN)
        yield from [join(words[-1], basename(source)) for source in words[:-1]] if is_folder else words[-1:]
    if run.program == "git" and words[:1] in (["rm"], ["mv"]):
        yield from words[1:]
    if run.program == "dd":
        yield from (word.removeprefix("of=") for word in words if word.startswith("of="))
    for option, value in zip(run.arguments, run.arguments[1:], strict=False):
        if option in _OUTPUT_OPTIONS and run.program not in ("git", "sqlite3"):
            yield value


def _in_place(arguments: Iterable[str]) -> bool:
    return any(
        argument.startswith("--in-place") or re.match(r"-[A-Za-z]*i", argument) for argument in arguments
    )


def _operands(arguments: Iterable[str]) -> list[str]:
    return [argument for argument in arguments if not argument.startswith("-")]


def _only_reads(arguments: Sequence[str]) -> bool:
    """Whether a ``sqlite3`` shell is called so that it cannot write, or only with queries."""
    if "-readonly" in arguments or any("mode=ro" in argument for argument in arguments):
        return True
    statements = _operands(arguments)[1:]
    return bool(statements) and all(_READING_SQL.match(statement) for statement in statements)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_git_dir(path: str) -> bool:
    """``.git`` or something in it, but not one of the locks that a crash leaves."""
    return "/.git/" in path + "/" and not path.endswith(".lock")


def _shown(words: Iterable[str]) -> str:
    text = " ".join(words).replace(UNKNOWN, "…").replace("\n", " ")
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"
