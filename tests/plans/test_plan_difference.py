"""What changed between two plans."""

from musician.plans.difference import PlanChange, compare_tasks, plan_difference
from musician.plans.model import Plan
from musician.plans.plan import parse_plan

OLD = """---
plan: p
---
# T
## Phase 1: A
### t-1: One
#### Step 1: a
##### Agent 1: b
### t-2: Two
#### Step 1: a
## Phase 2: B
### t-3: Three
#### Step 1: a
### t-4: Four
#### Step 1: a
"""


def read(text: str) -> Plan:
    return parse_plan(text, path="PLAN.md", read_file=dict[str, str]().get)


def test_the_difference_is_a_unified_diff() -> None:
    assert plan_difference(OLD, OLD.replace("One", "Öne"), path="PLAN.md") == (
        "--- PLAN.md (locked)\n+++ PLAN.md\n@@ -3,7 +3,7 @@\n ---\n # T\n ## Phase 1: A\n-### t-1: One\n+### t-1: Öne\n"
        " #### Step 1: a\n ##### Agent 1: b\n ### t-2: Two\n"
    )


def test_line_ends_are_no_difference() -> None:
    assert plan_difference(OLD, "\ufeff" + OLD.replace("\n", "\r\n"), path="PLAN.md") == ""


def test_a_task_that_only_moved_down_is_the_same() -> None:
    change = compare_tasks(read(OLD), read(OLD.replace("# T\n", "# T\n\nMore text.\n\n")))
    assert change == PlanChange(added=(), removed=(), changed=())
    assert not change


def test_tasks_come_go_and_change() -> None:
    new = OLD.replace("##### Agent 1: b", "##### Agent 1: c").replace("### t-2: Two", "### t-5: Two")
    change = compare_tasks(read(OLD), read(new))
    assert change == PlanChange(added=("t-5",), removed=("t-2",), changed=("t-1",))
    assert change


def test_a_default_of_the_plan_changes_the_tasks_that_use_it() -> None:
    new = OLD.replace("plan: p\n", "plan: p\nreview: human\n")
    assert compare_tasks(read(OLD), read(new)).changed == ("t-1", "t-2", "t-3", "t-4")


def test_a_task_that_moves_to_another_phase_is_changed() -> None:
    new = OLD.replace(
        "## Phase 2: B\n### t-3: Three\n#### Step 1: a\n", "### t-3: Three\n#### Step 1: a\n## Phase 2: B\n"
    )
    assert compare_tasks(read(OLD), read(new)) == PlanChange(added=(), removed=(), changed=("t-3",))
