"""The environment of what runs in a session: whose it is, and where it stands."""

import sys
from pathlib import Path

from musician.protocol.claim import Claim
from musician.store.port import Store
from musician.trees.root import Root


def session_environment(
    root: Root, store: Store, claim: Claim, tree: Path, *, worked_by: str, pid: int
) -> dict[str, str]:
    """Return the environment of an agent and everything it starts; ``pid`` is the process it belongs to."""
    scratch = root.musician_dir / "scratch" / claim.task_id
    scratch.mkdir(parents=True, exist_ok=True)
    return {
        "MUSICIAN_TASK": claim.task_id,
        "MUSICIAN_SESSION": claim.session_id,
        "MUSICIAN_EPOCH": str(claim.epoch),
        "MUSICIAN_WORKED_BY": worked_by,
        "MUSICIAN_DB": store.name,
        "MUSICIAN_ROOT": str(root.path),
        "MUSICIAN_TREE": str(tree),
        "MUSICIAN_SCRATCH": str(scratch),
        "MUSICIAN_PYTHON": sys.executable,
        "MUSICIAN_PID": str(pid),
        # A step's own byte code would otherwise end up in the commit of a project without a .gitignore.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
