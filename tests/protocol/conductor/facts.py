"""Facts about tasks, as the conductor finds them, and what it decides over them."""

from musician.protocol.conductor import acts, orchestra
from musician.protocol.conductor import engine as c
from musician.protocol.rules.liveness import Owner
from musician.protocol.rules.review import Evidence, Submission, SubmittedWork, Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State

GREEN = Evidence(verification=Verification.GREEN, full=True)


def task(name: str = "task-01", state: State = State.WATCHING, **more: object) -> orchestra.TaskFacts:
    facts = {"phase": 1, "epoch": 1, "is_isolated": False, **more}
    return orchestra.TaskFacts(task_id=name, state=state, **facts)  # type: ignore[arg-type]


def decide(*tasks: orchestra.TaskFacts, jobs: int = 2) -> tuple[acts.Act, ...]:
    return c.decide(orchestra.Orchestra(tasks=tasks, jobs=jobs, settings=Settings()))


def only(*tasks: orchestra.TaskFacts) -> acts.Act:
    """The one act, which is about one of the tasks, and says something if it has a text."""
    (act,) = decide(*tasks)
    assert getattr(act, "task_id", tasks[0].task_id) in {each.task_id for each in tasks}
    assert getattr(act, "text", "said")
    return act


def submitted(
    *, trial: orchestra.Trial | None = None, ids: tuple[int, ...] = (), **submission: object
) -> orchestra.Submitted:
    facts: dict[str, object] = {
        "work": SubmittedWork(tree_id="t1"),
        "evidence": GREEN,
        "smoothness": 0,
        **submission,
    }
    return orchestra.Submitted(
        message_id=7,
        submission=Submission(**facts),  # type: ignore[arg-type]
        deviation_ids=ids,
        trial=trial,
    )


def reviewing(found: orchestra.Submitted | None = None, **more: object) -> orchestra.TaskFacts:
    facts = {"submitted": found or submitted(), "owner": Owner.LIVE, "is_running": True, **more}
    return task("task-01", State.NEEDS_REVIEW, was_claimed=True, **facts)


def reporting(*, is_context: bool = False, is_repeat: bool = False, **report: object) -> orchestra.TaskFacts:
    common = {"message_id": 8, "text": "gone", "is_context": is_context, "is_repeat": is_repeat, **report}
    found = orchestra.OpenReport(**common)  # type: ignore[arg-type]
    return task(state=State.ERROR, owner=Owner.LIVE, report=found, was_claimed=True)


def kept(name: str, **more: object) -> orchestra.TaskFacts:
    """A task that is played and about which nothing is due."""
    return task(name, State.WORKING, owner=Owner.LIVE, is_running=True, was_claimed=True, **more)
