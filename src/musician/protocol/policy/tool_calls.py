"""Decides whether a musician's session may call a tool with a given input (D21, D43).

Theory. A tool call is judged by what it would do and not by its spelling. Shell commands are read as a shell reads them
(:mod:`musician.protocol.policy.shell`), programs by a few rules (:mod:`musician.protocol.policy.programs`), git command
lines as git does (:mod:`musician.protocol.policy.gitline`), and paths by their place
(:mod:`musician.protocol.policy.paths`). Reading text keeps honest models from accidents, but it is not a security
boundary; git's own hooks refuse what a program does through git. Files and the database are not known here: the caller
says where things are, and which acts the conductor has granted.

Reading is never refused. A call that is too large to read, or on which the reader fails, is refused; nothing is raised.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from musician.protocol.policy.forbidden import UNTOLD, Act, Refusal
from musician.protocol.policy.gitline import read_git_line
from musician.protocol.policy.paths import Surroundings, is_free, is_outside, writing
from musician.protocol.policy.prescreen import OWN_TOOLS
from musician.protocol.policy.programs import acts_of, as_module, is_fed, passed_on
from musician.protocol.policy.run import UNKNOWN, Run, resolved
from musician.protocol.policy.servers import acts_of_server, commands_in, is_looking, paths_in
from musician.protocol.policy.shell import MOST_CHARACTERS, TooMuch, parameters, runs_of
from musician.protocol.values import dataclass

_MOST_SHOWN = 120
_MOST_NESTED = 8

_WRITE_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_ASKING = frozenset({"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"})
_ELSEWHERE = frozenset({"EnterWorktree", "ExitWorktree"})
_GUARDING = (
    *("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_CONFIG_PARAMETERS"),
    *("MUSICIAN_SESSION", "MUSICIAN_GIT_CONFIG_BEFORE"),
)
"""Variables by which git knows whom to ask before it pushes."""
_READING_VARIABLES = frozenset({"echo", "grep", "printenv", "rg", "test", "["})
_CLEARING = frozenset({"-", "-i", "--ignore-environment"})
_OF_A_REPOSITORY = frozenset({Act.BRANCH, Act.DISCARD})
"""Acts of git's that are nobody's business in a repository that lies in a temporary folder."""
_GIT_PLACES = ("GIT_DIR=", "GIT_WORK_TREE=")
_PLAINLY_GIT = frozenset(
    {"push", "send-pack", "branch", "checkout", "switch", "worktree", "stash", "update-ref", "filter-branch"}
)


def is_own_tool(tool_name: str) -> bool:
    """Whether it is one of this project's tools, whose server checks what they may do."""
    return tool_name.startswith(OWN_TOOLS)


def judge(tool_name: str, tool_input: Mapping[str, object], where: Surroundings) -> Refusal | None:
    """The first act that is forbidden and not granted; None where the call may be made."""
    if is_own_tool(tool_name):
        return None
    found: Iterable[Refusal] = _Judgement(where, dict(where.aliases)).of_tool(tool_name, tool_input)
    try:
        return next((refusal for refusal in found if refusal.act not in where.grants), None)
    except Exception as error:
        # a call on which the reader fails is as unknown as one that is too long for it
        unread = _untold(f"{tool_name} (its reader failed: {type(error).__name__})")
        return next((refusal for refusal in unread if refusal.act not in where.grants), None)


