"""The root is the main working tree, wherever one stands (D25, B35)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from musician.protocol.errors import NoRepository, TreeNotReady
from musician.trees.git import Git
from musician.trees.root import (
    NETWORK_FILESYSTEMS,
    Root,
    choose_temp,
    exclude_private,
    find_root,
    is_network_filesystem,
)

GitCommand = Callable[..., str]


def test_every_way_into_the_repository_leads_to_one_root(repo: Path, tmp_path: Path, git: GitCommand) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked wt"), "-b", "other")
    (tmp_path / "linked wt" / "deep").mkdir()
    (tmp_path / "way").symlink_to(repo / "dir")
    starts = [
        repo,
        repo / "dir",
        tmp_path / "way",
        tmp_path / "linked wt",
        tmp_path / "linked wt" / "deep",
        repo / ".git",
        repo / ".git" / "refs",
    ]
    assert {find_root(start) for start in starts} == {Root(path=repo.resolve())}


def test_a_relative_start_is_taken_from_where_one_stands(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo / "dir")
    assert find_root(Path()).path == repo.resolve()


def test_what_belongs_to_the_program_lies_under_the_root() -> None:
    root = Root(path=Path("/r"))
    assert root.database == Path("/r/.musician/comms.db")
    assert root.config == Path("/r/.musician/config.toml")
    assert [root.locks_dir.name, root.trees_dir.name, root.logs_dir.name] == ["locks", "trees", "logs"]
    assert root.temp_dir == Path("/r/temp")
    assert root.reports_dir == Path("/r/docs/implementation/reports")
    assert root.proposals_dir == Path("/r/docs/implementation/proposals")


def test_a_submodule_and_its_linked_tree_have_the_submodule_as_root(
    repo: Path, tmp_path: Path, git: GitCommand
) -> None:
    library = tmp_path / "library"
    git(tmp_path, "clone", "-q", str(repo), str(library))
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    git(repo / "sub", "worktree", "add", "-q", str(tmp_path / "sub-linked"), "-b", "x")
    assert find_root(repo / "sub").path == (repo / "sub").resolve()
    assert find_root(tmp_path / "sub-linked").path == (repo / "sub").resolve()


def test_a_repository_with_its_git_folder_elsewhere_is_found_from_its_tree_only(
    repo: Path, tmp_path: Path, git: GitCommand
) -> None:
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere"), str(tmp_path / "work"))
    git(tmp_path / "work", "commit", "-q", "--allow-empty", "-m", "c")
    git(tmp_path / "work", "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "x")
    assert find_root(tmp_path / "work").path == (tmp_path / "work").resolve()
    assert find_root(tmp_path / "work").git_dir == (tmp_path / "elsewhere").resolve()
    with pytest.raises(NoRepository, match="cannot be found from here"):
        find_root(tmp_path / "linked")


def test_a_folder_outside_any_repository_is_refused(tmp_path: Path, hostile: None) -> None:
    with pytest.raises(NoRepository, match="not in a git repository"):
        find_root(tmp_path)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoRepository, match="no such folder"):
        find_root(tmp_path / "gone")


def test_a_bare_repository_and_its_linked_tree_are_refused(
    repo: Path, tmp_path: Path, git: GitCommand
) -> None:
    """The tree's refusal says that it is a linked one, and how it can be used (AUDIT-U9)."""
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "of-bare"), "trunk")
    with pytest.raises(NoRepository, match="bare repository has no working tree"):
        find_root(tmp_path / "bare.git")
    with pytest.raises(NoRepository, match=r"linked working tree of the bare repository.*folder of its own"):
        find_root(tmp_path / "of-bare")


def test_a_bare_repository_with_a_folder_around_it_keeps_its_things_there(
    repo: Path, tmp_path: Path, git: GitCommand
) -> None:
    """AUDIT-U9: whichever linked tree one stands in; the remedy of the refusal above makes it so."""
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "of-bare"), "trunk")
    around = tmp_path / "around"
    around.mkdir()
    (tmp_path / "bare.git").rename(around / "bare.git")
    (around / ".git").write_text("gitdir: ./bare.git\n")
    git(around, "worktree", "repair", str(tmp_path / "of-bare"))
    git(around, "worktree", "add", "-q", str(around / "feature"), "-b", "feature")
    roots = [
        find_root(place) for place in (around, around / "feature", tmp_path / "of-bare", around / "bare.git")
    ]
    assert {root.path for root in roots} == {around.resolve()}
    assert [root.users_tree for root in roots[1:3]] == [around / "feature", tmp_path / "of-bare"]


