"""Tries a plan's test commands in a fresh tree before anything is played, and says why one may fail there.

A fresh tree has what git tracks and what `setup`, `copy` and `share` bring. So a command that passes in the
user's own tree may fail in it, and its output often names what is missing. The commit is the one that a run
would begin at, and what comes out is kept as the run's own baseline: a run that begins there need not try
it again.
"""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from anyio.to_thread import run_sync

from musician.plans.model import Plan, TaskSpec
from musician.plans.needs import Project
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass
from musician.runtime.baselines import Baselines, base_log, clear_tree
from musician.runtime.drafting import look_at_project
from musician.runtime.world import World
from musician.store.port import Store
from musician.trees.base import check_base
from musician.trees.branches import BASELINE
from musician.trees.git import shown
from musician.trees.root import Root
from musician.trees.status import read_status
from musician.verification.baseline import Baseline

_MOST_READ_BYTES = 256 * 1024
_SHORTEST_NAME = 3
"""Shorter names are met in any output by accident."""

_SEALED = (
    "the sandbox lets {0} be read only: `sandbox-write` names what may be written besides the tree, and"
    " `sandbox: off` does without"
)
_MEANINGS = {
    r"(?i)'?(/[^':\n]+)'?: read-only file system": _SEALED,
    r"(?i)read-only file system: '(/[^'\n]+)'": _SEALED,
    r"No module named '?([\w.]+)": (
        "Python has no module {0} there: a tree has no virtual environment of yours; `setup:` makes one and"
        " installs what the tests need, and the command must start the Python in it"
    ),
    r"Cannot find (?:module|package) '([^'/.][^']*)'": (
        "Node has no {0} there: `share: [node_modules]` links yours, `setup: npm ci` makes one"
    ),
    r"(\S+): (?:command )?not found": (
        "{0} is not found there: it may be in a virtual environment, or in node_modules/.bin, of your own"
        " tree"
    ),
    r"No rule to make target [`'\"]?([^'\"\s.]+)": "the Makefile has no target {0}",
    r"Missing script: \"?([\w:-]+)": "package.json has no script {0}",
}
"""What runners print where something is missing, and what it means in a tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How a command ended in a fresh tree.

    ``reasons`` are why it may fail there, the likeliest first; ``leaves`` what it and the set-up leave that
    git does not ignore, so that it would be committed with the first step.
    """

    task: TaskSpec
    ended: Baseline
    reasons: tuple[str, ...]
    leaves: tuple[str, ...]
    log: Path

    @property
    def runs(self) -> bool:
        """Whether tests were run at all, whatever they said."""
        return not self.ended.is_empty


async def try_tests(
    root: Root, store: Store, settings: Settings, plan: Plan, *, world: World
) -> AsyncIterator[Trial]:
    """Yield a trial of each test command of the plan. :class:`TreeNotReady` if a run could not begin,
    either.
    """
    base = await run_sync(check_base, root)
    project = await run_sync(look_at_project, root)
    log = base_log(root)
    for task in _with_different_tests(plan):
        known = Baselines(
            root=root,
            store=store,
            settings=settings,
            task=task,
            plan_id=plan.plan_id,
            world=world,
            keeps_tree=True,
        )
        before_bytes = log.stat().st_size if log.exists() else 0
        try:
            ended = await known.ended(base.commit, task.test or "", is_green_due=True)
            leaves = await run_sync(_left_in, root.trees_dir / plan.plan_id / BASELINE)
        finally:
            await clear_tree(root, plan.plan_id)
        said = await run_sync(_read_from, log, before_bytes)
        reasons = tuple(why_it_may_fail(said or ended.why, project)) if ended.why else ()
        yield Trial(task=task, ended=ended, reasons=reasons, leaves=leaves, log=log)


def _left_in(tree: Path) -> tuple[str, ...]:
    """Return the untracked paths in a tree; none if there is no tree, since the answer was known."""
    return tuple(map(shown, read_status(tree).untracked)) if tree.is_dir() else ()


def _with_different_tests(plan: Plan) -> Iterator[TaskSpec]:
    seen = set()
    for task in plan.tasks:
        what = (task.test, task.setup, task.copy, task.share)
        if task.tests_the_whole and what not in seen:
            seen.add(what)
            yield task


def why_it_may_fail(output: str, project: Project) -> Iterator[str]:
    """Yield what a tree may lack, judged by what was printed there."""
    for path in project.untracked:
        name = path.removesuffix("/")
        is_folder = name != path
        if len(name) >= _SHORTEST_NAME and _names(output, path if is_folder else name):
            key = "share" if is_folder else "copy"
            yield (
                f"the output names {path}, which git does not track, so that a tree has none: `{key}: [{name}]`"
            )
    for pattern, meaning in _MEANINGS.items():
        if found := re.search(pattern, output):
            yield meaning.format(found[1])
    if ".gitmodules" in project.tracked:
        yield "submodules are not checked out in a tree: `setup: git submodule update --init`"


def _names(output: str, path: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(path)}(?![\w-])", output) is not None


def _read_from(log: Path, start: int) -> str:
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(start, log.stat().st_size - _MOST_READ_BYTES))
        return file.read(_MOST_READ_BYTES).decode("utf-8", "replace")
