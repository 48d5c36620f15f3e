"""The table of mismatches: each of one class, found where it is and nowhere else (D20.5)."""

from dataclasses import replace

import pytest

from musician.protocol.resumption.file_claims import FileClaims
from musician.protocol.resumption.mismatches import (
    CLASSES,
    Class,
    Decision,
    Known,
    Mismatch,
    MismatchKind,
    decide,
    find_mismatches,
)
from musician.protocol.rules.review import Verification

KNOWN = Known(
    items=("step 1", "step 2", "checkpoint 1", "step 3", "step 4", "checkpoint 2"),
    done=frozenset({"step 1", "step 2"}),
    approved=frozenset({"checkpoint 1"}),
    begun=frozenset({"step 1", "step 2"}),
    next_item="step 3",
    commit="abcdef1234567890",
)
TOLD = FileClaims(
    completed=KNOWN.done, approved=KNOWN.approved, current="step 3", commit="abcdef1", deviations=0
)


def test_what_agrees_is_no_mismatch() -> None:
    assert find_mismatches(KNOWN, status=TOLD, handoff=TOLD) == ()
    assert find_mismatches(KNOWN, status=None, handoff=None) == ()
    counted = replace(KNOWN, deviations=2, deviation_lines=2)
    assert find_mismatches(counted, status=None, handoff=None) == ()


def test_every_kind_has_exactly_one_class() -> None:
    assert set(CLASSES) == set(MismatchKind)
    assert set(CLASSES.values()) == set(Class)


@pytest.mark.parametrize(
    ("kind", "cls", "known", "status", "handoff"),
    [
        (MismatchKind.STEP_UNHEARD, Class.BENIGN, {"unheard_items": ("step 2",)}, {}, {}),
        (MismatchKind.VERDICT_UNHEARD, Class.BENIGN, {"unheard_verdicts": ("checkpoint 1",)}, {}, {}),
        (MismatchKind.BRANCH_MOVED, Class.BENIGN, {"moved_to": "fedcba"}, {}, {}),
        (MismatchKind.STATUS_BEHIND, Class.BENIGN, {"missing_lines": 3}, {}, {}),
        (MismatchKind.DEVIATIONS_GONE, Class.BENIGN, {"deviations": 2}, {}, {"deviations": 2}),
        (MismatchKind.HANDOFF_BEHIND, Class.BENIGN, {}, {}, {"completed": frozenset({"step 1"})}),
        (MismatchKind.HANDOFF_BEHIND, Class.BENIGN, {}, {}, {"approved": frozenset()}),
        (
            MismatchKind.CHECKPOINT_AHEAD,
            Class.BENIGN,
            {},
            {"approved": frozenset({"checkpoint 1", "checkpoint 2"})},
            {},
        ),
        (MismatchKind.WORK_LOST, Class.SUSPICIOUS, {"lost": ("step 2",)}, {}, {}),
        (
            MismatchKind.STEPS_AHEAD,
            Class.SUSPICIOUS,
            {},
            {"completed": frozenset({"step 1", "step 2", "step 3"})},
            {},
        ),
        (
            MismatchKind.STEPS_AHEAD,
            Class.SUSPICIOUS,
            {},
            {},
            {"completed": frozenset({"step 1", "step 2", "step 3"}), "current": "step 4"},
        ),
        (MismatchKind.STEPS_DIFFER, Class.SUSPICIOUS, {}, {}, {"completed": frozenset()}),
        (
            MismatchKind.STEPS_DIFFER,
            Class.SUSPICIOUS,
            {"approved": frozenset()},
            {"approved": frozenset({"checkpoint 1", "checkpoint 2"})},
            {"approved": frozenset()},
        ),
        (MismatchKind.STEP_DIFFERS, Class.SUSPICIOUS, {}, {"current": "step 4"}, {}),
        (MismatchKind.STEP_DIFFERS, Class.SUSPICIOUS, {}, {}, {"current": "step 4"}),
        (MismatchKind.FILES_DIFFER, Class.SUSPICIOUS, {}, {}, {"commit": "0000000"}),
        (MismatchKind.DEVIATIONS_DIFFER, Class.SUSPICIOUS, {"deviation_lines": 1}, {}, {}),
        (MismatchKind.DEVIATIONS_DIFFER, Class.SUSPICIOUS, {}, {}, {"deviations": 1}),
        (MismatchKind.TOLD_COMPLETE, Class.CONTRADICTORY, {}, {"is_complete": True}, {}),
        (MismatchKind.PASSED_IN_ERROR, Class.CONTRADICTORY, {"ended_in_error": True}, {"passed": True}, {}),
        (MismatchKind.FROM_THE_FUTURE, Class.CONTRADICTORY, {"future_messages": (7,)}, {}, {}),
    ],
)
def test_each_mismatch_is_found_alone(
    kind: MismatchKind,
    cls: Class,
    known: dict[str, object],
    status: dict[str, object],
    handoff: dict[str, object],
) -> None:
    [found] = find_mismatches(
        replace(KNOWN, **known),  # type: ignore[arg-type]
        status=replace(TOLD, **status),  # type: ignore[arg-type]
        handoff=replace(TOLD, **handoff),  # type: ignore[arg-type]
    )
    assert (found.kind, found.cls) == (kind, cls)
    assert str(found).startswith(kind.value)