def test_a_missing_git_is_named_with_its_own_remedy(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoRepository) as caught:
        Git(find_root(repo).path).run("status")
    assert "not on PATH" in caught.value.reason
    assert "install git" in caught.value.remedy


def test_a_root_that_lost_its_repository_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoRepository, match="no longer"):
        _ = Root(path=tmp_path).git_dir


def test_private_things_are_excluded_once_and_the_users_lines_stay(repo: Path, git: GitCommand) -> None:
    root = find_root(repo)
    exclude = repo / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_bytes(b"*.mine")  # no line end
    exclude_private(root)
    exclude_private(root)
    lines = exclude.read_text().splitlines()
    assert lines[0] == "*.mine"
    assert lines.count("/.musician/") == lines.count("/temp") == 1
    (repo / ".musician").mkdir()
    (repo / ".musician" / "comms.db").touch()
    (repo / "temp").symlink_to("/tmp")
    assert git(repo, "status", "--porcelain", "-uall") == ""


@pytest.mark.parametrize("is_there_before", [False, True])
def test_a_folder_of_the_projects_that_is_called_temp_is_never_hidden(
    repo: Path, git: GitCommand, is_there_before: bool
) -> None:
    """AUDIT-U4: new files in it were in no commit, and the user could not stage his own."""
    root = find_root(repo)
    if not is_there_before:
        exclude_private(root)  # by a version, or at a time, that did not know
    (repo / "temp").mkdir()
    (repo / "temp" / "tracked").touch()
    git(repo, "add", "-f", "temp")
    assert choose_temp(root) == root.musician_dir / "temp"
    choose_temp(root).mkdir(parents=True)
    exclude_private(root)
    assert root.temp_dir == root.musician_dir / "temp"
    (repo / "temp" / "new").touch()
    assert git(repo, "status", "--porcelain", "-uall") == "A  temp/tracked\n?? temp/new"
    git(repo, "rm", "-q", "--cached", "temp/tracked")
    assert choose_temp(root) == root.musician_dir / "temp", "where it is, it stays"


def test_the_exclude_file_is_made_where_git_has_none(repo: Path) -> None:
    exclude = repo / ".git" / "info" / "exclude"
    exclude.unlink(missing_ok=True)
    if exclude.parent.exists():
        exclude.parent.rmdir()
    exclude_private(find_root(repo))
    assert "/temp" in exclude.read_text().splitlines()


def test_an_exclude_file_that_cannot_be_written_is_named(repo: Path) -> None:
    exclude = repo / ".git" / "info" / "exclude"
    exclude.unlink(missing_ok=True)
    exclude.mkdir(parents=True)
    with pytest.raises(TreeNotReady) as caught:
        exclude_private(find_root(repo))
    assert caught.value.paths == (str(exclude.resolve()),)


MOUNTS = [
    ("/", "ext4"),
    ("/home", "nfs4"),
    ("/home/me/ssd", "ext4"),
    ("/mnt", "nfs"),
    ("/mnt", "xfs"),
    ("/w", "9p"),
]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/x", None),
        ("/home/me/project/.musician", "nfs4"),
        ("/home", "nfs4"),
        ("/homework", None),
        ("/home/me/ssd/p", None),
        ("/mnt/p", None),
        ("/w/p", "9p"),
    ],
)
def test_the_innermost_and_latest_mount_decides_whether_a_path_is_on_a_network(
    path: str, kind: str | None
) -> None:
    assert is_network_filesystem(Path(path), mounts=MOUNTS) == kind


def test_a_local_kernel_file_system_is_no_network_file_system() -> None:
    assert is_network_filesystem(Path("/proc/self")) is None
    assert "proc" not in NETWORK_FILESYSTEMS
    assert os.path.exists("/proc/self")
