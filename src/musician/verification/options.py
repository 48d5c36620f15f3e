"""Sorts the words after a runner's name: options, their values, and what is to be run.

An option's value may be a word of its own (``--timeout 60``), which must not be taken for a test. Which options have
one is known of the runners and of pytest's usual plugins. Where an option that is not known is followed by a word that
could be either, nobody can tell: the reading is None, and nothing is derived from such a command.
"""

from collections.abc import Sequence

from musician.protocol.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """``options`` with their values as they were written, ``named`` by option; a flag's value is "".

    ``is_open``: a word after the last option would be taken for its value.
    """

    options: tuple[str, ...]
    named: tuple[tuple[str, str], ...]
    targets: tuple[str, ...]
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A runner's: with a ``value``, with one that may be left out (``maybe``), and without (``flags``)."""

    value: frozenset[str]
    maybe: frozenset[str]
    flags: frozenset[str]

    def read(self, words: Sequence[str]) -> Words | None:
        """Return what each word is; None if one could be either a value or something to run."""
        options: list[str] = []
        named: list[tuple[str, str]] = []
        targets: list[str] = []
        is_open = False
        rest = list(reversed(words))
        while rest:
            word = rest.pop()
            if word == "--":
                targets += reversed(rest)
                break
            if not word.startswith("-") or word == "-":
                targets.append(word)
                continue
            options.append(word)
            *before, (name, value) = self._names(word)
            is_open = value is None and name not in self.flags
            if is_open and rest and (name in self.value or not rest[-1].startswith("-")):
                if name not in self.value | self.maybe:
                    return None
                value, is_open = rest.pop(), False
                options.append(value)
            if is_open and name in self.value:
                return None
            named += [*((each, "") for each, _ in before), (name, value or "")]
        return Words(options=tuple(options), named=tuple(named), targets=tuple(targets), is_open=is_open)

    def _names(self, word: str) -> list[tuple[str, str | None]]:
        """Return the options in one word, which short ones may share; the value is None if the word has none."""
        if word.startswith("--"):
            name, separator, value = word.partition("=")
            return [(name, value if separator else None)]
        names: list[tuple[str, str | None]] = []
        for place, letter in enumerate(word[1:], start=2):
            name = f"-{letter}"
            if name not in self.flags:
                return [*names, (name, word[place:] or None)]
            names.append((name, None))
        return names


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


PYTEST = Options(
    value=_words(
        "-k -m -p -n -o -c -W -r --maxfail --max-warnings --ignore --ignore-glob --deselect --confcutdir --rootdir",
        "--import-mode --config-file --basetemp --durations --durations-min --override-ini --pythonwarnings",
        "--verbosity --report-chars --tb --show-capture --color --code-highlight --pdbcls --capture --pastebin",
        "--assert --junitxml --junit-xml --junitprefix --junit-prefix --doctest-report --doctest-glob --lfnf",
        "--last-failed-no-failures --log-level --log-format --log-date-format --log-cli-level --log-cli-format",
        "--log-cli-date-format --log-file --log-file-mode --log-file-level --log-file-format --log-disable",
        "--log-file-date-format --log-auto-indent",
        "--cov-report --cov-config --cov-fail-under --cov-precision --cov-context",
        "--numprocesses --maxprocesses --max-worker-restart --dist --tx --px --rsyncdir --rsyncignore --testrunuid",
        "--maxschedchunk",
        "--hypothesis-profile --hypothesis-verbosity --hypothesis-seed --anyio-mode --asyncio-mode",
        "--timeout --timeout-method --timeout_method --session-timeout",
        "--reruns --reruns-delay --only-rerun --rerun-except --randomly-seed --html --ds --dc --liveserver",
    ),
    maybe=_words("--cov --debug --cache-show"),
    flags=_words(
        "-x -s -v -q -l -V -h -d -f --exitfirst --verbose --quiet --showlocals --no-showlocals --version --help",
        "--markers --strict-config --strict-markers --strict --fixtures --funcargs --fixtures-per-test --pdb --trace",
        "--runxfail --no-header --no-summary --no-fold-skipped --force-short-summary --disable-warnings",
        "--disable-pytest-warnings --xfail-tb --full-trace --fulltrace --collect-only --collectonly --co --pyargs",
        "--noconftest --keep-duplicates --keepduplicates --collect-in-virtualenv --continue-on-collection-errors",
        "--doctest-modules --doctest-ignore-import-errors --doctest-continue-on-failure --disable-plugin-autoload",
        "--trace-config --traceconfig --setup-only --setuponly --setup-show --setupshow --setup-plan --setupplan",
        "--lf --last-failed --ff --failed-first --nf --new-first --cache-clear --sw --stepwise --sw-skip",
        "--stepwise-skip --sw-reset --stepwise-reset",
        "--cov-reset --no-cov-on-fail --no-cov --cov-append --cov-branch",
        "--loadscope-reorder --no-loadscope-reorder --looponfail",
        "--hypothesis-show-statistics --hypothesis-explain --asyncio-debug --timeout-disable-debugger-detection",
        "--fail-on-flaky --rerun-show-tracebacks --randomly-dont-reset-seed --randomly-dont-reorganize",
        "--self-contained-html --reuse-db --create-db --no-migrations --migrations --fail-on-template-vars",
        "--benchmark-skip --benchmark-disable --benchmark-enable --benchmark-only",
    ),
)

UNITTEST = Options(
    value=_words("-k -s -p -t --durations --start-directory --pattern --top-level-directory"),
    maybe=frozenset(),
    flags=_words("-v -q -f -c -b -h --verbose --quiet --failfast --catch --buffer --locals --help"),
)
