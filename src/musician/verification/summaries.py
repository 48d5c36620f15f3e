"""Reads test results from a runner's output, anywhere in it.

``RUNNERS`` is a table: the lines in which a runner sums up, and those in which it names a test. The numbers are read
from the words beside them, so that one list of words serves all. Several sums of one output are added up (a runner may
be called once for each package). Code under test can print such lines too, so a record of ours takes
precedence.
"""

import re
from collections.abc import Iterator
from dataclasses import field

from musician.protocol.values import dataclass
from musician.verification.counts import Outcome, TestRecord, counted_in
from musician.verification.result import TestCounts

_FLAGS = re.MULTILINE | re.ASCII


@dataclass(frozen=True, slots=True)
class _Runner:
    """``sums`` are its closing lines; ``names`` have the test as ``name`` and, by group, how it ended."""

    sums: re.Pattern[str]
    names: tuple[re.Pattern[str], ...] = field(default=())
    total_ran: bool = False
    """Its total is of what ran, and what failed is the rest of it."""


def _runner(sums: str, *names: str, total_ran: bool = False) -> _Runner:
    found = tuple(re.compile(each, re.MULTILINE) for each in names)
    return _Runner(re.compile(sums, _FLAGS), found, total_ran)


RUNNERS = (
    _runner(  # unittest, and all that is built on its runner
        r"^Ran \d+ tests? in [\d.]+s\s+(?:OK|FAILED|NO TESTS RAN)(?: \([^()\n]*\))?[ \t\r]*$",
        r"^(?:(?P<failed>FAIL|ERROR|UNEXPECTED SUCCESS)): (?P<name>\S+)(?: \((?P<path>[\w.]+)\))?",
        r"^(?P<name>\w+) \((?P<path>[\w.]+)\)(?:\n[^\n]*)? \.\.\. (?:[^\n]*\n)?(?P<passed>ok)$",
    ),
    _runner(  # pytest where no record of ours could be made
        r"^(?:=+ )?(?:no tests ran|\d+ (?:passed|failed|skipped|error|deselected|xfailed|xpassed)\b[^\n]*)"
        r" in [\d.]+s\b",
        r"^(?P<failed>FAILED|ERROR) (?P<name>[^\s:]\S*)",
    ),
    _runner(  # node --test, as TAP and as it is read by people; tape, and ava as TAP
        r"^(?:# |ℹ )tests +\d+\n(?:(?:# |ℹ )\w+ +[\d.]+\n?)*",
        r"^\s*(?:(?P<failed>not ok(?: \d+(?: -)?)?|✖)|(?P<passed>ok(?: \d+(?: -)?)?|✔)|(?P<skipped>﹣))"
        r" (?P<name>\S[^\n]*?)"
        r"(?: \([\d.]+ms\))?(?: # (?P<aside>SKIP|TODO)\b[^\n]*)?$",
    ),
    _runner(r"^Tests: +[^\n]*\b\d+ total$|^No tests found, exiting with code 0$"),  # jest
    _runner(r"^ *Tests +[^\n]*\(\d+\)$|^No test files found, exiting with code 0$"),  # vitest
    _runner(r"^ +\d+ passing \([^)\n]*\)\n(?: +\d+ (?:pending|failing)\n)*"),  # mocha
    _runner(  # go test -v; without -v all that can be known is that there was nothing
        r"^--- (?:PASS|FAIL|SKIP): |\A(?:(?:\?|ok) [^\n]*\[no test(?:s to run| files)\]\n?)+\Z",
        r"^ *--- (?:(?P<passed>PASS)|(?P<failed>FAIL)|(?P<skipped>SKIP)): (?P<name>\S+)",
    ),
    _runner(  # cargo test
        r"^test result: (?:ok|FAILED)\. [^\n]*",
        r"^test (?P<name>\S[^\n]*?) \.\.\. (?:(?P<passed>ok)|(?P<failed>FAILED)|(?P<skipped>ignored))",
    ),
    _runner(  # uvu
        r"^  Total: +\d+\n  Passed: +\d+\n  Skipped: +\d+$",
        r"^ +(?P<failed>FAIL)  (?P<name>\S[^\n]*)$",
        total_ran=True,
    ),
    _runner(  # ava
        r"^  \d+ tests? (?:passed|failed|skipped)$",
        r"^  (?:(?P<failed>✘ \[fail\]:)|(?P<passed>✔)|(?P<skipped>- \[skip\])) (?P<name>\S[^\n]*)$",
    ),
    _runner(  # bun
        r"^ +\d+ (?:pass|fail|skip|todo)$",
        r"^\((?:(?P<failed>fail)|(?P<passed>pass)|(?P<skipped>skip|todo))\) (?P<name>\S[^\n]*?)(?: \[[\d.]+m?s\])?$",
    ),
    _runner(  # deno
        r"^(?:ok|FAILED) \| \d+ passed[^\n]*",
        r"^(?P<name>\S[^\n]*?) \.\.\. (?:(?P<passed>ok)|(?P<failed>FAILED)|(?P<skipped>ignored)) \([^)\n]*\)$",
    ),
    _runner(r"^\d+ examples?, \d+ failures?[^\n]*$"),  # rspec
    _runner(r"^OK \(\d+ tests?, [^\n]*|^Tests: \d+, Assertions: [^\n]*|^No tests executed!$"),  # phpunit
    _runner(r"^(?:Passed|Failed)! +- Failed: [^\n]*"),  # dotnet test
    _runner(r"^(?:\[\w+\] )?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+$"),  # maven
    _runner(r"^\d+% tests passed, \d+ tests failed out of \d+$|^No tests were found!!!$"),  # ctest
)


