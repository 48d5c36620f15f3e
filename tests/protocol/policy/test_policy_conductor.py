"""A conductor's session is its user's own: all it may not write is the musicians' trees, and the database."""

from dataclasses import replace

import pytest

from musician.protocol.policy.forbidden import Act
from tests.protocol.policy.surroundings import HERE, TREE, act_of

CONDUCTS = replace(HERE, cwd="/repo", tree="/repo", conducts=True, grants=frozenset(set(Act) - {Act.OUTSIDE}))


@pytest.mark.parametrize(
    "command",
    [
        f"echo x > {TREE}/a.py",
        f"cd {TREE} && echo x > a.py",
        f"rm -r {TREE}",
        "rm -rf .musician/trees/*",
        "rm -rf .musician",
        f"git -C {TREE} commit -qam x",
        f"git -C {TREE} checkout -- .",
        "echo x > .musician/comms.db",
        f"sh -c 'echo x > {TREE}/a.py'",
    ],
)
def test_it_writes_in_no_musicians_tree(command: str) -> None:
    """CONDUCTOR-SESSION-GUARD."""
    assert act_of(command, CONDUCTS) is Act.OUTSIDE


@pytest.mark.parametrize(
    "command",
    [
        f"cat {TREE}/a.py",
        f"git -C {TREE} diff",
        "echo x > PLAN.md",
        "echo x > /home/ada/notes",
        "rm -rf build /home/ada/tmp",
        "git commit -qam plan",
        "git push; git reset --hard; git branch mine",
        "echo x >> .musician/config.toml",
        "$RUN something",
    ],
)
def test_everything_else_is_between_the_user_and_the_client(command: str) -> None:
    """CONDUCTOR-SESSION-GUARD."""
    assert act_of(command, CONDUCTS) is None
