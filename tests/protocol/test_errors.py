"""An error is one line that says what happened and what to do, and its facts are fields."""

import inspect
from typing import Any

import pytest

from musician.protocol import errors
from musician.protocol.errors import (
    CallerError,
    ConductorError,
    MusicianError,
    OperatorError,
    SessionError,
    WhichTask,
)

FAMILIES = (CallerError, SessionError, ConductorError, OperatorError)
DEFECT = 70
"""Ends with this: no caller can act on it."""

CLASSES = [
    each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, MusicianError)
]
LEAVES = [each for each in CLASSES if each not in (MusicianError, *FAMILIES)]

_BY_NAME: dict[str, Any] = {
    "allowed": ("exit", "heartbeat"),
    "paths": ("a.py", "b.py"),
    "problems": ("plan.md:3: no task",),
    "named": True,
}
_BY_TYPE: dict[str, Any] = {"int": 3, "bool": True, "float": 1.5, "tuple": ("x",)}


def arguments(kind: type[MusicianError]) -> dict[str, Any]:
    """A value for each keyword of the class, by its name or else by its annotation."""
    parameters = list(inspect.signature(kind).parameters.values())
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in parameters)
    return {
        each.name: _BY_NAME.get(
            each.name,
            next(
                (value for name, value in _BY_TYPE.items() if str(each.annotation).find(name) >= 0), "words"
            ),
        )
        for each in parameters
    }


@pytest.mark.parametrize("kind", LEAVES)
def test_an_error_keeps_its_facts_and_says_one_line_with_a_remedy(kind: type[MusicianError]) -> None:
    said = arguments(kind)
    error = kind(**said)
    for name, value in said.items():
        assert getattr(error, name) == value
    assert str(error) == f"{error.message}: {error.remedy}"
    assert error.message
    assert error.remedy
    assert "\n" not in str(error)


@pytest.mark.parametrize("kind", LEAVES)
def test_an_error_belongs_to_the_family_of_who_must_act(kind: type[MusicianError]) -> None:
    families = sum(issubclass(kind, family) for family in FAMILIES)
    assert families == (0 if kind.exit_code == DEFECT else 1)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("UnknownTask", 3),
        ("BadId", 2),
        ("InvalidPlan", 2),
        ("IllegalEvent", 4),
        ("ClaimLost", 4),
        ("StaleVerdict", 4),
        ("AnsweredLate", 4),
        ("AskedNoMore", 4),
        ("TaskIsOver", 4),
        ("ClaimBlocked", 5),
        ("NoRepository", 2),
    ],
)
def test_an_error_ends_the_command_with_its_documented_code(name: str, code: int) -> None:
    assert getattr(errors, name).exit_code == code


def test_several_plan_problems_are_counted_and_the_first_is_shown() -> None:
    error = errors.InvalidPlan(problems=("p.md:1: a", "p.md:9: b"))
    assert error.message == "2 problems, the first: p.md:1: a"


def test_a_long_list_of_paths_is_cut_with_its_rest_counted() -> None:
    error = errors.TreeNotReady(
        reason="uncommitted changes", paths=tuple(f"f{n}" for n in range(13)), remedy="commit them"
    )
    assert error.message.endswith("f9 and 3 more)")
    assert errors.TreeNotReady(reason="no commit", paths=(), remedy="commit").message == "no commit"


def test_an_answer_that_comes_too_late_grants_nothing() -> None:
    assert "nothing was granted" in str(errors.AskedNoMore(task_id="t", kind="budget"))


def test_an_event_that_leads_nowhere_says_so() -> None:
    error = errors.IllegalEvent(task_id="t", state=None, event="claim", actor="s", allowed=())
    assert str(error) == "t is not there and cannot be claimed: `musician status` lists the tasks"


