"""Which commands a checkpoint runs (D16, REF-8)."""

import pytest

from musician.plans.model import Checkpoint, Isolation, Review, TaskSpec
from musician.verification.select import all_commands, commands_for, full_commands


def task(*own: tuple[str, ...], test: str | None) -> TaskSpec:
    """A task with one checkpoint per argument, the last one final."""
    return TaskSpec(
        task_id="task-01",
        title="t",
        overview="",
        items=tuple(
            Checkpoint(
                number=number,
                title="",
                prose="",
                tests=tests,
                rework=(),
                final=number == len(own),
                line=number,
            )
            for number, tests in enumerate(own, start=1)
        ),
        files=(),
        danger=(),
        after=(),
        labels=(),
        agent="shell",
        review=Review.RULES,
        isolation=Isolation.WORKTREE,
        test=test,
        setup=None,
        pause_siblings_at=(),
        source_path="PLAN.md",
        line=1,
    )


def test_a_checkpoint_runs_its_own_tests_else_the_default() -> None:
    spec = task(("a", "b"), (), (), test="all")
    assert commands_for(spec, 1) == ("a", "b")
    assert commands_for(spec, 2) == ("all",)


def test_the_final_checkpoint_runs_everything_once_in_order_the_default_last() -> None:
    spec = task(("a", "b"), ("c", "a"), ("d",), test="all")
    assert commands_for(spec, 3) == ("a", "b", "c", "d", "all")
    assert commands_for(spec, 3) == all_commands(spec)
    assert commands_for(task(("all",), ("b",), test="all"), 2) == ("all", "b")


@pytest.mark.parametrize("checkpoint", [1, 2])
def test_a_task_without_any_test_command_has_nothing_to_run(checkpoint: int) -> None:
    assert commands_for(task((), (), test=None), checkpoint) == ()


def test_an_unknown_checkpoint_is_an_error() -> None:
    with pytest.raises(KeyError):
        commands_for(task((), test="all"), 2)


def test_a_full_verification_half_way_leaves_out_what_later_checkpoints_name() -> None:
    spec = task(("a",), ("b",), ("c",), test="all")
    assert full_commands(spec, 2) == ("a", "b", "all")
    assert full_commands(spec, 3) == all_commands(spec)
