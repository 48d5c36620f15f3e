"""The referee (D26), on every plan of the corpus: no cheat is approved by rule, and no honest plan is asked about."""

import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest

from musician import service
from musician.plans.plan import load_plan
from musician.processes.identity import ProcessIdentity
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.runtime.program import program_of
from musician.trees.snapshot import tree_id
from musician.verification.checkpoint import verify_checkpoint
from musician.verification.earlier import Earlier
from musician.verification.result import VerificationResult
from tests.nightly import at_night
from tests.referee.conftest import Played, begin, corpus, git
from tests.runtime.conftest import Stage

ALL = [*corpus("cheats"), *corpus("honest")]
BY_RUN = [
    each
    for each in ALL
    if each.runner in ("script", "make")
    or each.name
    in (
        "deleted-test-file",
        "weakened-assertion",
        "behaviour-changed-where-the-plan-says-so",
        "exit-at-import",
    )
]
"""One of each kind goes the whole way; the others are verified as a checkpoint is, which is the same code."""


def each_once(plans: list[Played], names: Sequence[str]) -> list[object]:
    """As parameters: of each of these plans one runner stands for all; the others are deep.

    CI plays every plan with one runner, and every runner with one plan more.
    """
    first = {played.name: played for played in reversed(plans)}
    quick = [first[name] for name in names]
    runners = {played.runner: played for played in reversed(plans) if played not in quick}

    def name(played: Played) -> str:
        return f"{played.name}-{played.runner}"

    return at_night(
        plans,
        but=map(name, (*first.values(), *runners.values())),
        name=name,
        marks=lambda played: () if played in quick else (pytest.mark.deep,),
    )


def verified(played: Played, folder: Path) -> VerificationResult:
    tree = folder / "tree"
    tree.mkdir()
    git(tree, "init", "-q")
    begin(tree, played.runner)
    (tree / "PLAN.md").write_text(played.plan)
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "begin")
    task = load_plan(tree / "PLAN.md", root=tree).task("task-01")
    for step in task.steps:
        for script in step.run:
            subprocess.run(["bash", "-eu", "-c", script], cwd=tree, check=True, capture_output=True)
    check = program_of(task).items[-1]

    async def nobody(_: ProcessIdentity) -> None:
        pass

    return anyio.run(
        partial(
            verify_checkpoint,
            task.checkpoints[-1].tests or (task.test or "",),
            tree=tree,
            tree_id=tree_id(tree),
            log=folder / "verify.log",
            env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            settings=Settings(),
            checkpoint=1,
            final=True,
            on_process=nobody,
            earlier=Earlier(base=git(tree, "rev-parse", "HEAD")),
            may_change=check.may_change,  # type: ignore[union-attr]
            may_pass_before=check.may_pass_before,  # type: ignore[union-attr]
        )
    )


@pytest.mark.parametrize("played", each_once(ALL, sorted({played.name for played in ALL})))
def test_what_a_checkpoint_finds(played: Played, tmp_path: Path) -> None:
    """AUDIT-V1 AUDIT-V2 AUDIT-V3 AUDIT-V12 AUDIT-V13 AUDIT-V14 AUDIT-V20"""
    if not played.is_there:
        pytest.skip(f"left out: {played.runner} is not on this machine")
    result = verified(played, tmp_path)
    told = (result.to_judge(), result.to_mend(), result.tests_line())
    if played.must == "pass":
        assert result.ready, told
        assert result.to_judge() == (), told
    elif played.must == "ask":
        assert result.ready, told
        assert any(played.said in each for each in result.to_judge()), told
    else:
        assert not result.ready, told
        assert played.said in result.to_mend(), told


@pytest.mark.parametrize("played", each_once(BY_RUN, ["deleted-test-file"]))
def test_what_a_run_comes_to(played: Played, stage: Stage) -> None:
    if not played.is_there:
        pytest.skip(f"left out: {played.runner} is not on this machine")
    begin(stage.root, played.runner)
    stage.write(played.plan)
    ended = stage.conduct(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    asks = [ask.text for ask in service.open_asks(stage.store)]
    if played.must == "pass":
        assert (ended.code, asks) == (0, []), stage.told()
        assert stage.state("task-01") is State.COMPLETE
        return
    assert ended.code == 1, stage.told()
    assert stage.state("task-01") is not State.COMPLETE
    assert any(played.said in text for text in asks), asks
    if played.must == "ask":
        shown = stage.run("review", "show", "task-01").out
        assert "needs a judge: " in shown
        assert "needs a judge: " in stage.run("status", "task-01").out
        assert stage.run("review", "approve", "task-01").code == 0
        assert stage.conduct(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1").code == 0, stage.told()
        assert stage.state("task-01") is State.COMPLETE
