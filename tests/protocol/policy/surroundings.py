"""Where the judged session stands, and what a shell command of its is refused for."""

from musician.protocol.policy.forbidden import Act
from musician.protocol.policy.paths import Surroundings
from musician.protocol.policy.tool_calls import judge

TREE = "/repo/.musician/trees/task-03"
HERE = Surroundings(
    cwd=TREE,
    root="/repo",
    tree=TREE,
    database="/repo/.musician/comms.db",
    aliases={"p": "push", "pf": "push --force", "sh": "!git push", "st": "status", "bad": "'", "me": "me"},
    variables={"HOME": "/home/ada", "PWD": TREE, "MUSICIAN_DB": "/repo/.musician/comms.db"},
)


def act_of(command: str, where: Surroundings = HERE) -> Act | None:
    """What a shell command is refused for."""
    refusal = judge("Bash", {"command": command}, where)
    return None if refusal is None else refusal.act
