"""A forecast equals the merge that it foretells, in repositories of every kind, and leaves nothing behind."""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.processes.identity import identify
from musician.protocol.errors import GitFailed
from musician.protocol.messages.forecasts import MERGED
from musician.testing.waiting import until
from musician.trees.branches import integration_branch, trial_name
from musician.trees.conflicts import Conflict
from musician.trees.foresight import NOTHING_AHEAD, Ahead, Foresight
from musician.trees.merge import ensure_integration, trial_merge
from musician.trees.root import Root, exclude_private, find_root
from musician.trees.steps import commit_step
from musician.trees.worktree import Worktree, ensure_detached_tree, ensure_worktree
from tests.trees.histories import random_plan

GitCommand = Callable[..., str]
TASKS = ("task-01", "task-02", "task-03")
PLAN = "greeter"


def real(root: Root, task_id: str, onto: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The commit that a trial makes, or the paths in which it conflicts."""
    trial = trial_merge(root, plan_id=PLAN, task_id=task_id, title="T", base="trunk", onto=onto)
    return ("", tuple(sorted(trial.paths))) if isinstance(trial, Conflict) else (trial.commit, ())


def really_ahead(root: Root, task_ids: tuple[str, ...]) -> dict[tuple[str, str], tuple[str, ...]]:
    """What is ahead, found out by trials as the conductor makes them. Raises :class:`GitFailed` as they do."""
    alone = {task_id: real(root, task_id) for task_id in task_ids}
    found = {(task_id, MERGED): paths for task_id, (_, paths) in alone.items()}
    for one, other in ((a, b) for a in task_ids for b in task_ids if a < b):
        orders = [
            set(real(root, second, alone[first][0])[1])
            for first, second in ((one, other), (other, one))
            if alone[first][0]
        ]
        if len(orders) == 2:  # both could be merged first, so that there is a truth to compare with
            found[one, other] = tuple(sorted(set().union(*orders)))
    return found


@pytest.mark.parametrize("seed", [7, 53, 60])
def test_a_forecast_is_what_the_trials_give(seed: int) -> None:
    """D24.13: in two of them the order of the two counts."""
    check_history(seed)


@pytest.mark.deep
@given(st.integers(0, 10**6))
def test_a_forecast_is_what_the_trials_of_any_history_give(seed: int) -> None:
    """D24.13: renames, modes, links, submodules, binary files, line ends; attributes, merge drivers and settings
    of the user's; a side that was merged before, or written by hand. What git refuses to try is left out."""
    check_history(seed)


def check_history(seed: int) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        repo = Path(folder, "repo")
        subprocess.run(["git", "init", "-q", "-b", "trunk", str(repo)], check=True)
        histories, settings = random_plan(seed, 2, PLAN)
        histories.write(repo, settings)
        subprocess.run(["git", "reset", "-q", "--hard"], cwd=repo, check=True)
        root = find_root(repo)
        exclude_private(root)
        ahead = look(root, Path(folder))
        try:
            truth = really_ahead(root, ahead.tasks)
        except GitFailed:
            return
        assert {pair: ahead.meetings[pair] for pair in truth} == truth, settings


def look(root: Root, folder: Path, task_ids: tuple[str, ...] = TASKS) -> Ahead:
    own = folder / "sight"
    own.mkdir()
    found = Foresight(root, PLAN, "trunk", own).look(task_ids)
    shutil.rmtree(own)
    assert found is not None
    return found


@pytest.fixture
def play(root: Root) -> Callable[..., Worktree]:
    """A task plays a step that writes one file."""

    def step(task_id: str, name: str, content: str, item: str = "step 1") -> Worktree:
        tree = ensure_worktree(root, PLAN, task_id, "trunk")
        (tree.path / name).write_text(content)
        commit_step(tree, task_id=task_id, item=item, title="Write", session_id="s", epoch=1)
        return tree

    return step


@pytest.fixture
def sight(root: Root, tmp_path: Path) -> Foresight:
    folder = tmp_path / "sight"
    folder.mkdir()
    base = ensure_integration(root, PLAN, "trunk")
    return Foresight(root, PLAN, base, folder)


def test_only_what_has_moved_is_merged_again_and_nothing_of_it_is_left(
    root: Root,
    play: Callable[..., Worktree],
    sight: Foresight,
    git: GitCommand,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """D24.12, D24.15: a pair is looked at when one of its heads has moved; the repository has no object more."""
    asked: list[tuple[str, ...]] = []
    merge = Foresight._merge

    def counting(self: Foresight, *pair: str) -> object:
        asked.append(pair)
        return merge(self, *pair)

    monkeypatch.setattr(Foresight, "_merge", counting)
    for number, task_id in enumerate(TASKS):
        play(task_id, "a.txt" if number < 2 else "c.txt", f"{task_id}\n")
    before = git(root.path, "count-objects")
    found = sight.look(TASKS)
    assert found is not None
    assert {pair: paths for pair, paths in found.meetings.items() if paths} == {TASKS[:2]: ("a.txt",)}
    assert (len(asked), git(root.path, "count-objects")) == (6, before), "three pairs, each in either order"
    assert sight.look(TASKS) == found
    assert len(asked) == 6
    play("task-03", "a.txt", "task-03\n", item="step 2")
    found = sight.look(TASKS)
    assert found is not None
    assert len(asked) == 6 + 4, "two pairs"
    assert set(found.of("task-03").items()) == {
        ("task-01", ("a.txt",)),
        ("task-02", ("a.txt",)),
        (MERGED, ()),
    }
    merged, _ = real(root, "task-01")
    git(root.path, "update-ref", f"refs/heads/{integration_branch(PLAN)}", merged)
    found = sight.look(TASKS)
    assert found is not None
    assert found.tasks == ("task-02", "task-03"), "what is merged is not ahead any more"
    assert found.meetings == {
        ("task-02", MERGED): ("a.txt",),
        ("task-03", MERGED): ("a.txt",),
        ("task-02", "task-03"): (),
    }, "of what conflicts with the merged work, that is told"


@pytest.mark.parametrize(
    "driver",
    ["./tools/join.sh %A %B", "sh tools/join.sh %A %B", "sh made/join.sh %A %B", "nowhere/join.sh %A %B"],
)
def test_a_merge_driver_that_is_a_file_of_the_project_does_what_it_does_in_a_trial(
    root: Root, play: Callable[..., Worktree], git: GitCommand, tmp_path: Path, driver: str
) -> None:
    """D24.13: one called by a relative path was not found in memory, and what it merges counted as a conflict."""
    (root.path / "tools").mkdir()
    (root.path / "tools" / "join.sh").write_text('#!/bin/sh\ncat "$2" >> "$1"\n')
    (root.path / "tools" / "join.sh").chmod(0o755)
    (root.path / ".gitattributes").write_text("*.txt merge=join\n")
    (root.path / ".gitignore").write_text("made/\n")
    git(root.path, "add", "-A")
    git(root.path, "commit", "-qm", "a driver")
    git(root.path, "config", "merge.join.driver", driver)
    for task_id in TASKS[:2]:
        play(task_id, "a.txt", f"{task_id}\n")
    play("task-03", "c.md", "apart\n")
    made = Path(ensure_integration_tree(root), "made")
    made.mkdir()
    (made / "join.sh").write_text('cat "$2" >> "$1"\n')
    ahead = look(root, tmp_path)
    expected = ("a.txt",) if "nowhere" in driver else ()
    assert ahead.meetings[TASKS[:2]] == expected
    assert dict(ahead.meetings) == really_ahead(root, TASKS)


@pytest.mark.parametrize(("autocrlf", "clash"), [("false", ("a.txt",)), ("input", ())])
def test_line_ends_that_a_tree_has_otherwise_count_once_they_are_committed(
    root: Root, play: Callable[..., Worktree], sight: Foresight, git: GitCommand, autocrlf: str, clash: object
) -> None:
    """D24.13: a tree whose files have other line ends than their commit is as any tree with changes."""
    git(root.path, "config", "core.autocrlf", autocrlf)
    lines = [f"{number}\n" for number in range(20)]
    (root.path / "a.txt").write_text("".join(lines))
    git(root.path, "commit", "-qam", "lines")
    one = play("task-01", "a.txt", "".join(["one\n", *lines[1:]]))
    ensure_worktree(root, PLAN, "task-02", "trunk")
    play("task-02", "a.txt", "".join([*lines[:-1], "two\n"]))
    (one.path / "a.txt").write_bytes((one.path / "a.txt").read_bytes().replace(b"\n", b"\r\n"))
    before = sight.look(TASKS)
    assert before is not None
    assert before.meetings[TASKS[:2]] == ()
    play("task-01", "b.txt", "another step\n", item="step 2")
    after = sight.look(TASKS)
    assert after is not None
    assert dict(after.meetings) == really_ahead(root, after.tasks)
    assert after.meetings[TASKS[:2]] == clash


def ensure_integration_tree(root: Root) -> Path:
    """The tree in which trials are made, as a trial that merges nothing leaves it."""
    ensure_integration(root, PLAN, "trunk")
    return ensure_detached_tree(root, trial_name(PLAN, 1), "trunk").path


def test_a_branch_that_goes_and_locks_of_others_are_nothing_to_a_look(
    root: Root, play: Callable[..., Worktree], sight: Foresight, git: GitCommand
) -> None:
    """D24.13."""
    for task_id in TASKS[:2]:
        play(task_id, "a.txt", f"{task_id}\n")
    for lock in ("index.lock", "packed-refs.lock", "HEAD.lock", "config.lock"):
        (root.git_dir / lock).touch()
    found = sight.look(TASKS)
    assert found is not None
    assert found.meetings[TASKS[:2]] == ("a.txt",)
    for lock in ("index.lock", "packed-refs.lock", "HEAD.lock", "config.lock"):
        (root.git_dir / lock).unlink()
    git(root.path, "worktree", "remove", "--force", str(root.trees_dir / PLAN / "task-02"))
    git(root.path, "branch", "-qD", f"musician/{PLAN}/task-02")
    git(root.path, "pack-refs", "--all")
    found = sight.look(TASKS)
    assert found is not None
    assert found.meetings == {("task-01", MERGED): ()}
    (root.git_dir / "refs/heads/musician" / PLAN).mkdir(parents=True, exist_ok=True)
    (root.git_dir / "refs/heads/musician" / PLAN / "task-02").write_text(
        "1" * 40 + "\n"
    )  # its commit is gone
    assert sight.look(TASKS) == NOTHING_AHEAD


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["shallow", "sha256", "worktree config", "huge binary", "partial clone"])
def test_odd_repositories_are_looked_into_as_they_are_merged(
    tmp_path: Path, git: GitCommand, hostile: None, kind: str
) -> None:
    """D24.13."""
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "trunk", f"--object-format={'sha256' if kind == 'sha256' else 'sha1'}")
    for number in range(3):
        (repo / "a.txt").write_text(f"{number}\n")
        (repo / "big").write_bytes(bytes(3_000_000 if kind == "huge binary" else 10))
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", f"{number}")
    if kind in ("shallow", "partial clone"):
        git(repo, "config", "uploadpack.allowFilter", "true")
        how = "--depth=1" if kind == "shallow" else "--filter=blob:none"
        git(tmp_path, "clone", "-q", how, repo.as_uri(), "other")
        repo = tmp_path / "other"
    if kind == "worktree config":
        git(repo, "config", "extensions.worktreeConfig", "true")
        git(repo, "config", "--worktree", "merge.renames", "false")
    git(repo, "config", "core.bigFileThreshold", "1m")
    root = find_root(repo)
    exclude_private(root)
    for number, task_id in enumerate(TASKS):
        tree = ensure_worktree(root, PLAN, task_id, "trunk")
        with (tree.path / "big").open("ab") as file:
            file.write(bytes([number]))
        if number == 2:  # moved by one, changed by the others
            git(tree.path, "mv", "big", "moved")
            git(tree.path, "checkout", "-q", "trunk", "--", "big")
            git(tree.path, "rm", "-q", "--cached", "big")
            (tree.path / "big").unlink()
        commit_step(tree, task_id=task_id, item="step 1", title="Write", session_id="s", epoch=1)
    ahead = look(root, tmp_path)
    assert dict(ahead.meetings) == really_ahead(root, TASKS)
    assert ahead.meetings[TASKS[:2]] == ("big",)


