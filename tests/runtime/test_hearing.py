"""Who drives tasks hears of plain SQL, which rings nobody, long before a slow look (D11)."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.testing.waiting import HANG_S
from tests.runtime.test_raw_musician import CLAIM, PLAN, told

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

SELDOM = """
import sys
from musician.runtime import fleet
from musician.runtime.conductor import conduct
fleet.LOOK_EVERY_S = conduct.LOOK_EVERY_S = {seldom_s}
from musician.__main__ import main
sys.exit(main())
"""

INSTRUCTION = """\
# task-09: The tune

## Step 1: Hum
```bash run
true
```
"""


@pytest.fixture
def seldom(stage: "Stage") -> "Stage":
    """No program of this stage lives to see a second slow look."""
    stage.command = (sys.executable, "-c", SELDOM.format(seldom_s=HANG_S + 100))
    return stage


@pytest.fixture
def bells() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="m-") as folder:
        yield Path(folder)


def test_a_conductor_hears_a_raw_claim(seldom: "Stage") -> None:
    """D11.9"""
    seldom.write(PLAN)
    seldom.start("run", "PLAN.md", "--jobs", "0")
    seldom.until(lambda: "task-01" in seldom.states() and seldom.raw("SELECT 1 FROM baselines"))
    seldom.raw(CLAIM)
    seldom.until(lambda: told(seldom))


def test_a_worker_hears_of_a_raw_task(seldom: "Stage", bells: Path) -> None:
    """D11.9"""
    seldom.write(PLAN, **{"task-09.md": INSTRUCTION})
    seldom.start("worker", XDG_RUNTIME_DIR=str(bells))
    seldom.until(lambda: any(bells.glob("*/*/*")))
    seldom.raw(
        "INSERT INTO orchestration_tasks (task_id, state, instruction_path)"
        " VALUES ('task-09', 'watching', 'task-09.md')"
    )
    seldom.raw(
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        " VALUES ('task-09', 'task-00', 'instruction', 'task-09.md')"
    )
    seldom.until(lambda: service.task_view(seldom.store, "task-09").sessions)
