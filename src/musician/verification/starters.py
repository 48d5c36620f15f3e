"""Finds what a command starts besides itself: a Makefile, a script, a script started by that script.

Reads text, and only what stands where a program may stand: the first word of a simple command, or what an interpreter
is given. Of a Makefile only the rules count that the words of a command reach, and what stands outside of rules. This
is enough to know which files decide what ``make test`` means; it is no shell.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from musician.trees.git import Git
from musician.verification.change import files_in, is_test_file, is_test_side, read_blobs
from musician.verification.invocation import folder_of

_MAX_DEPTH = 5
"""A script that a script that a script … starts."""

MAKEFILE = re.compile(r"(?:GNU)?[Mm]akefile|.*\.mk")
_STARTERS = {
    "make": MAKEFILE,
    "gmake": MAKEFILE,
    "just": re.compile(r"\.?[Jj]ustfile|.*\.just"),
    "task": re.compile(r"[Tt]askfile\.ya?ml"),
    "nox": re.compile(r"noxfile\.py"),
    "rake": re.compile(r"[Rr]akefile"),
    "mage": re.compile(r"magefile\.go"),
    "invoke": re.compile(r"tasks\.py"),
    "npm": re.compile(r"package\.json"),
    "npx": re.compile(r"package\.json"),
    "yarn": re.compile(r"package\.json"),
    "pnpm": re.compile(r"package\.json"),
    "bun": re.compile(r"package\.json|bunfig\.toml"),
    "deno": re.compile(r"deno\.jsonc?"),
    "gradle": re.compile(r".*\.gradle(?:\.kts)?"),
    "gradlew": re.compile(r".*\.gradle(?:\.kts)?"),
    "mvn": re.compile(r"pom\.xml"),
    "composer": re.compile(r"composer\.json"),
    "phpunit": re.compile(r"phpunit\.xml(?:\.dist)?"),
    "rspec": re.compile(r"\.rspec|spec_helper\.rb"),
}
_INTERPRETERS = re.compile(r"(?:ba|da|z|k)?sh|python[\d.]*|node|ruby|perl|php|deno|bun|source|\.|Rscript")
_BEFORE_A_COMMAND = re.compile(
    r"[@+-]*(?:\w+=\S*|exec|env|time|nice|sudo|xargs|then|do|else|!|run|uv|poetry|pdm|npx)?"
)
_ENDS = re.compile(r"[;&|(){}`\n]+|\$\(")
_WORD = re.compile(r"[\w.+-]+")
_JAVASCRIPT = frozenset({".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx"})


class Starts:
    """The words of the commands, the folders they run in, and the scripts of tree ``base`` that they come to."""

    def __init__(self, git: Git, base: str, commands: Sequence[str]) -> None:
        self._blobs = {path: blob for path, _, blob in files_in(git, base)}
        self.folders = tuple(dict.fromkeys(folder_of(command) for command in commands))
        self.words: set[str] = set()
        self.scripts: set[str] = set()
        read: set[str] = set()
        texts = [(folder_of(command), command) for command in commands]
        for _ in range(_MAX_DEPTH):
            for folder, text in texts:
                self.words.update(_WORD.findall(text))
                self.scripts.update(_scripts_in(folder, text, self._blobs))
            wanted = (self.scripts | set(filter(self._is_started, self._blobs))) - read
            if not wanted:
                break
            read |= wanted
            texts = [each for path in wanted for each in self._texts(git, path)]

    def starts_by(self, name: str) -> bool:
        """Whether a file of this name controls one of the programs in the commands."""
        return any(pattern.fullmatch(name) for word, pattern in _STARTERS.items() if word in self.words)

    def _is_started(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return folder in self.folders and self.starts_by(name)

    def _texts(self, git: Git, path: str) -> Iterator[tuple[str, str]]:
        """Yield a script's text, as its paths are seen from the top and from its own folder."""
        text = read_blobs(git, [self._blobs[path]]).get(self._blobs[path], b"").decode("utf-8", "replace")
        if MAKEFILE.fullmatch(path.rpartition("/")[2]):
            text = "\n".join(reached(text, self.words))
        return ((folder, text) for folder in dict.fromkeys(("", path.rpartition("/")[0])))


def _scripts_in(folder: str, text: str, blobs: Mapping[str, str]) -> Iterator[str]:
    for command in _ENDS.split(text.replace("\\\n", " ")):
        words = [word.strip("\"'") for word in command.split()]
        while words and _BEFORE_A_COMMAND.fullmatch(words[0]):
            words.pop(0)
        if words and _INTERPRETERS.fullmatch(words[0].lstrip("@+-").rpartition("/")[2]):
            words = [word for word in words[1:] if not word.startswith("-")]
        if not words:
            continue
        path = str(PurePosixPath(folder, words[0].lstrip("@+")))
        is_test = is_test_file(path) or (is_test_side(path) and PurePosixPath(path).suffix in _JAVASCRIPT)
        if path in blobs and not is_test:
            yield path


_RULE = re.compile(r"(?P<targets>[^\s:=#][^:=#]*?)\s*::?(?!=)(?P<needs>[^=]*)")


def reached(text: str, words: Iterable[str]) -> list[str]:
    """Return the lines of a Makefile that count for the targets among these words, without rules that none
    reaches.
    """
    rules: dict[str, tuple[set[str], list[str]]] = {}
    outside: list[str] = []
    into = [outside]
    first = ""
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for lines in into:
                lines.append(line)
            continue
        rule = _RULE.fullmatch(line.partition("#")[0].rstrip())
        if rule is None:
            into = [outside]
            if line.strip() and not line.startswith("#"):
                outside.append(line)
            continue
        targets, needs = rule["targets"].split(), set(rule["needs"].partition(";")[0].split())
        first = first or next((each for each in targets if not each.startswith(".")), "")
        into = []
        for target in dict.fromkeys(targets):
            known, recipe = rules.setdefault(target, (set(), []))
            known.update(needs)
            recipe.append(line)
            into.append(recipe)
    asked = {each for each in rules if each in set(words)} or {first}
    wild = {each for each in rules if "%" in each or each.startswith((".", "$"))} - {".PHONY"}
    reached: set[str] = set()
    waiting = asked | wild
    while waiting:
        target = waiting.pop()
        if target in rules and target not in reached:
            reached.add(target)
            waiting |= rules[target][0]
    return [*outside, *(line for target in sorted(reached) for line in rules[target][1])]