@pytest.mark.parametrize(
    ("state", "remedy"),
    [
        ("error", "wait for the answer with `musician wait t`"),
        ("review_failed", "go on with `musician step t start N`, or submit with `musician checkpoint t`"),
        ("complete", "write nothing more and end"),
        (None, "write nothing more and end"),
    ],
)
def test_who_has_the_task_is_told_its_own_way_on(state: str | None, remedy: str) -> None:
    error = errors.IllegalEvent(task_id="t", state=state, event="x", actor="the owner", allowed=())
    assert error.remedy == remedy
    assert "cannot be changed like this" in error.message


def test_a_lost_claim_says_whether_there_was_one() -> None:
    assert "claim 3" in str(errors.ClaimLost(task_id="t", session_id="s", epoch=3, current_epoch=4))
    assert "no live claim" in str(errors.ClaimLost(task_id="t", session_id="s", epoch=None, current_epoch=4))


def test_a_missing_database_is_named_or_made_by_init() -> None:
    assert "name an existing one" in str(errors.NotInitialised(path="x.db", named=True))
    assert "musician init" in str(errors.NotInitialised(path="x.db", named=False))


def test_a_bad_id_says_what_an_id_is_made_of() -> None:
    assert errors.BadId(kind="task", value="x", reason="use A-Z").remedy == "use use A-Z"
    assert errors.BadId(kind="task", value="x", reason="reserved").remedy == "reserved"


def test_an_act_without_a_task_says_why_none_is_meant() -> None:
    def said(held: tuple[str, ...], had: tuple[str, ...]) -> str:
        return str(WhichTask(session_id="s1", held=held, had=had))

    assert "owns task-01, task-02" in said(("task-01", "task-02"), ("task-01", "task-02"))
    assert "task-01 has ended or been taken over" in said((), ("task-01",))
    assert "owns no task" in said((), ())


def test_problems_in_the_plural_are_mended_in_the_plural() -> None:
    assert errors.InvalidPlan(problems=("p.md:1: a",)).remedy.startswith("mend it ")
    assert errors.InvalidPlan(problems=("p.md:1: a", "p.md:9: b")).remedy.startswith("mend them ")


def test_all_that_git_said_is_told_in_one_line() -> None:
    """AUDIT-U10: the names of what is in the way, and git's own remedy, stand after its first line."""
    stderr = (
        "error: The following untracked working tree files would be overwritten by merge:\n\twork.txt\n\ta b.txt\n"
        "Please move or remove them before you merge.\nAborting\n"
    )
    error = errors.GitFailed(argv=("merge", "x"), returncode=1, stderr=stderr)
    assert error.message == (
        "git merge ended with 1 (error: The following untracked working tree files would be overwritten by merge:"
        " work.txt; a b.txt; Please move or remove them before you merge.; Aborting)"
    )
    assert error.stderr == stderr
    long = errors.GitFailed(argv=("x",), returncode=1, stderr="first\n" + "x" * 10_000 + "\nhint: last\n")
    assert len(long.message) < 2 * errors.GitFailed.SAID_MAX
    assert "(first; " in long.message
    assert long.message.endswith("; last)")


def test_a_checkpoint_that_is_not_green_says_who_acts_next() -> None:
    """D29: mend it; or, once it was red too often, the conductor; or, after the last that is allowed, nobody."""
    red: dict[str, Any] = {
        "task_id": "task-01",
        "item": "checkpoint 1",
        "found": "1 of 2 failing",
        "failing": "t",
    }
    assert "mend it and run `musician checkpoint` again" in str(errors.NotGreen(**red))
    assert "`musician wait task-01`" in str(errors.NotGreen(**red, reported=7))
    assert "write nothing more" in str(errors.NotGreen(**red, reported=7, left=True))


def test_an_ended_task_that_cannot_be_claimed_is_opened_by_a_handoff() -> None:
    blocked = errors.ClaimBlocked(task_id="task-01", state="exited", reason="its session has ended")
    assert "opened for a next session with `musician handoff task-01`" in str(blocked)
    other = errors.ClaimBlocked(task_id="task-01", state="needs_review", reason="it waits for a verdict")
    assert "musician handoff" not in str(other)
