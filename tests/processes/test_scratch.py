"""Scratch folders of processes that were killed are removed by the next run, and nothing else is."""

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from musician.processes.identity import ProcessIdentity, identify
from musician.processes.scratch import OWNER, ScratchFolder, sweep_scratch

HOLD = """
import sys
from musician.processes.scratch import ScratchFolder
folder = ScratchFolder("test")
print(folder.name, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_folder_goes_with_the_next_sweep_once_its_process_was_killed_and_not_before(place: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        folder = Path(holder.stdout.readline().strip())
        (folder / "deep").mkdir()
        (folder / "deep" / "file").touch()
        assert sweep_scratch() == ()
        assert (folder / "deep" / "file").exists()
        holder.kill()
    assert sweep_scratch() == (folder.name,)
    assert list(place.iterdir()) == []


def test_a_folder_is_removed_by_its_own_process() -> None:
    with ScratchFolder("test") as name:
        assert Path(name).name.startswith("musician-test-")
        assert sweep_scratch() == ()
    assert not Path(name).exists()


def dead(**changes: object) -> ProcessIdentity:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        found = identify(process.pid)
    return replace(found, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "is_swept"),
    [
        ({}, True),
        ({"boot_id": "an earlier one/pid:[1]"}, True),
        ({"host": "another"}, False),
    ],
    ids=["dead", "before the reboot", "another host"],
)
def test_only_a_process_that_is_known_dead_leaves_its_folder(
    place: Path, changes: dict[str, object], is_swept: bool
) -> None:
    folder = place / "musician-x-1"
    folder.mkdir()
    (folder / OWNER).write_text(json.dumps(asdict(dead(**changes))))
    assert bool(sweep_scratch()) is is_swept
    assert folder.exists() is not is_swept


@pytest.mark.parametrize("owner", [None, "", "{}", "[]", '{"pid": 1}', "\xff"])
def test_what_does_not_say_whose_it_is_stays(place: Path, owner: str | None) -> None:
    folder = place / "musician-x-1"
    folder.mkdir()
    if owner is not None:
        (folder / OWNER).write_text(owner, encoding="latin-1")
    assert sweep_scratch() == ()
    assert folder.exists()


def test_other_names_and_links_stay(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    text = json.dumps(asdict(dead()))
    (elsewhere / OWNER).write_text(text)
    (place / "musician-link").symlink_to(elsewhere)
    (place / "music").mkdir()
    (place / "music" / OWNER).write_text(text)
    (place / "musician-file").write_text(text)
    assert sweep_scratch() == ()
    assert (elsewhere / OWNER).exists()
    assert (place / "music").exists()
