"""How often git is started for a step: what one act knows it hands on, and does not ask again."""

import os
import shutil
from itertools import pairwise

from tests.runtime.conftest import Stage

MOST = 8
"""A status of the main tree before and after, one of the own tree before and after, reset, add, diff-index, commit."""

STEP = """\
#### Step {number}: S
```bash run
echo {number} > {number}.txt
```
"""


def test_a_step_costs_a_handful_of_git_commands(stage: Stage) -> None:
    """They were 15, and half of them asked what was just known."""
    steps = "".join(STEP.format(number=number) for number in (1, 2, 3))
    stage.write(f"---\nplan: p\ntest: 'true'\n---\n# P\n## Phase 1: A\n### task-01: T\n{steps}")
    log, folder = stage.hall / "git.log", stage.hall / "bin"
    folder.mkdir()
    counting = folder / "git"
    counting.write_text(f'#!/bin/sh\necho "$PPID $*" >> "{log}"\nexec "{shutil.which("git")}" "$@"\n')
    counting.chmod(0o755)
    done = stage.conduct(PATH=f"{folder}{os.pathsep}{stage.env['PATH']}")
    assert done.code == 0, done
    said = log.read_text().splitlines()
    musician = next(line.split()[0] for line in said if " commit --quiet " in line)
    own = [line for line in said if line.startswith(f"{musician} ")]
    commits = [number for number, line in enumerate(own) if " commit --quiet " in line]
    assert len(commits) == 3, own
    for one, next_one in pairwise(commits):
        assert next_one - one <= MOST, own[one : next_one + 1]