def test_a_merge_that_hangs_is_killed_with_its_driver_when_the_look_is_stopped(
    root: Root, play: Callable[..., Worktree], sight: Foresight, git: GitCommand, tmp_path: Path
) -> None:
    """D24.15: it ends with the run, whatever it has started."""
    mark = tmp_path / "driver"
    git(
        root.path,
        "config",
        "merge.slow.driver",
        f"echo $$ > '{mark}.new'; mv '{mark}.new' '{mark}'; sleep 3600",
    )
    (root.git_dir / "info" / "attributes").write_text("*.txt merge=slow\n")
    for task_id in TASKS[:2]:
        play(task_id, "a.txt", f"{task_id}\n")
    looks: list[Ahead | None] = []
    thread = threading.Thread(target=lambda: looks.append(sight.look(TASKS)))
    thread.start()
    until(mark.exists)
    driver = identify(int(mark.read_text()))
    sight.stop()
    thread.join()
    assert looks == [None], "a look that was stopped says nothing"
    until(lambda: not _runs(driver.pid))
    assert sight.look(TASKS) is None


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_git_that_is_too_old_foretells_nothing(
    root: Root, play: Callable[..., Worktree], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D24.13."""
    play("task-01", "a.txt", "one\n")
    monkeypatch.setattr("musician.trees.foresight.git_version", lambda: (2, 37))
    assert Foresight(root, PLAN, "trunk", tmp_path).look(TASKS) is None
