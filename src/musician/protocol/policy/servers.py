"""Finds the forbidden acts of an MCP server's tool, by its name and the fields of its input (D21).

Theory. There is no list of all servers, and the names of their tools have any case and prefix. So a name is split into
words. A tool whose first verb only reads is allowed. Any other tool of a knowledge base changes it, any other tool of a
forge publishes, and the tools of git are read as git command lines.
"""

import re
import shlex
from collections.abc import Iterator, Mapping

from musician.protocol.policy.forbidden import Act
from musician.protocol.policy.gitline import read_git_line
from musician.protocol.policy.listed import listed

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LOOKING = listed("""
    browse check count describe diff download explain export fetch find get glob grep health help info inspect list
    lookup ls open ping preview query read recall resolve retrieve search show stat stats status tree validate view
    """)
_CHANGING = listed("add create delete edit execute insert move remove rename replace set update upsert write")
_KNOWLEDGE = re.compile(
    r"chroma|embedding|knowledge|milvus|pinecone|qdrant|vector|weaviate|(?<![a-z])(?:rag|kb)(?![a-z])"
)
_FORGES = re.compile(r"bitbucket|forgejo|gitea|github|gitlab")
_REMEMBERING = frozenset({"memories", "memory"})
_PATH_WORDS = listed(
    "database db destination dest dir directory file filename files filepath path paths source target uri"
)
_COMMAND_WORDS = listed("argv args cmd command commands script shell")
_GIT_MODES = listed("action mode operation subcommand type")
_GIT_NOT_ARGUMENTS = listed("cwd description message path repo title")
_HAS_SUBCOMMANDS = frozenset({"stash", "worktree", "submodule", "reflog"})
_SHOWS = frozenset({"get", "list", "show", "status", "view", "local", "remote", "all"})


def is_looking(name: str) -> bool:
    """Whether a tool only reads: the first verb in its name says so, and no later one changes."""
    words = _words(name.rpartition("__")[2])
    return bool(_LOOKING & set(words)) and not _CHANGING & set(words)


def acts_of_server(name: str, given: Mapping[str, object]) -> Iterator[Act]:
    """``name`` as the client spells it: ``mcp__SERVER__TOOL``."""
    server, _, tool = name.removeprefix("mcp__").rpartition("__")
    server_words, words = set(_words(server)), _words(tool)
    if "ingest" in words or (_KNOWLEDGE.search(server.lower()) and not is_looking(name)):
        yield Act.INGEST
    elif _REMEMBERING & {*server_words, *words} and not is_looking(name):
        yield Act.MEMORY
    elif _FORGES.search(server.lower()) and not is_looking(name):
        yield Act.BRANCH if words == ["create", "branch"] else Act.PUSH
    elif words[:1] == ["git"] or "git" in server_words:
        yield from _of_git([word for word in words if word != "git"], given)


def _of_git(words: list[str], given: Mapping[str, object]) -> Iterator[Act]:
    """A tool of git's, as the command line it stands for."""
    words = ["branch"] if words == ["create", "branch"] else words
    has_subcommands = bool(_HAS_SUBCOMMANDS & set(words[:1]))
    arguments = [*words[:1], *(word if has_subcommands else "--" + word for word in words[1:])]
    for key, value in given.items():
        named = set(_words(key))
        if value is True:
            arguments.append("--" + key.replace("_", "-"))
        elif isinstance(value, list):
            arguments += ["--", *(each for each in value if isinstance(each, str))]
        elif not isinstance(value, str) or named & _GIT_NOT_ARGUMENTS:
            continue
        elif named & _GIT_MODES and not has_subcommands:
            arguments.append("--list" if value in _SHOWS else "--" + value)
        else:
            arguments.append(value)
    yield from read_git_line(arguments, {}).acts


def paths_in(value: object, key: str = "") -> Iterator[str]:
    """Every path that stands in an input, by the name of its field."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from paths_in(each, str(name))
    elif isinstance(value, list):
        for each in value:
            yield from paths_in(each, key)
    elif isinstance(value, str) and _PATH_WORDS & set(_words(key)):
        yield value.removeprefix("file://")


def commands_in(given: Mapping[str, object]) -> Iterator[str]:
    """Every shell command that stands in an input, by the name of its field; lists are one, or their words are."""
    together: list[str] = []
    for key, value in given.items():
        if _COMMAND_WORDS & set(_words(key)):
            texts = [
                each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)
            ]
            yield from texts
            together += texts if isinstance(value, str) else map(shlex.quote, texts)
    if len(together) > 1:
        yield " ".join(together)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]
