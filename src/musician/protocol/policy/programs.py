"""Finds the forbidden acts of one program that a shell command runs (D21, D43).

Theory. There are a few rules, each for a kind of program:

- A program whose words are only data (``echo``, ``grep``, a test runner) is judged by its redirections.
- The command lines of git, SQLite's shell, this program and the client are parsed.
- A program that writes or deletes its arguments is judged by their paths.
- An interpreter's inline text is searched for paths that it must not write. Git's own hooks refuse what it does through
  git.
- Any other program may run another one. The words from the first known program name on, and each word that is a text of
  its own, are judged as commands. So no list of wrappers is needed.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from posixpath import basename, join

from musician.protocol.policy.forbidden import Act
from musician.protocol.policy.listed import listed
from musician.protocol.policy.paths import Surroundings, deleting, is_database, within, writing
from musician.protocol.policy.run import UNKNOWN, Run, found_by, name_of, resolved
from musician.protocol.policy.verbs import PUBLISHERS, claude, forge, musician, publishes, publishes_task
from musician.protocol.values import replace

_WORDS = listed("""
    [ [[ : ag apropos basename bat break case cat cd cmp column comm continue cut date df diff dirname du echo
    egrep exit export false fgrep file grep head hostname id info jq kill killall less local logger ls man mktemp more
    notify-send pgrep pkill popd printenv printf ps pushd pwd read readlink realpath return rg seq shift sleep stat
    tail test tldr tr tree true type typeset uname uniq wc whatis whereis which whoami yq zgrep
    """)
"""Programs and parts of a shell that run nothing and write nothing but their output."""

_TOOLS = listed("""
    cargo cmake composer conda ctest docker docker-compose dotnet go gradle helm jest kubectl make mocha mvn
    mypy mysql ninja nox npm pip pip3 pipx pnpm podman psql pytest redis-cli rspec ruff ssh terraform tox vitest
    yarn
    """)
"""Programs whose words are their own: tests' names, containers' commands, another machine's."""

_PRODUCING = frozenset({"cc", "clang", "curl", "gcc", "sort", "wget"})
"""The same, but what follows ``-o`` is written."""

_DECLARING = frozenset({"declare", "for", "readonly", "select", "unset", "printf"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"})
_FED = _SHELLS | {"source", ".", "at", "batch"}
_FEEDING = frozenset({"xargs", "parallel"})
_INTERPRETERS = re.compile(r"python[0-9.]*|pypy3?|node|deno|bun|perl|ruby|php|lua|Rscript|awk|gawk")
_FORGES = frozenset({"gh", "glab", "hub", "tea"})

_WRITING_ALL = listed("""
    chmod chown dos2unix ed ex mkdir nano nvim patch sponge tee touch truncate vi vim
    """)
_WRITING_LAST = frozenset({"cp", "install", "ln", "mv", "rsync"})
_DELETING = frozenset({"mv", "rm", "rmdir", "shred", "trash", "trash-put", "unlink"})
_KNOWN = frozenset({"claude", "env", "find", "git", "musician", "sed", "tar", "unzip", "xargs"}).union(
    _WORDS, _TOOLS, _PRODUCING, _SHELLS, _FORGES, _WRITING_ALL, _WRITING_LAST, _DELETING
)
_EDITORS = frozenset({"awk", "gawk", "perl", "ruby", "sed"})
_IN_PLACE = re.compile(r"--(?:in-?place|write|fix)\b|-[iw]$")
_SCRIPT_OPTION = re.compile(r"-[A-Za-z]*[ef]$|--(?:expression|file)$")
_EDITED_IN_PLACE = re.compile(r"-[A-Za-z]*i|--in-place")
_OUTPUT = re.compile(r"(?:-[A-Za-z]*[oO]|--output(?:-document)?)(?:=|$)|-[oO](?=.)|of=")
_DATABASE_SHELL = re.compile(r"sqlite3?|sqlite-utils|litecli")
_SQL_DATA = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_SQL_WRITES = re.compile(
    r"\b(?:insert|update|delete|drop|create|alter|attach|vacuum|reindex|replace\s+into|writefile|load_extension|edit)\b"
    r"|\bpragma\s+\w+\s*=|^\s*\.(?!tables|schema|headers?|mode|width|dump|indexes|databases|help|nullvalue|timeout)",
    re.IGNORECASE | re.MULTILINE,
)
_QUOTED = re.compile(r"""["'`]([^"'`\n]{1,300})["'`]""")
_CODE_WRITES = re.compile(
    r"""(?:,|mode=)\s*["'][wax]b?\+?["']|(?<!stdout)(?<!stderr)\.write|write_?(?:text|bytes|file)|appendfile|truncate|chmod
    |>\s*["']|\b(?:delete\s+from|insert\s+into|update\s+\w+\s+set|drop\s+table)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_CODE_DELETES = re.compile(r"unlink|remove|rmtree|rename|move|\brm", re.IGNORECASE)
_INTO = {"tar": re.compile(r"-?[a-z]*x|--extract"), "unzip": re.compile("-d")}
"""What has a program unpack, into the folder that an option names."""
_ELSEWHERE = re.compile(r"[\w@.-]+:")
_SENDING = frozenset({"aws", "gsutil", "rclone", "rsync", "scp"})
_COPYING = frozenset({"copy", "cp", "move", "mv", "rsync", "scp", "sync"})
_ENDING = frozenset({"killall", "pkill"})


def is_known(program: str) -> bool:
    """Whether a word names a program whose command line is read here."""
    return program in _KNOWN or bool(_INTERPRETERS.fullmatch(program) or _DATABASE_SHELL.fullmatch(program))


def is_fed(program: str) -> bool:
    """Whether it runs what it reads."""
    return program in _FED


def as_module(run: Run) -> Run | None:
    """The program that ``python -m`` runs."""
    if not _INTERPRETERS.fullmatch(run.program) or "-m" not in run.arguments[:-1]:
        return None
    at = run.arguments.index("-m") + 1
    return replace(run, program=run.arguments[at], arguments=run.arguments[at + 1 :])


def passed_on(run: Run) -> tuple[Run | None, tuple[str, ...]]:
    """Return what an unknown program may run: the command that begins among its words, and the texts before that."""
    program, arguments = run.program, run.arguments
    is_open = not is_known(program) or program in _SHELLS | {"claude", "env", "find", "xargs"}
    if not is_open or program in _DECLARING or (program == "command" and arguments[:1] in (("-v",), ("-V",))):
        return None, ()
    if program in _FEEDING:
        arguments = _fed_with(arguments, run.given)
    elif program == "find":
        found = found_by(arguments)
        arguments = tuple(
            word.replace("{}", path) for word in arguments for path in (found if "{}" in word else found[:1])
        )
    texts: list[str] = []
    for at, word in enumerate(arguments):
        name = name_of(word.removeprefix("-S") if program == "env" else word)
        is_value = program == "find" and re.match("-(?!exec|ok)", arguments[at - 1])
        if is_known(name) and not is_value:
            rest = arguments[at + 1 :]
            return replace(run, program=name, arguments=rest, sets=arguments[:at], writes=()), tuple(texts)
        if any(map(str.isspace, word)):
            texts.append(re.sub(r"^-[\w-]*=", "", word))
    return None, tuple(texts)


def _fed_with(arguments: Sequence[str], given: str) -> tuple[str, ...]:
    """Words with what is read put where ``-I`` says, or at their end."""
    fed = given.split() if given.strip(UNKNOWN) else [UNKNOWN]
    for at, word in enumerate(arguments):
        if word.startswith("-I"):
            mark = word[2:] or "".join(arguments[at + 1 : at + 2]) or "{}"
            return tuple(each.replace(mark, given.strip()) for each in arguments[at + 1 + (word == "-I") :])
    return (*arguments, *fed)


def acts_of(run: Run, where: Surroundings) -> Iterator[Act]:
    """Yield the acts of the program itself, without its redirections and the programs it runs."""
    if run.program in _ENDING and any("musician" in word for word in run.arguments):
        yield Act.CONDUCT
    if run.program in _WORDS:
        return
    yield from _deleted(run, where)
    yield from _written(run, where)
    is_publisher = run.program in PUBLISHERS or not is_known(run.program)
    if is_publisher and publishes(run.program, run.arguments):
        yield Act.PUSH
    if run.program in _FORGES and forge(run.arguments):
        yield Act.PUSH
    copies = run.program in _SENDING and (_COPYING & {run.program, *run.arguments})
    if copies and any(map(_ELSEWHERE.match, _operands(run.arguments)[1:][-1:])):
        yield Act.PUSH
    if run.program == "claude" and claude(run.arguments):
        yield Act.BOOKKEEPING
    if run.program == "musician" and publishes_task(run.arguments):
        yield Act.PUSH
    if run.program == "musician" and musician(run, where):
        yield Act.CONDUCT
    if _DATABASE_SHELL.fullmatch(run.program) and _writes_database(run, where):
        yield Act.BOOKKEEPING
    if _INTERPRETERS.fullmatch(run.program):
        yield from _coded(" ".join((*run.arguments, run.given)), run.cwd, where)


# -- files ----------------------------------------------------------------------------------------------------------


def _written(run: Run, where: Surroundings) -> Iterator[Act]:
    """By the files that a program's own arguments have it write; an unknown one's are guessed from how they look."""
    program, arguments = run.program, run.arguments
    words = _operands(arguments)
    found: list[str] = []
    is_open = not is_known(program)
    if is_open and any(map(_IN_PLACE.match, arguments)):
        found += words
    if program in _EDITORS and any(map(_EDITED_IN_PLACE.match, arguments)):
        found += _edited(arguments)
    if program in _WRITING_ALL:
        found += words
    if program in _WRITING_LAST and words:
        found += _targets(words, arguments)
    if program in _INTO and any(map(_INTO[program].match, arguments)):
        found += [after for word, after in pairwise(arguments) if word in ("-C", "-d")]
    if program in _PRODUCING or is_open:
        pairs = pairwise((*arguments, ""))
        found += [word[match.end() :] or after for word, after in pairs if (match := _OUTPUT.match(word))]
    for path in (resolved(word, run.cwd) for word in found):
        act = writing(path, where)
        if act and (act is not Act.OUTSIDE or not is_open or within(path, where.root)):
            yield act
    if program == "ln":
        linked = (writing(resolved(word, run.cwd), where) for word in words)
        yield from (act for act in linked if act in (Act.MEMORY, Act.BOOKKEEPING))


def _edited(arguments: Sequence[str]) -> list[str]:
    """The files of an editor that is given a script: by an option, or as its first word."""
    is_option = [bool(_SCRIPT_OPTION.match(word)) for word in arguments]
    pairs = zip((False, *is_option), arguments, strict=False)
    words = [word for is_value, word in pairs if not is_value and not word.startswith("-")]
    return words if any(is_option) else words[1 + (words[:1] == ["inplace"]) :]


def _targets(words: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """Return the paths that a copy creates. In a folder a file keeps its name; a file is recognised by its suffix."""
    options = dict(pairwise(arguments))
    target = options.get("-t", options.get("--target-directory", words[-1]))
    is_file = "." in basename(target).lstrip(".")
    return (
        [target] if is_file else [target, *(join(target, basename(word)) for word in words if word != target)]
    )


def _deleted(run: Run, where: Surroundings) -> Iterator[Act]:
    words = _operands(run.arguments)
    gone: list[str] = []
    if run.program in _DELETING:
        gone = words[: -1 if run.program == "mv" and "-t" not in run.arguments else None]
    elif run.program == "rsync" and any(word.startswith("--del") for word in run.arguments):
        gone = words[-1:]
    elif run.program == "find" and "-delete" in run.arguments:
        gone = [*found_by(run.arguments)]
    for path in gone:
        path = "./*" if path in ("*", ".*") else path
        act = deleting(resolved(path, run.cwd), where)
        if act is not None:
            yield act


def _coded(code: str, cwd: str, where: Surroundings) -> Iterator[Act]:
    """An interpreter's inline text that writes, by the paths that stand in it in quotes."""
    judges = [(_CODE_DELETES, deleting), (_CODE_WRITES, writing)]
    told = [judge for words, judge in judges if words.search(code)]
    for path in _QUOTED.findall(code) if told else ():
        full = resolved(path.partition("?")[0].rpartition(":")[2], cwd)
        acts = [judge(full, where) for judge in told]
        yield from (act for act in acts if act and (act is not Act.OUTSIDE or within(full, where.root)))


def _writes_database(run: Run, where: Surroundings) -> bool:
    """Whether SQLite's shell may write the orchestration database: named as its file, or in its statements."""
    words = _operands(run.arguments)
    texts = (*run.arguments, run.given)
    named = [*words, *(path for text in texts for path in _QUOTED.findall(text)), *" ".join(texts).split()]
    files = [path.removeprefix("file:") for path in named]
    if not any(_is_ours(path.partition("?")[0], run.cwd, where) for path in files):
        return False
    if "-readonly" in run.arguments or any("mode=ro" in word.partition("?")[2] for word in words[:1]):
        return False
    statements = _SQL_DATA.sub(
        "''", "\n".join((*words[1:], *(a for a in run.arguments if " " in a), run.given))
    )
    unread = len(words) <= 1 and UNKNOWN in run.given
    return unread or bool(_SQL_WRITES.search(statements))


def _is_ours(path: str, cwd: str, where: Surroundings) -> bool:
    full = resolved(path, cwd)
    elsewhere = UNKNOWN in full and full.endswith(join("/.musician", basename(where.database)))
    return elsewhere or is_database(full, where)


def _operands(arguments: Iterable[str]) -> list[str]:
    return [argument for argument in arguments if not argument.startswith("-")]
