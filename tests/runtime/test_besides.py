"""What a step does besides its work: nothing of it is kept in silence (D31)."""

import os
import signal
import subprocess

import pytest

from tests.runtime.conftest import Stage

pytestmark = pytest.mark.deep

PLAN = """\
---
plan: p
test: "true"
{front}---
# P
## Phase 1: A
### task-01: T
#### Step 1: S
```bash run
{step}
```
"""


def _play(stage: Stage, step: str, *, front: str = "", expect: int = 0) -> str:
    """All that a run of one step says."""
    stage.write(PLAN.format(step=step, front=front), **{"a.txt": "a\n", ".gitignore": "node_modules/\n"})
    ran = stage.conduct()
    assert ran.code == expect, (ran, stage.told())
    return ran.out + ran.err


def test_what_a_step_configures_is_told_with_the_command_that_takes_it_back(stage: Stage) -> None:
    """AUDIT-U7: it stayed in the user's repository, untold."""
    stage.git("config", "user.email", "me@example.org")
    before = stage.git("config", "--local", "--list")
    said = _play(
        stage,
        "git config user.email bot@example.org; git config --add core.hooksPath .husky/_\n"
        "git remote add fork /nowhere\n"
        'printf "#!/bin/sh\\n" > "$(git rev-parse --git-common-dir)/hooks/pre-push"\necho work > b.txt',
    )
    undo = [line.partition("Undo it with: ")[2] for line in said.splitlines() if "noticed in step 1" in line]
    assert len(undo) == 4, said
    for command in undo:
        subprocess.run(["bash", "-c", command], check=True, env=stage.env)
    assert sorted(stage.git("config", "--local", "--list").splitlines()) == sorted(before.splitlines())
    assert not (stage.root / ".git" / "hooks" / "pre-push").exists()
    assert stage.conduct().out.count("noticed") == 0, "once"


def test_what_changes_in_the_users_main_tree_meanwhile_is_told(stage: Stage) -> None:
    """D43.4: by whomever, and once; it holds nothing up, for the user may work there."""
    write = 'echo stolen > "$MUSICIAN_ROOT/{name}"; echo work > {name}.txt'
    second = f"{write.format(name='a.txt')}\n```\n#### Step 2: T\n```bash run\n{write.format(name='a.txt')}0"
    said = _play(stage, second)
    (line,) = [line for line in said.splitlines() if "main working tree changed" in line]
    assert "noticed in step 1" in line
    assert line.endswith("a.txt")
    assert stage.states() == {"task-01": "complete"}
    assert (stage.root / "a.txt").read_text() == "stolen\n"


def test_no_program_of_ours_runs_a_filter_or_a_merge_driver_that_a_step_has_configured(stage: Stage) -> None:
    """AUDIT-U7: the filter ran when the step was committed, with the program's rights."""
    evil = f"tee -a {stage.hall / 'ran'}"
    said = _play(
        stage,
        f"git config filter.evil.clean '{evil}'; git config filter.evil.required true\n"
        f"git config merge.evil.driver '{evil}'\n"
        "echo '*.txt filter=evil merge=evil' > .gitattributes\necho work > b.txt; echo more >> a.txt",
    )
    assert not (stage.hall / "ran").exists()
    assert "filter.evil.clean is" in said
    assert stage.merged("b.txt") == "work\n"


def test_a_filter_that_was_there_when_the_plan_was_locked_is_used(stage: Stage) -> None:
    """AUDIT-U7: what is the user's own goes on working."""
    stage.git("config", "filter.big.clean", "tr a-z A-Z")
    stage.git("config", "filter.big.smudge", "tr A-Z a-z")
    _play(stage, "echo '*.big filter=big' > .gitattributes\necho work > x.big")
    assert stage.merged("x.big") == "WORK\n"


def test_a_link_to_the_users_own_folder_is_told_once_and_his_folder_stays(stage: Stage) -> None:
    """AUDIT-U3: the link was committed, and then took the place of what it led to."""
    (stage.root / "node_modules").mkdir()
    (stage.root / "node_modules" / "only.txt").write_text("mine\n")
    link = 'ln -sfn "$MUSICIAN_ROOT/node_modules" node_modules'
    said = _play(stage, "cat node_modules/only.txt > b.txt", front=f"setup: {link}\n")
    assert said.count("not committed, for it leads out of the tree or is ignored: node_modules") == 1
    assert (stage.root / "node_modules" / "only.txt").read_text() == "mine\n"
    assert stage.merged("b.txt") == "mine\n"


def test_a_step_that_commits_and_then_fails_is_played_from_where_the_last_one_ended(stage: Stage) -> None:
    """AUDIT-U8: it was played on top of its own commit."""
    _play(
        stage,
        "echo work >> b.txt; git add b.txt\ngit -c user.name=a -c user.email=a@b commit -qm own\n"
        '[ -e "$MUSICIAN_TEST_HALL/failed" ] || { touch "$MUSICIAN_TEST_HALL/failed"; false; }',
    )
    assert stage.merged("b.txt") == "work\n"
    assert stage.git("log", "--format=%s", "main").count("own") == 1
    kept = stage.git("for-each-ref", "--format=%(refname)", "refs/musician/partial").split()
    assert stage.git("show", f"{kept[0]}^:b.txt") == "work\n", "what it had committed is kept"


