"""The end of a run is a page: what was done, what was sent back and why, what is open, where everything is."""

from pathlib import Path

import pytest

from musician.plans.markdown import read_document
from tests.surroundings import Call, begin, git

PLAN = """\
---
plan: greeter
test: python3 -m unittest -q
---
# Greet | `people` <b>

## Phase 1: Foundations
### task-01: Make it
#### Step 1: Make it
```bash run
cat > test_it.py <<'PYTHON'
import unittest

class It(unittest.TestCase):
    def test_it(self):
        import it
        self.assertEqual(it.it(), 1)

    def test_more(self):
        import it
        self.assertTrue(it.it())
PYTHON
echo 'def it(): return 1' > it.py
echo '::deviation Medium was | made <i>otherwise</i>'
echo '::proposal PATTERN Say hello'
```
```bash rework
echo '# mended' >> it.py
echo '::answer 1 mended'
```
### task-02: Look
```yaml task
changes: none
```
#### Step 1: Look
```bash run
true
```
"""

OLD = """\
import unittest

class Old(unittest.TestCase):
    def test_old(self):
        self.assertTrue(__file__)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> Path:
    found = begin(tmp_path / "a b", {"PLAN.md": PLAN, "test_old.py": OLD})
    monkeypatch.chdir(found)
    call("init")
    return found


def kept_in(folder: Path) -> Path:
    return folder / "docs" / "implementation" / "reports" / "greeter-summary.md"


def test_the_page_tells_what_was_done_and_what_was_sent_back(folder: Path, program: Call) -> None:
    done = program("run", "PLAN.md", "--jobs", "2", "--summary", "out/END.md")
    assert done.code == 0, done.err
    page = (folder / "out" / "END.md").read_text(encoding="utf-8")
    assert page.startswith("# Greet \\| \\`people\\` \\<b\\>\n\n```text\ngreeter is complete: 2 of 2 tasks")
    (row,) = [line for line in page.splitlines() if line.startswith("| task-01 |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:3] == ["Make it", "complete"]
    assert cells[4:] == ["1", "1", "2", "+12 −0 in 2 files"]
    assert (
        "## Sent back\n\n- task-01 at checkpoint 1: 1. Medium deviation (was \\| made \\<i\\>otherwise"
        in page
    )
    assert "Say hello" in page.partition("## Open proposals")[2]
    assert "`musician trace greeter`" in page
    read_document(page)
    assert "Sent back:\n  task-01 at checkpoint 1: 1. Medium deviation (was | made <i>" in done.out
    assert "Open proposals:" in done.out


@pytest.mark.deep
def test_a_complete_plan_leaves_its_page_beside_the_reports_and_nowhere_else(
    folder: Path, program: Call
) -> None:
    assert program("run", "PLAN.md", "--jobs", "2").code == 0
    assert kept_in(folder).read_text(encoding="utf-8").startswith("# Greet")
    names = git(folder, "status", "--short", "--untracked-files=all").split()[1::2]
    assert all(name.startswith("docs/implementation/") for name in names), names
    before = kept_in(folder).read_text(encoding="utf-8")
    assert program("run", "PLAN.md", "--jobs", "2").code == 0
    assert "greeter is complete" in kept_in(folder).read_text(encoding="utf-8")
    assert before.rstrip().endswith("-->")


@pytest.mark.deep
@pytest.mark.parametrize(
    "is_committed",
    [pytest.param(True, marks=pytest.mark.deep, id="committed"), pytest.param(False, id="of the user's own")],
)
def test_the_page_is_written_over_no_file_of_the_users(
    folder: Path, program: Call, *, is_committed: bool
) -> None:
    kept_in(folder).write_text("mine\n")
    if is_committed:
        git(folder, "add", "-f", str(kept_in(folder)))
        git(folder, "commit", "-qm", "mine")
    done = program("run", "PLAN.md", "--jobs", "2", "--json")
    assert (done.code, done.json["page"]) == (0, None)
    assert kept_in(folder).read_text() == "mine\n"


@pytest.mark.deep
def test_a_plan_whose_name_is_no_text_has_its_page(folder: Path, shell: Call) -> None:
    done = shell(
        "cp PLAN.md $'p\\xff.md'; git add -A; git -c user.name=A -c user.email=a@b commit -qm odd;"
        " $MUSICIAN run $'p\\xff.md' --jobs 2 --summary END.md"
    )
    assert done.code == 0, done.err
    assert "# Greet" in (folder / "END.md").read_text(encoding="utf-8")


@pytest.mark.deep
def test_programs_are_told_the_same(folder: Path, program: Call) -> None:
    found = program("run", "PLAN.md", "--jobs", "2", "--json").json
    (work, other) = found["work"]
    assert (work["steps"], work["new_tests"], work["lines_added"], work["files"]) == (1, 2, 12, 2)
    assert other["files"] is None
    assert [(each["task_id"], each["checkpoint"]) for each in found["sent_back"]] == [("task-01", 1)]
    assert [each["title"] for each in found["proposals"]] == ["Say hello"]
    assert folder / found["page"] == kept_in(folder)


@pytest.mark.deep
def test_what_cannot_be_written_is_told_after_the_end_was(folder: Path, program: Call) -> None:
    done = program("run", "PLAN.md", "--jobs", "2", "--summary", "PLAN.md/END.md")
    assert done.code == 1
    assert "greeter is complete" in done.out
    assert "PLAN.md" in done.err
