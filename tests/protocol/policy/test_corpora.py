"""What developers type all day passes, and what a musician may not do does not (D21, D36, D43)."""

from dataclasses import replace

import pytest

from musician.protocol.policy.forbidden import Refusal
from musician.protocol.policy.paths import Surroundings
from musician.protocol.policy.tool_calls import judge
from tests.protocol.policy.corpus import CONTRIVED, Call, calls

ROOT = "/srv/repo"
TREE = ROOT + "/.musician/trees/parts/task-01"
HERE = Surroundings(
    cwd=TREE,
    root=ROOT,
    tree=TREE,
    database=ROOT + "/.musician/comms.db",
    session="sess-own",
    home="/home/ada",
    aliases={
        "up": "push",
        "undo": "reset --hard",
        "wipe": "!git clean -fdx",
        "st": "status --short",
        "last": "log -1",
    },
    variables={"HOME": "/home/ada"},
)
PLACES = {
    "@ROOT@": ROOT,
    "@TREE@": TREE,
    "@OTHER@": ROOT + "/.musician/trees/parts/task-02",
    "@DB@": HERE.database,
    "@HOME@": HERE.home,
    "@SESSION@": HERE.session,
    "@STRANGER@": "sess-stranger",
}
FORBIDDEN = [call for call in calls("forbidden", PLACES) if call.layer == 1]
HARMLESS = list(calls("harmless", PLACES))
MOST_CONTRIVED_LET_THROUGH_PCT = 10


def verdict(call: Call) -> Refusal | None:
    refusal = judge(call.tool, call.given, replace(HERE, cwd=ROOT) if call.in_root else HERE)
    assert "its reader failed" not in str(refusal)
    return refusal


@pytest.mark.parametrize("kind", sorted({call.kind for call in FORBIDDEN} - CONTRIVED))
def test_what_is_forbidden_is_refused(kind: str) -> None:
    """AUDIT-C11, AUDIT-C3, AUDIT-K4: none of the kinds an honest model falls into gets through."""
    assert [str(call) for call in FORBIDDEN if call.kind == kind and verdict(call) is None] == []


def test_most_contrived_spellings_are_refused_too() -> None:
    """AUDIT-C11: nobody's grammar is complete; what gets through here is for git's hooks and the sandbox."""
    contrived = [call for call in FORBIDDEN if call.kind in CONTRIVED]
    through = [str(call) for call in contrived if verdict(call) is None]
    assert len(through) * 100 <= len(contrived) * MOST_CONTRIVED_LET_THROUGH_PCT, through


@pytest.mark.parametrize("kind", sorted({call.kind for call in HARMLESS}))
def test_what_is_harmless_passes(kind: str) -> None:
    """AUDIT-C11: a guard that cries wolf is turned off, and then guards nothing."""
    assert [f"{call}: {verdict(call)}" for call in HARMLESS if call.kind == kind and verdict(call)] == []


@pytest.mark.parametrize(
    "command",
    [
        "env " * 700 + "git push",
        "sh " * 700 + "-c 'git push'",
        "echo " + "${a:-" * 5_000 + "git push" + "}" * 5_000,
        "$(" * 5_000 + "git push" + ")" * 5_000,
        "a=aaaaaaaaaa;" + "a=$a$a;" * 40 + "git push",
        "cat <<a\na\n" * 15_000 + "git push",
        "echo $((" * 40_000 + "git push",
        "git -c alias.a='!git a' a; git push",
        "x" * 190_000 + "; git push",
        "a > b " * 30_000 + "; git push",
        "'" + "\\x" * 90_000 + "'; git push",
        "echo " + "\\x" * 90_000 + "; git push",
        "f " + "'git push' " * 20_000,
        "sqlite3 x.db " + "'x' " * 40_000 + "; git push",
        "python3 -c '" + 'open("x","w")' * 10_000 + "'; git push",
        "find . " + "-o -name git " * 10_000 + "; git push",
    ],
    ids=range(16),
)
def test_what_overruns_the_reader_is_a_refusal(command: str) -> None:
    """AUDIT-C3: no silence. A time limit would be the machine's; the work is counted instead."""
    refusal = judge("Bash", {"command": command}, HERE)
    assert refusal is not None
    assert "its reader failed" not in str(refusal)


class _Broken(dict[str, object]):
    def get(self, *_: object) -> object:
        raise RecursionError


def test_an_error_of_the_readers_is_a_refusal() -> None:
    """AUDIT-C3."""
    refusal = judge("Agent", _Broken(), HERE)
    assert refusal is not None
    assert refusal.untold
    assert "RecursionError" in str(refusal)
