"""A plan's file may have any name, and lie in any folder: each command that names it can be given as it stands."""

import re
import shlex
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from musician import service
from musician.protocol.arguments import as_argument
from musician.reporting.asks import ANSWERS
from musician.store.opening import open_store
from tests.surroundings import git

Call = Callable[..., Any]

TOLD = re.compile(r"musician (?:run|plan amend|plan check) [^`\n]+?(?=`|\n|  )")
FOLDERS = re.compile(r"(?:git -C|tail) [^`\n]+?(?=`|\n|  )")
PLAN = """\
---
plan: odd
---
# Odd
## Phase 1: A
### task-01: T
#### Step 1: S
```bash run
exit 3
```
"""


@pytest.fixture(params=["-my Pläne/der Plan's.md", "docs/PLAN.md", "-x.md"])
def file(request: pytest.FixtureRequest, repository: Path, call: Call) -> str:
    """The name of a plan that is committed, in a repository that is set up."""
    place = repository / str(request.param)
    place.parent.mkdir(exist_ok=True)
    place.write_text(PLAN)
    (repository / "PLAN.md").unlink()
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "plan")
    call("init")
    return str(request.param)


def test_whatever_names_the_plan_can_be_given_as_it_stands(
    file: str, repository: Path, call: Call, shell: Call, tmp_path: Path
) -> None:
    """It was `musician run PLAN.md`, whatever the file was called, and without its options."""
    told = call("plan", "lock", "--", file).out
    played = call("run", "--jobs", "1", "--avoid-conflicts", "--", file, expect=1).out
    assert played.rstrip().endswith(f"musician run {as_argument(file)} --jobs 1 --avoid-conflicts")
    told += played + call("status").out + call("needs-me", expect=1).out
    told += call("task", "retry", "task-01").out
    with closing(open_store(repository / ".musician" / "comms.db")) as store:
        for kind in ANSWERS:
            service.ask_human(store, "task-01", kind=kind, subject_id=0, text="?")
    told += call("needs-me", expect=1).out + call("review", "show", "task-01").out
    (repository / file).write_text(PLAN.replace("exit 3", "exit 4"))
    told += call("run", "--", file, expect=2).err + call("plan", "lock", "--", file, expect=2).err
    commands = set(TOLD.findall(told))
    assert {each.split(" ")[1] for each in commands} == {"run", "plan"}
    for command in commands:
        _, verb, *words = shlex.split(command)
        assert (repository / words[verb == "plan"]).samefile(repository / file), command
    amend = next(each for each in commands if " amend " in each)
    assert shell(f"$MUSICIAN {amend.removeprefix('musician ')}").code == 0
    (repository / "far" / "below").mkdir(parents=True)
    commands = {amend, *FOLDERS.findall(told)}
    assert {each.split(" ")[0] for each in commands} == {"musician", "git", "tail"}
    for command in commands:
        done = shell(f'musician() {{ $MUSICIAN "$@"; }}; cd far/below && {command}')
        assert done.code == 0, (command, done)
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", "--detach", str(linked))
    for command in commands - {amend}:
        done = shell(f"cd {shlex.quote(str(linked))} && {command}")
        assert done.code == 0, ("in a linked tree of the user's", command, done)
    (merges,) = (each for each in commands if each.startswith("git"))
    where = f"{merges.partition(' merge ')[0]} rev-parse --show-toplevel"
    there = shell(f"cd {shlex.quote(str(linked))} && {where}").out.rstrip()
    assert Path(there) == repository / ".musician" / "trees" / "odd" / "task-01"
    nowhere = shell(f"cd {shlex.quote(str(linked))} && {where.replace('odd/task-01', 'odd/task-09')}")
    assert nowhere.code != 0, "without the task's tree nothing is merged where one stands"
    assert call("plan", "check", "nowhere.md", expect=2).err.count("nowhere.md") == 1