def test_what_a_kill_explains_is_not_held_against_the_files() -> None:
    """The files are written after the database: a verdict and a step that came later explain what they lack."""
    known = replace(KNOWN, unheard_items=("step 2",), unheard_verdicts=("checkpoint 1",))
    handoff = replace(TOLD, completed=frozenset({"step 1"}), approved=frozenset(), current="step 2")
    found = find_mismatches(known, status=None, handoff=handoff)
    assert {each.cls for each in found} == {Class.BENIGN}
    late = replace(KNOWN, ended_in_error=True, missing_lines=1)
    [behind] = find_mismatches(late, status=replace(TOLD, passed=True), handoff=None)
    assert behind.kind is MismatchKind.STATUS_BEHIND


def test_a_task_with_nothing_left_may_be_told_complete() -> None:
    """The status file says so just before the row does."""
    known = replace(KNOWN, next_item="")
    assert find_mismatches(known, status=replace(TOLD, current="", is_complete=True), handoff=None) == ()


def test_a_commit_nobody_names_differs_from_none() -> None:
    known = replace(KNOWN, commit=None)
    assert find_mismatches(known, status=None, handoff=TOLD) == ()
    assert find_mismatches(KNOWN, status=None, handoff=replace(TOLD, commit=None)) == ()


GREEN, RED = Verification.GREEN, Verification.RED


@pytest.mark.parametrize(
    ("kind", "verification", "commits", "unfinished", "decision"),
    [
        (MismatchKind.STEPS_AHEAD, GREEN, True, False, Decision.DONE),
        (MismatchKind.STEPS_AHEAD, GREEN, False, False, Decision.NOT_AT_ALL),
        (MismatchKind.STEPS_AHEAD, GREEN, False, True, Decision.PARTLY),
        (MismatchKind.STEPS_AHEAD, RED, True, False, Decision.PARTLY),
        (MismatchKind.STEPS_AHEAD, RED, False, True, Decision.PARTLY),
        (MismatchKind.STEPS_AHEAD, RED, False, False, Decision.NOT_AT_ALL),
        (MismatchKind.STEPS_AHEAD, None, True, False, Decision.PARTLY),
        (MismatchKind.WORK_LOST, GREEN, False, False, Decision.DONE),
        (MismatchKind.WORK_LOST, RED, False, False, Decision.NOT_AT_ALL),
        (MismatchKind.WORK_LOST, RED, True, False, Decision.PARTLY),
    ],
)
def test_passing_tests_alone_prove_nothing_about_work_without_a_trace(
    kind: MismatchKind, verification: Verification | None, commits: bool, unfinished: bool, decision: Decision
) -> None:
    mismatch = Mismatch(kind=kind, items=("step 3",))
    found = decide(mismatch, verification=verification, has_commits=commits, has_unfinished=unfinished)
    assert found is decision


@pytest.mark.parametrize(
    ("verification", "decision"), [(GREEN, Decision.DONE), (RED, Decision.PARTLY), (None, Decision.PARTLY)]
)
def test_what_is_about_no_step_stands_if_the_verification_does(
    verification: Verification | None, decision: Decision
) -> None:
    mismatch = Mismatch(kind=MismatchKind.FILES_DIFFER)
    assert decide(mismatch, verification=verification, has_commits=True, has_unfinished=True) is decision