@pytest.mark.parametrize(
    "act",
    [
        "git commit -qm own",
        "git commit -qm own; echo more >> b.txt",
        "git switch -qc aside; git commit -qm own",
        "git switch -q --detach; git commit -qm own",
        "git commit -qm own; git reset -q --hard HEAD~2; echo own > c.txt; git add c.txt; git commit -qm own",
    ],
    ids=["committed", "and went on", "on a branch of its own", "on no branch", "over the last finished step"],
)
def test_a_step_that_commits_and_is_killed_is_played_from_where_the_last_one_ended(
    stage: Stage, act: str
) -> None:
    """AUDIT-U8: the same after a SIGKILL, when nobody could take anything back."""
    first = "echo first > a.txt\n```\n#### Step 2: More\n```bash run\n"
    once = f'if [ ! -e "$MUSICIAN_TEST_HALL/stood-half" ]; then {act}; fi\n'
    step = f"{first}echo work >> b.txt; git add b.txt\n{once}{stage.gate('half')}"
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    stage.write(PLAN.format(step=step, front=""), **{"a.txt": "a\n"})
    run = stage.start("run", "PLAN.md", **who)
    stage.wait_at("half")
    os.kill(stage.musician("task-01").pid, signal.SIGKILL)
    assert stage.end(run).code == 0, stage.told()
    stage.check_whole()
    assert stage.merged("a.txt") == "first\n"
    assert stage.merged("b.txt") == "work\n", "played once"
    assert "own" not in stage.git("log", "--format=%s", "main").splitlines()
    assert "c.txt" not in stage.git("ls-tree", "--name-only", "main")
    kept = stage.git("for-each-ref", "--format=%(refname)", "refs/musician/partial").split()
    assert any("own" in stage.git("log", "--format=%s", ref).splitlines() for ref in kept), "and it is kept"


@pytest.mark.parametrize("act", ["update-ref", "branch -f", "delete"])
def test_the_plans_branch_is_not_a_steps_to_move(stage: Stage, act: str) -> None:
    """AUDIT-U8: it was moved unnoticed, and what was not verified ended on the user's branch."""
    branch = "musician/p/_integration"
    foreign = "git commit-tree -m foreign -p HEAD HEAD^{tree}"
    how = {
        "update-ref": f"git update-ref refs/heads/{branch} $({foreign})",
        "branch -f": f"git branch -f {branch} $({foreign})",
        "delete": f"git branch -D {branch}",
    }[act]
    said = _play(
        stage,
        f"export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a\n{how}\n"
        "echo work > b.txt",
    )
    assert ("was deleted" if act == "delete" else "was moved") + " by somebody else" in said
    assert "foreign" not in stage.git("log", "--format=%s", "main")
    assert stage.merged("b.txt") == "work\n"
    kept = stage.git("for-each-ref", "--format=%(subject)", "refs/musician/moved/p/_integration")
    assert ("foreign" in kept) == (act != "delete")


def test_a_tree_is_given_what_the_plan_and_the_project_say_and_nothing_of_it_is_committed(
    stage: Stage,
) -> None:
    """AUDIT-N12, D33: a task's tree had no `.env`, no `node_modules`, and nobody said so."""
    for name, text in {
        ".env": "KEY=mine\n",
        "local/a.ini": "a\n",
        "local/deep/b.ini": "b\n",
        "node_modules/pkg/index.js": "js\n",
        "more.secret": "s\n",
        "seen.secret": "not ignored, so not copied\n",
    }.items():
        (stage.root / name).parent.mkdir(parents=True, exist_ok=True)
        (stage.root / name).write_text(text)
    (stage.root / ".git" / "info").mkdir(exist_ok=True)
    (stage.root / ".git" / "info" / "exclude").write_text("/more.secret\n/.env\n/seen.secret\n/local\n")
    (stage.root / ".worktreeinclude").write_text("*.secret\n.musician/\n!seen.secret\n")
    said = _play(
        stage,
        "cat .env local/a.ini local/deep/b.ini node_modules/pkg/index.js more.secret > b.txt\n"
        "test ! -e seen.secret; test -L node_modules; echo changed > .env; git add -f .env more.secret",
        front="copy: [.env, local/, nowhere.txt]\nshare: [node_modules]\nsetup: test -e .env\n",
    )
    assert stage.merged("b.txt") == "KEY=mine\na\nb\njs\ns\n"
    assert stage.git("diff", "--name-only", "main~1", "main").split() in (["b.txt"], [])
    assert set(stage.git("ls-tree", "-r", "--name-only", "main").split()) == {
        ".gitignore", ".worktreeinclude", "PLAN.md", "a.txt", "b.txt",
    }  # fmt: skip
    assert (stage.root / ".env").read_text() == "KEY=mine\n"
    assert (stage.root / "node_modules" / "pkg" / "index.js").read_text() == "js\n"
    assert "not in your tree, or is tracked: nowhere.txt" in said
    assert "sets its tree up: test -e .env" in said
    assert "noticed" not in said