def _words(*words: str) -> re.Pattern[str]:
    """Return a pattern for a number beside one of the words: "3 passed", "Failures: 1", "skipped=2", "# pass
    4".
    """
    any_of = "|".join(words)
    return re.compile(
        rf"(\d+) (?:{any_of})\b|\b(?<!expected )(?:{any_of})(?::? *|=)(\d+)\b(?! [a-z])", re.IGNORECASE
    )


_TOTAL = _words("tests?(?! (?:failed|passed|skipped))", "total", "tests run", "examples?", "out of")
_PASSED = _words("(?:tests? )?passed", "pass", "passing", "xfailed", "xpassed")
_FAILED = _words(
    "(?:tests? )?failed", "fail", "failing", "failures?", "errors?", "cancelled", "unexpected successes"
)
_SKIPPED = _words("(?:tests? )?skipped", "skip", "ignored", "pending", "incomplete")


def read_summaries(output: str) -> TestRecord | None:
    """Combine what the runners in the output say; None if none is recognized."""
    for runner in RUNNERS:
        sums = "\n".join(found[0] for found in runner.sums.finditer(output))
        if sums:
            return _record(sums, dict(_named(runner, output)), total_ran=runner.total_ran)
    return None


def _record(sums: str, outcomes: dict[str, Outcome], *, total_ran: bool) -> TestRecord:
    failed, skipped, passed = (_number(words, sums) for words in (_FAILED, _SKIPPED, _PASSED))
    if total_ran:
        failed = max(0, _number(_TOTAL, sums) - passed)
        counts = TestCounts(total=passed + failed + skipped, failed=failed, skipped=skipped)
        return TestRecord.of(counts, outcomes)
    ran = passed + failed
    # some runners leave errors out of the total, or count the parts of a test one by one
    total = _number(_TOTAL, sums) or ran + skipped
    if not (total or failed or skipped):
        counts = counted_in(outcomes.values())
    else:
        total = max(total, list(outcomes.values()).count("failed"))
        counts = TestCounts(total=total, failed=min(failed, total), skipped=min(skipped, total))
    return TestRecord.of(counts, outcomes)


def _number(words: re.Pattern[str], sums: str) -> int:
    return sum(int(before or after) for before, after in words.findall(sums))


def _named(runner: _Runner, output: str) -> Iterator[tuple[str, Outcome]]:
    """Yield the named tests; failures come last, so that they prevail."""
    found = [(_name(match), _outcome(match)) for names in runner.names for match in names.finditer(output)]
    return iter(sorted(found, key=lambda each: each[1] == "failed"))


def _name(match: re.Match[str]) -> str:
    """Return a test's full name: unittest names the place beside the test, newer versions with the test in
    it.
    """
    groups = match.groupdict()
    path, name = groups.get("path") or "", groups["name"]
    return path if path.endswith(f".{name}") and not path.startswith("unittest.") else name


def _outcome(match: re.Match[str]) -> Outcome:
    groups = match.groupdict()
    aside = groups.get("aside")
    if aside:
        return "skipped" if aside == "SKIP" else "xfailed"
    if groups.get("failed"):
        return "failed"
    return "skipped" if groups.get("skipped") else "passed"
