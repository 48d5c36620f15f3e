"""Facts about tasks, as the conductor finds them, and what it decides over them."""

from musician.protocol.conductor import engine as c
from musician.protocol.rules.liveness import Owner
from musician.protocol.rules.review import Evidence, Submission, SubmittedWork, Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State

GREEN = Evidence(verification=Verification.GREEN, full=True)


def task(name: str = "task-01", state: State = State.WATCHING, **more: object) -> c.TaskFacts:
    facts = {"phase": 1, "epoch": 1, "is_isolated": False, **more}
    return c.TaskFacts(task_id=name, state=state, **facts)  # type: ignore[arg-type]


def decide(*tasks: c.TaskFacts, jobs: int = 2) -> tuple[c.Act, ...]:
    return c.decide(c.Orchestra(tasks=tasks, jobs=jobs, settings=Settings()))


def only(*tasks: c.TaskFacts) -> c.Act:
    (act,) = decide(*tasks)
    return act


def submitted(
    *, trial: c.Trial | None = None, ids: tuple[int, ...] = (), **submission: object
) -> c.Submitted:
    facts: dict[str, object] = {
        "work": SubmittedWork(tree_id="t1"),
        "evidence": GREEN,
        "smoothness": 0,
        **submission,
    }
    return c.Submitted(
        message_id=7,
        submission=Submission(**facts),  # type: ignore[arg-type]
        deviation_ids=ids,
        trial=trial,
    )


def reviewing(found: c.Submitted | None = None, **more: object) -> c.TaskFacts:
    facts = {"submitted": found or submitted(), "owner": Owner.LIVE, "is_running": True, **more}
    return task("task-01", State.NEEDS_REVIEW, was_claimed=True, **facts)


def reporting(*, is_context: bool = False, is_repeat: bool = False, **report: object) -> c.TaskFacts:
    found = c.Report(message_id=8, text="gone", is_context=is_context, is_repeat=is_repeat, **report)  # type: ignore[arg-type]
    return task(state=State.ERROR, owner=Owner.LIVE, report=found, was_claimed=True)


def kept(name: str, **more: object) -> c.TaskFacts:
    """A task that is played and about which nothing is due."""
    return task(name, State.WORKING, owner=Owner.LIVE, is_running=True, was_claimed=True, **more)
