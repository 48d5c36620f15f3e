"""The ladder of a subagent's failures (D19)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.rules.delegation import (
    Extent,
    NextAttempt,
    PieceFailure,
    modules_of,
    next_attempt,
)
from musician.protocol.settings import Delegation, Settings

SETTINGS = Settings()
LOST, EXPLAINED = PieceFailure.LOST, PieceFailure.EXPLAINED


def extent(lines: int | None, *files: str) -> Extent:
    return Extent(lines=lines, files=frozenset(files or ["src/a.py"]))


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ([LOST], NextAttempt.SAME_PROMPT),
        ([EXPLAINED], NextAttempt.ADJUSTED_PROMPT),
        ([LOST, EXPLAINED], NextAttempt.ADJUSTED_PROMPT),
        ([EXPLAINED, LOST], NextAttempt.SAME_PROMPT),
        ([LOST, LOST, LOST], NextAttempt.ABSORB),
        ([EXPLAINED, EXPLAINED, EXPLAINED], NextAttempt.ABSORB),
        ([LOST] * 4, NextAttempt.ABSORB),
    ],
    ids=str,
)
def test_each_retry_is_what_the_last_failure_asks_for_and_there_are_two(
    failures: list[PieceFailure], expected: NextAttempt
) -> None:
    assert next_attempt(failures, extent=extent(120), well_defined=True, settings=SETTINGS) is expected


@pytest.mark.parametrize(
    ("lines", "well_defined", "expected"),
    [
        (0, True, NextAttempt.ABSORB),
        (-1, True, NextAttempt.ESCALATE),
        (499, True, NextAttempt.ABSORB),
        (500, True, NextAttempt.ESCALATE),
        (None, True, NextAttempt.ESCALATE),
        (499, False, NextAttempt.ESCALATE),
        (500, False, NextAttempt.ESCALATE),
    ],
)
def test_after_two_retries_only_small_and_well_defined_work_is_absorbed(
    lines: int | None, well_defined: bool, expected: NextAttempt
) -> None:
    failures = [LOST, EXPLAINED, LOST]
    found = next_attempt(failures, extent=extent(lines), well_defined=well_defined, settings=SETTINGS)
    assert found is expected


@pytest.mark.parametrize(
    ("files", "modules"),
    [
        ((), 0),
        (("src/a.py",), 1),
        (("src/a.py", "tests/test_a.py", "src/a.pyi", "tests/a_test.py"), 1),
        (("tests/test_a.py",), 1),
        (("src/a/b.py", "tests/a/test_b.py"), 1),
        (("src/a.min.js", "src/a.max.js"), 2),
        (("src/a.py", "README.md"), 2),
        (("src/a/util.py", "src/b/util.py"), 2),
        (("src/a.py", "tests/test_b.py"), 2),
    ],
)
def test_a_module_is_counted_once_with_its_test(files: tuple[str, ...], modules: int) -> None:
    assert modules_of(files) == modules
    expected = NextAttempt.ABSORB if modules == 1 else NextAttempt.ESCALATE
    known = Extent(lines=10, files=frozenset(files))
    assert next_attempt([LOST] * 3, extent=known, well_defined=True, settings=SETTINGS) is expected


def test_of_what_the_plan_says_and_what_an_attempt_shows_the_larger_counts() -> None:
    assert extent(120, "a.py").with_(extent(40, "b.py")) == extent(120, "a.py", "b.py")
    assert extent(None).with_(extent(40)) == extent(40).with_(Extent()) == extent(40)


def test_without_a_failure_there_is_no_next_attempt() -> None:
    with pytest.raises(ValueError, match="there is none"):
        next_attempt([], extent=extent(1), well_defined=True, settings=SETTINGS)


@given(
    st.lists(st.sampled_from(PieceFailure), min_size=1, max_size=12),
    st.integers(0, 1000),
    st.booleans(),
    st.integers(0, 5),
)
def test_a_piece_is_never_retried_more_often_than_allowed(
    script: list[PieceFailure], lines: int, well_defined: bool, retries: int
) -> None:
    settings = Settings(delegation=Delegation(retries=retries))
    tried = 0
    for attempt in range(1, len(script) + 1):
        answer = next_attempt(
            script[:attempt], extent=extent(lines), well_defined=well_defined, settings=settings
        )
        if answer in (NextAttempt.ABSORB, NextAttempt.ESCALATE):
            break
        tried += 1
    assert tried == min(retries, len(script))
