"""A task's section in the place of another's, and a new one at a phase's end."""

from musician.plans.splicing import with_task_added, with_tasks_of

OLD = """\
---
plan: p
---
# P

## Phase 1: A

### task-01: One
#### Step 1: S
```bash run
# ### task-02: no heading
echo old
```

### task-02: Two
old

## Phase 2: B
### task-03: Three
old
"""
NEW = OLD.replace("old", "new\n\nand more").replace(
    "## Phase 1: A", "## Phase 1: A\nsaid\n### task-04: Four\n"
)


def test_only_the_named_tasks_are_as_they_were() -> None:
    """AGAIN-AMEND: whatever stands around them; what is only in one of the texts is left alone."""
    text = with_tasks_of(NEW, OLD, ["task-03", "task-01", "task-04", "task-09"])
    assert text == NEW.replace("echo new\n\nand more", "echo old").replace(
        "Three\nnew\n\nand more", "Three\nold"
    )
    assert with_tasks_of(NEW.replace("\n", "\r\n"), OLD, ["task-01", "task-02", "task-03"]) == NEW.replace(
        "new\n\nand more", "old"
    )
    assert with_tasks_of(NEW, OLD, []) == NEW


def test_a_task_is_added_at_a_phases_end() -> None:
    """AGAIN-ADD"""
    section = "### task-05: Five\nsaid\n"
    assert with_task_added(OLD, section, phase=None) == f"{OLD}\n{section}"
    assert with_task_added(OLD, section, phase=1) == OLD.replace("## Phase 2", f"{section}\n## Phase 2")
    assert with_task_added(OLD, section, phase=3) is None
    assert with_task_added("# P\n", section, phase=None) is None
