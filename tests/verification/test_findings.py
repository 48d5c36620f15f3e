"""What the stages found: its words, and its way through JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol import plain_json
from musician.protocol.rules.readiness import Decision, StageOutcome
from musician.verification.findings import (
    Category,
    CategoryRun,
    ChangedCoverage,
    ClaimCheck,
    FailureCause,
    FailureKind,
    Integration,
    Remark,
    Scan,
    Stages,
    Validity,
)

_NAMES = st.lists(st.text(), max_size=3).map(tuple)
_PCT = st.floats(0, 100)
_STAGES = st.builds(
    Stages,
    base=st.text(),
    selection=st.lists(
        st.builds(
            CategoryRun,
            category=st.sampled_from(Category),
            command=st.text(),
            passed=st.booleans(),
            excused=st.booleans(),
        ),
        max_size=2,
    ).map(tuple),
    selection_notes=_NAMES,
    validity=st.none()
    | st.builds(
        Validity,
        examined=st.integers(),
        cannot_fail=_NAMES,
        trivial=_NAMES,
        left_out=st.integers(),
        why_not=st.text(),
    ),
    coverage=st.none()
    | st.builds(
        ChangedCoverage,
        lines=st.integers(0),
        covered=st.integers(0),
        source=st.text(),
        total_pct=st.none() | _PCT,
        baseline_pct=st.none() | _PCT,
        missed=_NAMES,
        absent=_NAMES,
        why_not=st.text(),
    ),
    scan=st.none()
    | st.builds(
        Scan,
        remarks=st.lists(
            st.builds(
                Remark,
                path=st.text(),
                line=st.integers(),
                kind=st.text(),
                text=st.text(),
                is_note=st.booleans(),
            ),
            max_size=2,
        ).map(tuple),
        left_out=st.integers(0),
        why_not=st.text(),
    ),
    integration=st.none() | st.builds(Integration, broken=_NAMES, cycles=_NAMES, why_not=st.text()),
    failure=st.none() | st.builds(FailureCause, kind=st.sampled_from(FailureKind), signal=st.text()),
    claims=st.lists(
        st.builds(ClaimCheck, claimed=st.text(), mismatches=_NAMES, by=st.text(), why_not=st.text()),
        max_size=2,
    ).map(tuple),
    decision=st.sampled_from(Decision),
    notes=_NAMES,
    overhead_s=st.floats(0, 10),
)


@given(_STAGES)
def test_stages_survive_json(stages: Stages) -> None:
    read = plain_json.from_json(Stages, plain_json.to_json(stages))
    assert read == stages
    assert read.overhead_s == stages.overhead_s


@given(_STAGES)
def test_whatever_was_found_can_be_said(stages: Stages) -> None:
    said = stages.said()
    assert said[: len(stages.faults())] == stages.faults()
    assert set(stages.notes) <= set(said)


@pytest.mark.parametrize(
    "change",
    [
        {"decision": "go on"},
        {"decision": None},
        {"more": 1},
        {"base": 1},
        {"notes": "text"},
        {"notes": [1]},
        {"validity": []},
        {"validity": {"examined": True}},
        {"validity": {"examined": 1.5}},
        {"coverage": {"total_pct": "1"}},
    ],
)
def test_anything_else_is_refused(change: dict[str, object]) -> None:
    whole = json.loads(plain_json.to_json(Stages(decision=Decision.REPORT)))
    with pytest.raises(ValueError, match=r"is no|has no|is not"):
        plain_json.from_json(Stages, json.dumps({**whole, **change}))
    with pytest.raises(ValueError, match="lacks decision"):
        plain_json.from_json(Stages, "{}")


@pytest.mark.parametrize(
    ("examined", "cannot_fail", "least_pct", "check"),
    [
        (0, 0, 100, StageOutcome.GOOD),
        (4, 0, 100, StageOutcome.GOOD),
        (4, 1, 100, StageOutcome.BAD),
        (4, 1, 75, StageOutcome.GOOD),
        (4, 1, 75.1, StageOutcome.BAD),
        (4, 4, 1, StageOutcome.BAD),
        (4, 4, 0, StageOutcome.GOOD),
        (100, 99, 1, StageOutcome.GOOD),
    ],
)
def test_how_many_tests_must_be_able_to_fail(
    examined: int, cannot_fail: int, least_pct: float, check: StageOutcome
) -> None:
    names = tuple(f"test_{n}" for n in range(cannot_fail))
    assert Validity(examined=examined, cannot_fail=names).check(least_pct) is check


def test_the_words_of_validity() -> None:
    assert Validity(examined=1).line() == "1 new or changed test can fail"
    assert Validity(examined=7, cannot_fail=tuple("abcdef")).line() == (
        "6 of 7 new or changed tests also pass on the code as it was: a, b, c, d, e and 1 more"
    )
    assert Validity(why_not="only tests changed").line() == "new tests not tested: only tests changed"


def test_what_holds_a_checkpoint_back_is_said_once_and_first() -> None:
    stages = Stages(
        validity=Validity(examined=2, cannot_fail=("a", "b")),
        coverage=ChangedCoverage(lines=10, covered=5, total_pct=50, baseline_pct=60, missed=("a.py:1",)),
        scan=Scan(
            remarks=(
                Remark(path="a.py", line=2, kind="debug print", text="print(1)"),
                Remark(path="a.py", line=3, kind="debug print", text="print(2)", is_note=True),
            )
        ),
        integration=Integration(broken=("b.py:1: invalid syntax",), cycles=("a.py -> b.py -> a.py",)),
        claims=(ClaimCheck(claimed="9 passed", mismatches=("9 passing claimed, 3 found",)),),
        decision=Decision.IMPROVE_COVERAGE,
        notes=("1 changed file not looked into",),
    )
    assert stages.faults() == (
        "does not compile: b.py:1: invalid syntax",
        "new import cycle: a.py -> b.py -> a.py",
        "coverage of changed lines 50 % (5 of 10), not run: a.py:1",
        "to clean up: a.py:2 debug print print(1)",
    )
    assert stages.said()[4:] == (
        "2 of 2 new or changed tests also pass on the code as it was: a, b",
        "coverage of changed lines 50 % (5 of 10)",
        "the project's coverage fell by 10.0 points",
        "claimed otherwise: 9 passing claimed, 3 found",
        "1 changed file not looked into",
    )


def test_a_stage_that_was_not_done_whole_is_unknown() -> None:
    assert Scan(left_out=1).check is StageOutcome.UNKNOWN
    assert Scan(why_not="no git").check is StageOutcome.UNKNOWN
    assert Integration(why_not="no git").check is StageOutcome.UNKNOWN
    assert (Scan().check, Integration().check) == (StageOutcome.GOOD, StageOutcome.GOOD)
