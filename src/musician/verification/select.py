"""Which commands verify a checkpoint of a task (D16, REF-8).

A checkpoint runs its own tests, or the task's default where it has none. A full verification, the final
checkpoint's among them, runs everything the task names up to there: each command once, in the order of the
document, the default last. Commands of later checkpoints are about work that is still to come.
"""

from musician.plans.model import TaskSpec


def commands_for(task: TaskSpec, checkpoint: int) -> tuple[str, ...]:
    """Return the commands of the checkpoint of this number; () if it has none; KeyError if there is no such
    checkpoint.
    """
    for candidate in task.checkpoints:
        if candidate.number == checkpoint:
            if candidate.final:
                return full_commands(task, checkpoint)
            return candidate.tests or _default(task)
    raise KeyError(checkpoint)


def all_commands(task: TaskSpec) -> tuple[str, ...]:
    """Return the commands of the final checkpoint."""
    return full_commands(task, len(task.checkpoints))


def full_commands(task: TaskSpec, checkpoint: int) -> tuple[str, ...]:
    """Return the commands of a full verification at the checkpoint of this number (D18)."""
    own = (command for each in task.checkpoints if each.number <= checkpoint for command in each.tests)
    return tuple(dict.fromkeys((*own, *_default(task))))


def _default(task: TaskSpec) -> tuple[str, ...]:
    return () if task.test is None else (task.test,)