@dataclass(slots=True)
class _Judgement:
    """One call being judged; ``aliases`` grow with those the call itself sets."""

    where: Surroundings
    aliases: dict[str, str]
    depth: int = 0
    characters: int = 0

    def of_tool(self, name: str, given: Mapping[str, object]) -> Iterator[Refusal]:
        is_served = name.startswith("mcp__")
        acts = acts_of_server(name, given) if is_served else _acts_of_client(name, given)
        yield from (Refusal(act=act, what=name) for act in acts)
        for command in commands_in(given):
            yield from self.of_script(command, self.where.cwd)
        if name in _WRITE_TOOLS or (is_served and not is_looking(name)):
            for path in paths_in(given):
                yield from self.of_path(path, self.where.cwd)

    # -- shell commands ---------------------------------------------------------------------------------------------

    def of_script(self, text: str, cwd: str, called_with: Sequence[str] = ()) -> Iterator[Refusal]:
        self.depth += 1
        self.characters += len(text)
        try:
            if self.depth > _MOST_NESTED or self.characters > 2 * MOST_CHARACTERS:
                raise TooMuch
            runs = runs_of(text, cwd=cwd, known={**self.known(cwd), **parameters(called_with)})
        except TooMuch:
            runs = ()
            yield from _untold(_shown(text.split()))
        for run in runs:
            yield from self.of_run(run)
        self.depth -= 1

    def known(self, cwd: str) -> Mapping[str, str]:
        """Return what is known of the environment, and of git's output in it."""
        git_dir = f"{self.where.root}/.git"
        return {
            **self.where.variables,
            "git rev-parse --show-toplevel": self.where.root if cwd == self.where.root else self.where.tree,
            **{
                f"git rev-parse {option}": git_dir
                for option in ("--git-common-dir", "--git-dir", "--absolute-git-dir")
            },
        }

    def of_run(self, run: Run) -> Iterator[Refusal]:
        what = _shown((run.program, *run.arguments))
        for path in run.writes:
            yield from self.of_path(path, run.cwd)
        run = as_module(run) or run
        yield from (Refusal(act=act, what=what) for act in acts_of(run, self.where))
        yield from self.of_git(run, what)
        inner, texts = passed_on(run)
        for text in texts:
            after = run.arguments[run.arguments.index(text) + 1 :] if text in run.arguments else ()
            yield from self.of_script(text, run.cwd, after)
        if is_fed(run.program) and run.given.strip(UNKNOWN):
            words = [word for word in run.arguments if not word.startswith("-")]
            yield from self.of_script(run.given, run.cwd, (run.program, *words))
        if inner is not None:
            self.depth += 1
            yield from self.of_run(inner) if self.depth <= _MOST_NESTED else _untold(what)
            self.depth -= 1
        if _unguards(run):
            yield Refusal(act=Act.BOOKKEEPING, what=what)

    def of_git(self, run: Run, what: str) -> Iterator[Refusal]:
        arguments = _as_git(run)
        if arguments is None:
            return
        line = read_git_line(arguments, self.aliases)
        if run.program == UNKNOWN and (line.untold or not _is_plainly_git(arguments)):
            return
        places = [
            *line.places,
            *(value.partition("=")[2] for value in run.sets if value.startswith(_GIT_PLACES)),
        ]
        here = run.cwd
        for place in places:
            here = resolved(place.removesuffix(".git"), here)
        acts = [act for act in line.acts if act not in _OF_A_REPOSITORY or not is_free(here, self.where)]
        yield from (Refusal(act=act, what=what, untold=line.untold) for act in acts)
        is_writing = line.writes or (self.where.conducts and bool(line.acts))
        if is_writing and is_outside(here, self.where):
            yield Refusal(act=Act.OUTSIDE, what=what)
        for path in line.files:
            yield from self.of_path(path, here)
        hidden = (value.partition("=")[2] for value in run.sets if value.startswith("GIT_"))
        for script in (*line.scripts, *(text for text in hidden if any(map(str.isspace, text)))):
            yield from self.of_script(script, run.cwd)
        self.aliases |= line.aliases

    # -- files ------------------------------------------------------------------------------------------------------

    def of_path(self, path: str, cwd: str) -> Iterator[Refusal]:
        act = writing(resolved(path, cwd), self.where)
        if act is not None:
            yield Refusal(act=act, what=f"writing {path.replace(UNKNOWN, '…')}")


def _acts_of_client(name: str, given: Mapping[str, object]) -> Iterator[Act]:
    """Return the acts of a client's tool that follow from its name, or from a plain field of its input."""
    if name in _ASKING:
        yield Act.ASK_USER
    if name in _ELSEWHERE or (name in ("Agent", "Task") and given.get("isolation")):
        yield Act.BRANCH


def _untold(what: str) -> Iterator[Refusal]:
    return (Refusal(act=act, what=what, untold=True) for act in UNTOLD)


def _unguards(run: Run) -> bool:
    """Whether it takes away, or changes, the variables by which git knows whom to ask."""
    named = run.sets if run.program in _READING_VARIABLES else (*run.sets, *run.arguments)
    clears = run.program == "env" and bool(_CLEARING & set(run.arguments[:1]))
    return clears or any(name.startswith(_GUARDING) for name in named)


def _as_git(run: Run) -> list[str] | None:
    """The arguments of git that a run means; None if it is another program."""
    if run.program in ("git", UNKNOWN):
        return list(run.arguments)
    if run.program.startswith("git-"):
        return [run.program.removeprefix("git-"), *run.arguments]
    return None


def _is_plainly_git(arguments: Iterable[str]) -> bool:
    """Whether words after an unknown program speak of git: ``$MAKE clean`` does not."""
    words = list(arguments)
    while words[:1] == ["-C"] or words[:1] == ["-c"]:
        words = words[2:]
    cleans = words[:1] == ["clean"] and any(word.startswith("-") and "f" in word for word in words)
    return cleans or "--hard" in words or (words[:1] != [] and words[0] in _PLAINLY_GIT)


def _shown(words: Iterable[str]) -> str:
    text = " ".join(words).replace(UNKNOWN, "…").replace("\n", " ")
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"
