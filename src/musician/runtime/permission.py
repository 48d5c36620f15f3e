"""Asks the policy whether an agent may make a tool call (D21)."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from musician import service
from musician.agents.port import ToolCall
from musician.processes.output import one_line
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.policy.forbidden import Act, Refusal
from musician.protocol.policy.paths import Surroundings
from musician.protocol.policy.tool_calls import judge
from musician.runtime.task_files import TaskFiles
from musician.runtime.tasktree import TaskTree
from musician.store.port import Store
from musician.trees.aliases import git_aliases
from musician.trees.root import Root

BYTES_A_TOKEN = 4
_MOST_NAME_CHARS = 200


def why_refused(store: Store, claim: Claim, task_files: TaskFiles, tree: TaskTree, call: ToolCall) -> str:
    """Return the reason given to the agent, "" if the call is allowed; record a refusal. Blocks."""
    grants = service.grants_of(store, claim.task_id)
    refusal = refusal_in(task_files.root, tree.path, call, session=claim.session_id, grants=grants)
    if refusal is None:
        return ""
    for _, entry in service.note_refusal(store, claim, refusal):
        task_files.note((entry,))
    return str(refusal)


def note_read(task_files: TaskFiles, tree: TaskTree, call: ToolCall, used_pct: float | None) -> None:
    """Write into the status file what a file takes that is read with ``used_pct`` of the context used (S-CTX-9)."""
    name = call.given.get("file_path")
    with suppress(OSError, ValueError):
        if call.name == "Read" and isinstance(name, str):
            size = (tree.path / name).stat().st_size
            text = f"reads {one_line(name, _MOST_NAME_CHARS)}: about {size // BYTES_A_TOKEN:,} tokens"
            task_files.note((Entry(kind=EntryKind.NOTE, text=text, context_pct=used_pct),))


def refusal_in(
    root: Root, tree: Path, call: ToolCall, *, session: str, grants: Iterable[Act] = ()
) -> Refusal | None:
    """Return the policy's refusal for an agent that works in ``tree``, None if it allows the call. Blocks."""
    where = Surroundings(
        cwd=str(tree),
        root=str(root.path),
        tree=str(tree),
        database=str(root.database),
        session=session,
        home=os.path.realpath(os.path.expanduser("~")),
        real=os.path.realpath,
        grants=frozenset(grants),
        aliases=git_aliases(str(tree)),
    )
    return judge(call.name, call.given, where)
