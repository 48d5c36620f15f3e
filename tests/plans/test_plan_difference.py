"""What changed between two plans."""

from musician.plans.plan import plan_difference

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


def test_the_difference_is_a_unified_diff() -> None:
    assert plan_difference(OLD, OLD.replace("One", "Öne"), path="PLAN.md") == (
        "--- PLAN.md (locked)\n+++ PLAN.md\n@@ -3,7 +3,7 @@\n ---\n # T\n ## Phase 1: A\n-### t-1: One\n+### t-1: Öne\n"
        " #### Step 1: a\n ##### Agent 1: b\n ### t-2: Two\n"
    )


def test_line_ends_are_no_difference() -> None:
    assert plan_difference(OLD, "\ufeff" + OLD.replace("\n", "\r\n"), path="PLAN.md") == ""
