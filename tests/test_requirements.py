"""The requirements and the tests hold each other (DESIGN 9): no rule without its proof, no id that nothing explains.

``tests/requirements/*.toml`` has a table for each rule of the sources, each decision and each case from the field: its
``place``, the ``rule`` in one sentence, and either the ``tests`` that prove it (paths from ``tests/``; a scenario's
script proves by being played) or one of three ways out: ``superseded_by`` a decision, ``not_ours`` with the reason,
``later`` with the part that it belongs to, one of those in ``later.toml``. Ids in docstrings and comments are looked up
there, and a test that names an id in its own docstring or name is listed by it. docs/REQUIREMENTS.md is the same for
people; MUSICIAN_REWRITE=1 writes it anew.
"""

import ast
import io
import os
import re
import tokenize
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
PROJECT = TESTS.parent
RENDERED = PROJECT / "docs" / "REQUIREMENTS.md"
AUDIT = {"u": 12, "v": 20, "p": 24, "c": 12, "k": 9, "g": 9, "s": 8, "n": 18}
"""The faults that the first audit found, by kind: how many of each; every one has a file ``audit-<kind>.toml``."""

FILES = ("decisions", "design", "sessions", "work", "ceilings", "cases", *(f"audit-{kind}" for kind in AUDIT))
"""In the order in which they are rendered."""

WAYS = ("tests", "superseded_by", "not_ours", "later")

CASES = "B01 B05 B06 B09 B10 B11 B12 B14 B16 B17 B18 B20 B26 B28 B29 B32 B34 B35 B36 B38 B40 B42 B43"

MUST_BE_THERE = (
    *(f"D{number}" for number in range(1, 44)),
    *(f"REF-{number}" for number in (3, 4, 5, 6, 8)),
    *CASES.split(),
    *(f"AUDIT-{kind.upper()}{number}" for kind, most in AUDIT.items() for number in range(1, most + 1)),
)

