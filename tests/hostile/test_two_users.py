"""Two users of one group work on one repository, by git's own rule for it; nobody else gets in."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from musician.testing.waiting import HANG_S
from tests.hostile.kinds import PLAN

PROGRAM = Path(sys.executable).with_name("musician")
GROUP, ADA, BOB = 64_001, 64_011, 64_012

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")


def become(user: int) -> list[str]:
    """Another user who may read everything, since our interpreter may lie in root's home, and writes what is his."""
    return [
        "setpriv",
        f"--reuid={user}",
        f"--regid={GROUP}",
        "--clear-groups",
        "--inh-caps=+dac_read_search",
        "--ambient-caps=+dac_read_search",
    ]


class Desk:
    """A repository of Ada's, and whoever comes by."""

    def __init__(self, top: Path) -> None:
        self.top, self.repository = top, top / "project"

    def types(self, user: int, line: str, *, expect: int | None = 0) -> str:
        home = self.top / str(user)
        if not home.exists():
            home.mkdir()
            (home / "tmp").mkdir()
            # Git opens what belongs to another only when told to; that is between git and its user.
            (home / ".gitconfig").write_text(
                "[user]\nname = U\nemail = u@example.org\n[safe]\ndirectory = *\n[init]\ndefaultBranch = main\n"
            )
            for path in (home, *home.iterdir()):
                os.chown(path, user, GROUP)
        surroundings = {
            "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "LANG": "C.UTF-8",
        }
        done = subprocess.run(
            [*become(user), "bash", "-ec", f"umask 022; {line}"],
            cwd=self.repository,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=HANG_S,
            check=False,
        )
        said = done.stdout.decode("utf-8", "replace")
        assert expect is None or done.returncode == expect, said
        return said

    def begin(self, shared: str) -> None:
        self.repository.mkdir()
        os.chown(self.repository, ADA, GROUP)
        self.repository.chmod(0o2775 if shared != "false" else 0o755)
        step = "umask > how.txt; echo work > work.txt"
        plan = self.top / "PLAN.md"
        plan.write_text(PLAN.format(test="true", step=step).replace("plan: p", "plan: p\nreview: human"))
        self.types(
            ADA, f"git init -q --shared={shared} .; umask 002; cp {plan} .; git add -A; git commit -qm first"
        )


@pytest.fixture
def desk() -> Iterator[Desk]:
    """Where everybody may look, unlike in the folders that tests get."""
    top = Path(tempfile.mkdtemp(prefix="two-users-", dir="/tmp"))
    top.chmod(0o755)
    if shutil.which("setpriv") is None or subprocess.run([*become(ADA), "true"], check=False).returncode:
        pytest.skip("nobody can become another user here")
    yield Desk(top)
    shutil.rmtree(top)


def test_a_group_that_shares_the_repository_shares_the_plan(desk: Desk) -> None:
    """AUDIT-S4: Ada's plan waits for a review; Bob gives it, and conducts the rest in her trees."""
    desk.begin("group")
    desk.types(ADA, "musician init")
    desk.types(ADA, "musician run PLAN.md", expect=1)
    desk.types(BOB, "musician review approve task-01")
    desk.types(BOB, "musician run PLAN.md")
    assert desk.types(BOB, "git show main:work.txt") == "work\n"
    desk.types(ADA, "musician status; musician run PLAN.md")
    made = [desk.repository / ".musician", *(desk.repository / ".musician").rglob("*")]
    closed = [path for path in made if not path.is_symlink() and not path.stat().st_mode & stat.S_IWGRP]
    assert closed == []
    assert {path.lstat().st_gid for path in made} == {GROUP}


def test_what_an_earlier_version_made_is_shared_by_the_next_init(desk: Desk) -> None:
    """AUDIT-S4, AUDIT-S6: and closed again once git shares it no longer."""
    desk.begin("group")
    desk.types(ADA, "musician init; chmod -R g-w .musician; chmod 755 .musician; musician init")
    desk.types(BOB, "musician task add 7 --instructions /dev/null", expect=None)
    desk.types(BOB, "musician send task-00 hello", expect=None)
    assert (desk.repository / ".musician" / "comms.db").stat().st_mode & stat.S_IWGRP
    desk.types(ADA, "git config core.sharedRepository false; musician init")
    assert stat.S_IMODE((desk.repository / ".musician").stat().st_mode) & 0o077 == 0


def test_a_repository_of_ones_own_lets_nobody_in(desk: Desk) -> None:
    """AUDIT-S6: who can only read a lock can hold it; what is refused names the file."""
    desk.begin("false")
    desk.types(ADA, "musician init; musician run PLAN.md", expect=1)
    assert stat.S_IMODE((desk.repository / ".musician").stat().st_mode) & 0o077 == 0
    said = desk.types(BOB, "musician status", expect=2)
    assert ".musician" in said
    assert "Traceback" not in said


PAIR = """\
---
plan: p
test: "true"
---
# P
## Phase 1: A
### task-01: T
#### Step 1: S
```bash run
chmod a-w "$MUSICIAN_ROOT/.git/worktrees"; echo one > one.txt
```
### task-02: U
#### Step 1: S
```bash run
echo two > two.txt
```
"""


@pytest.mark.deep
def test_what_no_retry_heals_is_asked_at_the_first(desk: Desk) -> None:
    """AUDIT-S8: before any session where it is so at the start, after one where it comes to be so."""
    desk.begin("false")
    desk.types(ADA, "musician init")
    (desk.repository / "PAIR.md").write_text(PAIR.replace("plan: p", "plan: pair"))
    desk.types(ADA, "chmod a-w .git/refs/heads")
    said = desk.types(ADA, "musician run PAIR.md", expect=2)
    assert str(desk.repository / ".git" / "refs" / "heads") in said
    desk.types(ADA, "chmod u+w .git/refs/heads")
    said = desk.types(ADA, "musician run PAIR.md --jobs 1", expect=1)
    assert said.count("musician-task-02 claimed it") == 1, said
    assert "musician-task-02-S2" not in said
    asked = next(line for line in said.splitlines() if "task-02" in line and "needs a person" in line)
    assert str(desk.repository / ".git" / "worktrees") in asked
    desk.types(ADA, "chmod u+w .git/worktrees; for t in 01 02; do musician send task-$t mended || true; done")
    desk.types(ADA, "musician run PAIR.md --jobs 1")
    assert desk.types(ADA, "git show main:two.txt") == "two\n"
