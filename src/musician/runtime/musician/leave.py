"""Whether an agent may make the tool call that it asks leave for: the policy answers (D21)."""

import os

from musician import service
from musician.agents.port import ToolCall
from musician.protocol.claim import Claim
from musician.protocol.policy.places import Surroundings
from musician.protocol.policy.tool_calls import judge
from musician.runtime.task_files import TaskFiles
from musician.runtime.tasktree import TaskTree
from musician.store.port import Store
from musician.trees.aliases import git_aliases


def why_refused(store: Store, claim: Claim, task_files: TaskFiles, tree: TaskTree, call: ToolCall) -> str:
    """What is said to the agent, "" where it may; a refusal is written down. Blocks."""
    where = Surroundings(
        cwd=str(tree.path),
        root=str(task_files.root.path),
        tree=str(tree.path),
        database=str(store.path),
        session=claim.session_id,
        home=os.path.realpath(os.path.expanduser("~")),
        real=os.path.realpath,
        grants=service.grants_of(store, claim.task_id),
        aliases=git_aliases(str(tree.path)),
    )
    refusal = judge(call.name, call.given, where)
    if refusal is None:
        return ""
    for _, entry in service.note_refusal(store, claim, refusal):
        task_files.note((entry,))
    return str(refusal)
