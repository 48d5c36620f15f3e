"""The sandbox of a task's work: which parts of the repository are open in it, and whether there is one at all
(D36).

The program commits, so a musician needs little of git's folder: its own index, and room for new objects, so
that ``git add`` works. Branches, configuration, hooks, other trees, packed objects and the database it can
read. The set-up, which the plan's author wrote, runs outside; tests are the musician's own code, and run
inside, whoever starts them.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from musician.plans.model import Network, Sandboxing, TaskSpec
from musician.processes.sandbox import Sandbox, View, confining, why_no_sandbox
from musician.processes.scratch import ScratchFolder
from musician.protocol.errors import SandboxUnavailable
from musician.trees.git import git_dir_of
from musician.trees.root import Root

if TYPE_CHECKING:
    from musician.processes.gateway import Gateway

_SEALED = ("HEAD", "commondir", "gitdir", "config.worktree", "logs", "modules")
"""Of a working tree's git folder: what would lead our own git elsewhere."""


@contextmanager
def sandboxed(root: Root, task: TaskSpec, tree: Path) -> Iterator[str]:
    """Start processes in this block inside the sandbox of ``task``; yield why there is none, "" if there is
    one.

    :class:`SandboxUnavailable` if the plan requires one and there can be none.
    """
    wanted = task.sandbox
    why = "" if wanted is Sandboxing.OFF else why_no_sandbox()
    if why and (wanted is Sandboxing.REQUIRED or task.network is not Network.FULL):
        raise SandboxUnavailable(task=task.task_id, reason=why)
    if why or wanted is Sandboxing.OFF:
        yield why or "the plan says `sandbox: off`"
        return
    with ExitStack() as stack:
        folder = stack.enter_context(ScratchFolder("inside"))
        sandbox = Sandbox(
            views=_views(root, task, tree),
            temporary=Path(folder),
            is_online=task.network is Network.FULL,
            gateway=stack.enter_context(_gateway(root, task)) if task.network is Network.REGISTRIES else None,
        )
        stack.enter_context(confining(sandbox))
        yield ""


@contextmanager
def _gateway(root: Root, task: TaskSpec) -> "Iterator[Gateway]":
    from musician.processes.gateway import REGISTRIES, Gateway  # dear to load for what few plans ask for
    from musician.processes.upstream import Upstream

    log = root.logs_dir / task.task_id / "network.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    hosts = (*REGISTRIES.split(), *task.reach)
    upstream = Upstream.of_environment()
    with (
        ScratchFolder("out") as folder,
        Gateway(hosts, folder=Path(folder), log=log, upstream=upstream) as gateway,
    ):
        yield gateway


def _views(root: Root, task: TaskSpec, tree: Path) -> Mapping[Path, View]:
    common = root.git_dir
    own = git_dir_of(tree) or common
    index = {} if own == common else {own: View.WRITABLE, **{own / each: View.READABLE for each in _SEALED}}
    return {
        root.path: View.READABLE,
        tree: View.WRITABLE,
        tree / ".git": View.READABLE,
        root.musician_dir: View.READABLE,
        root.musician_dir / "scratch" / task.task_id: View.WRITABLE,
        common: View.READABLE,
        common / "objects": View.WRITABLE,
        common / "objects" / "pack": View.READABLE,
        common / "objects" / "info": View.READABLE,
        **index,
        **{Path(each).expanduser(): View.READABLE for each in task.sandbox_read},
        **{Path(each).expanduser(): View.WRITABLE for each in task.sandbox_write},
    }
