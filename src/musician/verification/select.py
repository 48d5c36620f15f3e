"""Which commands verify a checkpoint of a task (D16, REF-8).

A checkpoint runs its own tests, or the task's default where it has none. The final one, and a full
verification asked for at any other, runs everything the task names: each command once, in the order of the
document, the default last.
"""

from musician.plans.model import TaskSpec

__all__ = ["all_commands", "commands_for"]


def commands_for(task: TaskSpec, checkpoint: int) -> tuple[str, ...]:
    """The commands of the checkpoint of this number; () if it has none; KeyError if there is none such."""
    for candidate in task.checkpoints:
        if candidate.number == checkpoint:
            if candidate.final:
                return all_commands(task)
            return candidate.tests or _default(task)
    raise KeyError(checkpoint)


def all_commands(task: TaskSpec) -> tuple[str, ...]:
    """What the final checkpoint runs."""
    own = (command for checkpoint in task.checkpoints for command in checkpoint.tests)
    return tuple(dict.fromkeys((*own, *_default(task))))


def _default(task: TaskSpec) -> tuple[str, ...]:
    return () if task.test is None else (task.test,)
