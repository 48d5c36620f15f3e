"""B20: twenty processes claim one task, fifty rounds: one winner each, nineteen clean fallbacks.

Two processes claim two tasks that share a dangerous file: one of them waits (PLAN-11).
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from musician import service
from musician.plans.plan import parse_plan
from musician.protocol.states import State
from musician.store.port import Store
from musician.store.queries.tasks import Tasks
from musician.testing.waiting import HANG_S

PROCESSES = 20
ROUNDS = 50

CONTENDER = """
import sys
from pathlib import Path
from musician import service
from musician.protocol.errors import ClaimBlocked
from musician.protocol.settings import Settings
from musician.store.sqlite.store import SqliteStore

store = SqliteStore.open(Path(sys.argv[1]), busy_timeout_s=float(sys.argv[3]))
print("ready", flush=True)
for line in sys.stdin:
    task_id = line.strip()
    try:
        taken = service.claim(store, task_id, f"{task_id}-by-{sys.argv[2]}", settings=Settings())
        print(f"won {taken.claim.epoch}", flush=True)
    except ClaimBlocked as blocked:
        print(f"blocked {blocked.state}", flush=True)
store.close()
"""


class Contender:
    """A process that claims whatever it is told, as soon as it is told."""

    def __init__(self, database: Path, number: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CONTENDER, str(database), str(number), str(HANG_S)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, task_id: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{task_id}\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def contenders(database: Path, count: int = PROCESSES) -> Iterator[list[Contender]]:
    crowd = [Contender(database, number) for number in range(count)]
    try:
        assert {each.answer() for each in crowd} == {"ready"}
        yield crowd
    finally:
        for each in crowd:
            each.process.communicate(timeout=HANG_S)
    assert {each.process.returncode for each in crowd} == {0}


def test_one_of_twenty_processes_wins_each_of_fifty_rounds(open_store: Callable[[], Store]) -> None:
    store = open_store()
    tasks = [f"task-{number:02d}" for number in range(1, ROUNDS + 1)]
    for task_id in tasks:
        service.open_task(store, task_id, title="t", instruction_path="a.md")
    with contenders(Path(store.name)) as crowd:
        for task_id in tasks:
            for each in crowd:
                each.tell(task_id)
            answers = [each.answer() for each in crowd]
            assert sorted(answers) == ["blocked working"] * (PROCESSES - 1) + ["won 1"]
            check_round(store, task_id, winner=f"{task_id}-by-{answers.index('won 1')}")


def check_round(store: Store, task_id: str, *, winner: str) -> None:
    view = service.task_view(store, task_id)
    assert (view.row.state, view.row.session_id, view.row.claim_epoch) == (State.WORKING, winner, 1)
    assert [session.session_id for session in view.sessions] == [winner]
    assert [change.to_state for change in view.history] == [State.WATCHING, State.WORKING]
    with store.read() as tx:
        for number in range(PROCESSES):
            session = f"{task_id}-by-{number}"
            fell_back = tx.one(Tasks.task, task_id=f"fallback-{session}") is not None
            assert fell_back == (session != winner)


PLAN = """\
---
plan: band
---
# Band

## Phase 1: All
"""

TASK = """
### task-{number}: Task {number}
```yaml task
danger: [shared-{pair}.toml]
```
#### Step 1: Write
"""


def test_of_two_workers_that_look_in_the_same_moment_one_gets_the_dangerous_file(
    open_store: Callable[[], Store],
) -> None:
    store = open_store()
    pairs = [(f"task-{number}", f"task-{number + 1}") for number in range(1, 2 * ROUNDS, 2)]
    text = PLAN + "".join(
        TASK.format(number=number, pair=(number + 1) // 2) for number in range(1, 2 * ROUNDS + 1)
    )
    plan = parse_plan(text, path="PLAN.md", read_file=lambda _: None)
    paths = {task.task_id: "a.md" for task in plan.tasks}
    service.lock_plan(store, plan, base_branch=None, base_commit="c", instructions=paths)
    with contenders(Path(store.name), count=2) as crowd:
        for pair in pairs:
            for each, task_id in zip(crowd, pair, strict=True):
                each.tell(task_id)
            answers = [each.answer() for each in crowd]
            assert sorted(answers) == ["blocked watching", "won 1"]
            winner = pair[answers.index("won 1")]
            (loser,) = set(pair) - {winner}
            assert service.task_row(store, loser).state is State.WATCHING
            (notice,) = (m for m in service.messages_of(store, loser) if m.message_type == "claim_blocked")
            assert f"{winner} is at work on the same dangerous files" in notice.message