_ID = re.compile(
    r"\b(?:D\d{1,2}(?:\.\d+)?|REF-\d+|B\d{2}|AUDIT-[A-Z]\d{1,2}|(?:TABLE|DATA|PLAN|CLI|PROOF|CEIL|LIMIT|S-[A-Z]+)-\d+)\b"
)
_CASE_IN_NAME = re.compile(r"\btest_(b\d{2})_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One rule; ``way`` is the one of ``WAYS`` it takes, ``proof`` what stands there ("" and () if none or several)."""

    id: str
    file: str
    place: str
    rule: str
    way: str
    proof: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """``where`` is path and line; ``test`` the test whose own docstring or name it is, "" elsewhere."""

    id: str
    where: str
    test: str = ""


Tests = Mapping[str, frozenset[str]]
"""Names of tests by path from ``tests/``; a scenario's script has none."""


# -- reading --------------------------------------------------------------------------------------------------------


def read_manifest(folder: Path, files: Iterable[str]) -> tuple[list[Requirement], list[str]]:
    """All requirements in order, and what is wrong with how they are written."""
    found: dict[str, Requirement] = {}
    wrong: list[str] = []
    for file in files:
        for key, table in tomllib.loads((folder / f"{file}.toml").read_text(encoding="utf-8")).items():
            if key in found:
                wrong.append(f"{key} is in {found[key].file}.toml and in {file}.toml")
            wrong += [f"{key} ({file}.toml): {problem}" for problem in _problems(table)]
            found.setdefault(key, _requirement(key, file, table))
    return list(found.values()), wrong


def _problems(table: Mapping[str, Any]) -> Iterator[str]:
    if unknown := set(table) - {"place", "rule", *WAYS}:
        yield f"unknown keys {sorted(unknown)}"
    for key in ("place", "rule"):
        if not isinstance(table.get(key), str) or not table[key].strip() or "\n" in table[key]:
            yield f"`{key}` is one line of text"
    if not str(table.get("rule", "")).endswith("."):
        yield "`rule` is a sentence and ends with a full stop"
    ways = [way for way in WAYS if table.get(way)]
    if len(ways) != 1:
        yield f"exactly one of {', '.join(WAYS)}; found {', '.join(ways) or 'none'}"


def _requirement(key: str, file: str, table: Mapping[str, Any]) -> Requirement:
    ways = [way for way in WAYS if table.get(way)]
    way = ways[0] if len(ways) == 1 else ""
    value = table.get(way, ())
    proof = (value,) if isinstance(value, str) else tuple(value)
    return Requirement(
        id=key, file=file, place=table.get("place", ""), rule=table.get("rule", ""), way=way, proof=proof
    )


def read_tests(folder: Path) -> Tests:
    """Every test there is, by its path."""
    found: dict[str, frozenset[str]] = {
        path.relative_to(folder).as_posix(): frozenset() for path in folder.glob("scenarios/**/*.txt")
    }
    for path in folder.rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[path.relative_to(folder).as_posix()] = frozenset(name for name, _ in _tests_of(tree.body))
    return found


def read_nightly(folder: Path) -> Tests:
    """Those that CI never plays: a whole function, class or file is marked (``nightly.py`` keeps some cases)."""
    found: dict[str, frozenset[str]] = {}
    for path in folder.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if "nightly" in text:
            found[path.relative_to(folder).as_posix()] = frozenset(_nightly_of(ast.parse(text).body))
    return found


def _nightly_of(body: Iterable[ast.stmt]) -> Iterator[str]:
    body = list(body)
    everything = any(
        isinstance(node, ast.Assign)
        and "pytestmark" in ast.unparse(node)
        and "mark.nightly" in ast.unparse(node)
        for node in body
    )
    for name, node in _tests_of(body):
        # What is about one case stands in the parameters.
        marks = [ast.unparse(each) for each in getattr(node, "decorator_list", ())]
        if everything or any(mark.endswith("mark.nightly") for mark in marks):
            yield name


def _tests_of(body: Iterable[ast.stmt], before: str = "") -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                yield before + name, node
            case ast.ClassDef(name=name) if name.startswith("Test"):
                yield before + name, node
                yield from _tests_of(node.body, f"{before}{name}::")
            case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("Test"):
                yield before + name, node  # how Hypothesis hands out a state machine


def read_mentions(text: str, path: str, test_path: str = "") -> Iterator[Mention]:
    """Ids in the docstrings and comments of one Python file; ``test_path`` is its path from ``tests/``."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield from _ids(node.value.value, f"{path}:{node.lineno}")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from _ids(token.string, f"{path}:{token.start[0]}")
    if test_path:
        for name, node in _tests_of(tree.body):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                in_name = " ".join(_CASE_IN_NAME.findall(name.rpartition("::")[2])).upper()
                words = f"{ast.get_docstring(node) or ''} {in_name}"
                yield from _ids(words, f"{path}:{node.lineno}", f"{test_path}::{name}")


def _ids(text: str, where: str, test: str = "") -> Iterator[Mention]:
    for found in _ID.findall(text):
        yield Mention(id=found, where=where, test=test)


@cache
def manifest() -> tuple[list[Requirement], list[str]]:
    return read_manifest(TESTS / "requirements", FILES)


@cache
def still_to_be_built() -> tuple[str, ...]:
    return tuple(tomllib.loads((TESTS / "requirements" / "later.toml").read_text(encoding="utf-8"))["parts"])


@cache
def mentions() -> tuple[Mention, ...]:
    found: list[Mention] = []
    for folder in ("src", "tests", "benchmarks"):
        for path in sorted((PROJECT / folder).rglob("*.py")):
            if path == Path(__file__):
                continue
            in_tests = path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""
            text = path.read_text(encoding="utf-8")
            found += read_mentions(text, path.relative_to(PROJECT).as_posix(), in_tests)
    return tuple(found)


# -- judging --------------------------------------------------------------------------------------------------------


def belongs(requirement_id: str, mentioned: str) -> bool:
    """A mention of D7 means D7.1, D7.2 and so on."""
    return requirement_id == mentioned or requirement_id.startswith(f"{mentioned}.")


def unproved(requirements: Iterable[Requirement], tests: Tests) -> list[str]:
    """Requirements whose tests are not there, which says what was renamed or removed."""
    return [
        f"{each.id} ({each.file}.toml) names {named}, which is not there: renamed or removed?"
        for each in requirements
        if each.way == "tests"
        for named in each.proof
        if not _is_there(named, tests)
    ]


def only_at_night(requirements: Iterable[Requirement], nightly: Tests) -> list[str]:
    """Requirements that CI does not see broken."""
    return [
        f"{each.id} ({each.file}.toml) is proved at night only: have one of its tests played by day"
        for each in requirements
        if each.way == "tests" and all(_is_nightly(named, nightly) for named in each.proof)
    ]


def _is_nightly(named: str, nightly: Tests) -> bool:
    path, _, name = named.partition("[")[0].partition("::")
    marked = nightly.get(path, frozenset())
    return bool(name) and (name in marked or name.partition("::")[0] in marked)


def _is_there(named: str, tests: Tests) -> bool:
    path, _, name = named.partition("[")[0].partition("::")
    return path in tests and (name in tests[path] if name or path.endswith(".py") else True)


def unfounded(requirements: Iterable[Requirement], later: Iterable[str]) -> list[str]:
    """Ways out that lead nowhere."""
    known = {each.id: each for each in requirements}
    wrong = []
    for each in known.values():
        for value in each.proof:
            if each.way == "superseded_by" and (value not in known or known[value].way == "superseded_by"):
                wrong.append(f"{each.id} is superseded by {value}, which is no rule that stands")
            if each.way == "later" and value not in later:
                wrong.append(
                    f"{each.id} is for later, with {value}, which is no part that is still to be built"
                )
    belated = {each.proof for each in known.values() if each.way == "later"}
    wrong += [f"no rule waits for {word} any more: take it out" for word in later if (word,) not in belated]
    return sorted(wrong)


def unexplained(requirements: Iterable[Requirement], said: Iterable[Mention]) -> list[str]:
    """Ids that nobody can look up."""
    ids = [each.id for each in requirements]
    return sorted(
        {
            f"{mention.where} mentions {mention.id}, which the manifest does not have"
            for mention in said
            if not any(belongs(each, mention.id) for each in ids)
        }
    )


def unlisted(requirements: Iterable[Requirement], said: Iterable[Mention]) -> list[str]:
    """Tests that say they prove a rule which does not know of them."""
    proofs = [(each.id, {named.partition("[")[0] for named in each.proof}) for each in requirements]
    return sorted(
        {
            f"{mention.test} says it proves {mention.id}: list it there in tests/requirements/"
            for mention in said
            if mention.test
            and not any(belongs(each, mention.id) and mention.test in tests for each, tests in proofs)
        }
    )


def render(requirements: Iterable[Requirement]) -> str:
    """The manifest as a page."""
    requirements = list(requirements)
    counts = {way: sum(each.way == way for each in requirements) for way in WAYS}
    lines = [
        "# Requirements",
        "",
        "Generated from `tests/requirements/*.toml`; written anew by",
        "`MUSICIAN_REWRITE=1 pytest tests/test_requirements.py`. Tests are named by their path from `tests/`.",
        "",
        f"{len(requirements)} rules: {counts['tests']} proved by tests, {counts['superseded_by']} superseded by",
        f"another, {counts['not_ours']} not this program's, {counts['later']} for parts that are not built yet.",
    ]
    place = ""
    for each in requirements:
        if each.place != place:
            place = each.place
            lines += ["", f"## {place}", "", "| id | rule | proof |", "|---|---|---|"]
        rule, proof = (text.replace("|", "\\|") for text in (each.rule, _proof(each)))
        lines.append(f"| {each.id} | {rule} | {proof} |")
    return "\n".join(lines) + "\n"


def _proof(requirement: Requirement) -> str:
    words = {"superseded_by": "superseded by ", "not_ours": "not ours: ", "later": "**not built yet**: "}
    if requirement.way == "tests":
        return "<br>".join(f"`{named}`" for named in requirement.proof)
    return words.get(requirement.way, "") + ", ".join(requirement.proof)


# -- the manifest as it stands --------------------------------------------------------------------------------------


def test_every_requirement_is_written_once_with_its_place_its_rule_and_one_way() -> None:
    assert {path.stem for path in (TESTS / "requirements").iterdir()} == {*FILES, "later"}
    assert manifest()[1] == []


def test_every_requirement_has_tests_that_exist_or_one_of_the_three_ways_out() -> None:
    requirements, _ = manifest()
    assert unproved(requirements, read_tests(TESTS)) == []
    assert unfounded(requirements, still_to_be_built()) == []


def test_no_requirement_is_proved_at_night_only() -> None:
    assert only_at_night(manifest()[0], read_nightly(TESTS)) == []


def test_every_decision_reference_and_case_is_there() -> None:
    ids = [each.id for each in manifest()[0]]
    assert [wanted for wanted in MUST_BE_THERE if not any(belongs(each, wanted) for each in ids)] == []


def test_every_id_that_is_mentioned_can_be_looked_up() -> None:
    assert unexplained(manifest()[0], mentions()) == []


def test_every_test_that_names_a_requirement_is_listed_by_it() -> None:
    assert unlisted(manifest()[0], mentions()) == []


def test_the_page_for_people_is_up_to_date() -> None:
    wanted = render(manifest()[0])
    if os.environ.get("MUSICIAN_REWRITE") == "1":
        RENDERED.write_text(wanted, encoding="utf-8")
    assert RENDERED.read_text(encoding="utf-8") == wanted, "MUSICIAN_REWRITE=1 writes it anew"


# -- the check itself can fail --------------------------------------------------------------------------------------

MADE_UP = """
["D1.1"]
place = "DESIGN 4, D1"
rule = "One rule."
tests = ["x/test_a.py::test_one", "scenarios/s.txt", "x/test_a.py::TestIt::test_two[case]"]
[REF-3]
place = "sources, Somewhere"
rule = "Another one."
superseded_by = "D1.1"
"""
TEST_FILE = '''
def test_one() -> None:
    """D1: it says so."""
class TestIt:
    async def test_two(self) -> None:
        pass  # REF-3
def test_b18_bodies() -> None: ...
'''


MakeUp = Callable[..., tuple[list[Requirement], list[str]]]


@pytest.fixture
def made_up(tmp_path: Path) -> MakeUp:
    def make(text: str = MADE_UP, other: str = "") -> tuple[list[Requirement], list[str]]:
        (tmp_path / "a.toml").write_text(text)
        (tmp_path / "b.toml").write_text(other)
        return read_manifest(tmp_path, ("a", "b"))

    return make


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (MADE_UP.replace("One rule.", ""), "`rule` is one line of text"),
        (MADE_UP.replace("One rule.", "One rule"), "ends with a full stop"),
        (MADE_UP.replace('superseded_by = "D1.1"', ""), "found none"),
        (MADE_UP + 'later = "x"', "found superseded_by, later"),
        (MADE_UP.replace("superseded_by", "overruled_by"), "unknown keys"),
    ],
)
def test_a_badly_written_requirement_is_told(made_up: MakeUp, broken: str, complaint: str) -> None:
    assert made_up()[1] == []
    assert complaint in "\n".join(made_up(broken)[1])


def test_an_id_that_is_written_twice_is_told(made_up: MakeUp) -> None:
    twice = '[REF-3]\nplace = "p"\nrule = "R."\nnot_ours = "why"\n'
    assert made_up(MADE_UP, twice)[1] == ["REF-3 is in a.toml and in b.toml"]


def test_a_test_that_was_renamed_is_told_by_its_name(made_up: MakeUp, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "s.txt").touch()
    (tmp_path / "x" / "test_a.py").write_text(TEST_FILE)
    assert unproved(made_up()[0], read_tests(tmp_path)) == []
    (tmp_path / "x" / "test_a.py").write_text(TEST_FILE.replace("test_one", "test_won"))
    assert [line.partition(", ")[0] for line in unproved(made_up()[0], read_tests(tmp_path))] == [
        "D1.1 (a.toml) names x/test_a.py::test_one"
    ]
    (tmp_path / "scenarios" / "s.txt").unlink()
    assert len(unproved(made_up()[0], read_tests(tmp_path))) == 2


def test_what_is_proved_at_night_only_is_told(made_up: MakeUp, tmp_path: Path) -> None:
    text = MADE_UP.replace('"scenarios/s.txt", ', "")
    (tmp_path / "x").mkdir()
    file = tmp_path / "x" / "test_a.py"
    night = "@pytest.mark.nightly\n"
    by_day = TEST_FILE.replace("def test_one", f"{night}def test_one")
    at_night = by_day.replace("class TestIt", f"{night}class TestIt")
    one_case = TEST_FILE.replace(
        "def test_one", "@pytest.mark.parametrize('a', at_night([1, 2], but=['1']))\ndef test_one"
    )
    for written, told in (
        (TEST_FILE, 0),
        (by_day, 0),
        (one_case, 0),
        (at_night, 1),
        (f"pytestmark = [pytest.mark.deep, pytest.mark.nightly]\n{TEST_FILE}", 1),
    ):
        file.write_text(written)
        assert len(only_at_night(made_up(text)[0], read_nightly(tmp_path))) == told, written


def test_a_way_out_that_leads_nowhere_is_told(made_up: MakeUp) -> None:
    assert unfounded(made_up()[0], ()) == []
    assert unfounded(made_up(MADE_UP.replace('"D1.1"\n', '"D2"\n'))[0], ()) != []
    belated = made_up(MADE_UP.replace("superseded_by", "later"))[0]
    assert unfounded(belated, ("D1.1",)) == []
    assert unfounded(belated, ()) != []
    assert unfounded(made_up()[0], ("the moon",)) == ["no rule waits for the moon any more: take it out"]


def test_what_code_and_tests_mention_is_found(made_up: MakeUp) -> None:
    said = list(read_mentions(TEST_FILE, "tests/x/test_a.py", "x/test_a.py"))
    assert unexplained(made_up()[0], said) == [
        "tests/x/test_a.py:7 mentions B18, which the manifest does not have"
    ]
    assert unlisted(made_up()[0], said) == [
        "x/test_a.py::test_b18_bodies says it proves B18: list it there in tests/requirements/"
    ]
    other = list(read_mentions(TEST_FILE, "tests/y/test_a.py", "y/test_a.py"))
    assert any(
        line.startswith("y/test_a.py::test_one says it proves D1:") for line in unlisted(made_up()[0], other)
    )
