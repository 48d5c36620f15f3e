"""What an agent proposes while it plays: kept, or noted with the reason, and never the end of its piece."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from musician import service
from musician.agents.port import ProposalMade
from musician.protocol.claim import Claim
from musician.protocol.errors import BadField
from musician.protocol.settings import Settings
from musician.runtime.proposing import MOST_FILE_BYTES, Desk, keep_made, read_body
from musician.store.port import Store
from musician.trees.root import Root


@pytest.fixture
def desk(store: Store, tmp_path: Path) -> Desk:
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return Desk(root=Root(path=folder.resolve()), store=store)


@pytest.fixture
def claim(desk: Desk) -> Claim:
    service.open_task(desk.store, "task-01", title="t", instruction_path="a.md")
    return service.claim(desk.store, "task-01", "s1", settings=Settings()).claim


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    return tree


def kept(desk: Desk) -> list[tuple[str, str, str]]:
    found = service.list_proposals(desk.store, only_open=True)
    return [(each.proposal.title, each.proposal.body, each.proposal.why) for each in found]


def status(desk: Desk) -> str:
    return (desk.root.temp_dir / "task-01-status").read_text()


def test_a_title_alone_is_also_the_text(desk: Desk, claim: Claim, tree: Path) -> None:
    made = ProposalMade(type="PATTERN", title="Use fixtures")
    keep_made(desk, claim, tree, made)
    keep_made(desk, claim, tree, made)
    assert kept(desk) == [("Use fixtures", "Use fixtures", "")]
    assert status(desk).count("proposal created: ") == 1


def test_the_text_may_be_in_a_file(desk: Desk, claim: Claim, tree: Path) -> None:
    (tree / "plain.md").write_bytes("it's\r\n日本\n".encode())
    (tree / "whole.md").write_text("---\ntitle: other\ntype: RAG\n---\n## Why\nSo.\n## What\nThat.\n")
    keep_made(desk, claim, tree, ProposalMade(type="PATTERN", title="plain", path="plain.md"))
    keep_made(desk, claim, tree, ProposalMade(type="PATTERN", title="whole", path="./whole.md"))
    assert kept(desk) == [("plain", "it's\r\n日本\n", ""), ("whole", "That.", "So.")]


def _too_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MOST_FILE_BYTES + 1)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "name a file of the working tree"),
        (Path.mkdir, "name a file of the working tree"),
        (os.mkfifo, "name a file of the working tree"),
        (lambda path: path.symlink_to("/etc/hostname"), "name a file of the working tree"),
        (lambda path: path.write_bytes(b"\xff"), "it must be UTF-8"),
        (_too_large, "bytes"),
        (Path.touch, "say what is proposed"),
        (lambda path: path.write_text("---\ntitle: x\n---\n"), "the front matter does not say it"),
    ],
)
def test_what_cannot_be_kept_is_noted_with_the_reason(
    desk: Desk, claim: Claim, tree: Path, make: Callable[[Path], object], reason: str
) -> None:
    make(tree / "x.md")
    keep_made(desk, claim, tree, ProposalMade(type="PATTERN", title="It's mine", path="x.md"))
    assert kept(desk) == []
    assert 'proposal "It\'s mine" not kept: ' in status(desk)
    assert reason in status(desk)
    assert service.journal_of(desk.store, "task-01")[-1].text in status(desk)


@pytest.mark.parametrize("name", ["../x.md", "/etc/hostname", "sub/../../x.md"])
def test_b43_nothing_outside_of_the_tree_is_read(tree: Path, name: str) -> None:
    (tree.parent / "x.md").write_text("secret")
    (tree / "sub").mkdir()
    with pytest.raises(BadField):
        read_body(tree, name)


def test_a_lost_claim_proposes_nothing_and_says_nothing(desk: Desk, claim: Claim, tree: Path) -> None:
    """D2: the session's own next write finds out."""
    keep_made(desk, claim, tree, ProposalMade(type="PATTERN", title="first"))
    service.fence(desk.store, "task-01", epoch=claim.epoch)
    before = status(desk)
    keep_made(desk, claim, tree, ProposalMade(type="PATTERN", title="late"))
    keep_made(desk, claim, tree, ProposalMade(type="PATTERN", title="late", path="missing"))
    assert [each[0] for each in kept(desk)] == ["first"]
    assert status(desk) == before
