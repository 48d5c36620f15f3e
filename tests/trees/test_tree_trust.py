"""Programs that git's configuration names are run only where they were there when the plan was locked."""

from pathlib import Path

import pytest

from musician.trees.git import Git
from musician.trees.root import Root
from musician.trees.shared_config import since_the_lock, trust_what_is_there
from tests.trees.conftest import GitCommand


@pytest.mark.parametrize("at_the_lock", ["[user]\nname = Ada\n", None], ids=["there", "not there yet"])
@pytest.mark.parametrize("named", ["{place}", "~/more", "../more"])
def test_a_filter_that_comes_in_an_included_file_is_not_run(
    root: Root,
    git: GitCommand,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    at_the_lock: str | None,
    named: str,
) -> None:
    """AUDIT-U7: the repository's own file is as it was, and what it includes has changed."""
    place = root.path / "more" if named.startswith("..") else tmp_path / "home" / "more"
    place.parent.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    if at_the_lock is not None:
        place.write_text(at_the_lock)
    git(root.path, "config", "include.path", named.format(place=place))
    root.musician_dir.mkdir(exist_ok=True)
    trust_what_is_there(root)
    assert since_the_lock(root) == ()
    Git(root.path).run("status")
    place.write_text(f'[filter "evil"]\nclean = "tee -a {tmp_path}/ran"\nrequired = true\n')
    (root.path / ".gitattributes").write_text("*.evil filter=evil\n")
    (root.path / "x.evil").write_text("x\n")
    Git(root.path).run("add", "--all")
    assert not (tmp_path / "ran").exists()
    assert "filter.evil.clean is" in " ".join(since_the_lock(root))
