"""The whole life of a plan on every kind of repository: it works, or it is refused before anything is touched (D31).

The real program, init and run, on real repositories. In every case each byte of the user's files, index, stash,
configuration, refs and hooks is as it was, but for the promised fast-forward. The kinds are in ``kinds.py``.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from musician.testing.waiting import HANG_S
from tests.hostile.kinds import KINDS, PLAN, WORLD, Kind
from tests.hostile.snapshot import Move, Snapshot, files_of, look, standing, unlike

PROGRAM = Path(sys.executable).with_name("musician")


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What became of a plan: how the last command ended, all that was said, and the world before and after."""

    command: str
    code: int
    said: str
    before: Snapshot
    after: Snapshot
    move: Move | None

    def new(self) -> set[str]:
        added = self.after.files.keys() - self.before.files.keys()
        return {str(path.relative_to(self.after.world)) for path in added}


def live(kind: Kind, folder: Path) -> Life:
    """Make the kind's world, and play a plan in it from its beginning to its end."""
    world = folder / "world"
    (world / "home").mkdir(parents=True)
    (folder / "tmp").mkdir()
    plan = folder / "PLAN.md"
    plan.write_text(PLAN.format(test=kind.test, step=kind.step), encoding="utf-8")
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
        "HOME": str(world / "home"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "TMPDIR": str(folder / "tmp"),
        "W": str(world),
        "PYTHON": sys.executable,
        "PLAN": str(plan),
    }
    if kind.path:
        # Measuring coverage starts a module of that name in every Python, wherever it comes from.
        surroundings.pop("COVERAGE_PROCESS_CONFIG", None)
        surroundings["PYTHONPATH"] = str(world / kind.path)
    script = f'{WORLD}\n{kind.make}\npwd -L > "$W/../stands"'
    subprocess.run(["bash", "-c", script], cwd=world, env=surroundings, check=True, capture_output=True)
    stands = Path((folder / "stands").read_text(encoding="utf-8").rstrip("\n"))
    branch, old = standing(stands)
    before = look(world)
    command, done = "", None
    plan_below = os.path.relpath(_top(stands) / "PLAN.md", stands)
    for command in ("init", f"run {plan_below}"):
        done = subprocess.run(
            [PROGRAM, *command.split(" ", 1)],
            cwd=stands,
            env=surroundings | {"PWD": str(stands)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=HANG_S,
            check=False,
        )
        if done.returncode:
            break
    assert done is not None
    _, new = standing(stands)
    moved = bool(branch) and new != old
    return Life(
        command=command.split(" ")[0],
        code=done.returncode,
        said=done.stdout.decode("utf-8", "replace"),
        before=before,
        after=look(world),
        move=Move(tree=stands, branch=branch, old=old, new=new) if moved else None,
    )


def _top(stands: Path) -> Path:
    return next((each for each in (stands, *stands.parents) if (each / "PLAN.md").exists()), stands)


def _parameters() -> list[object]:
    def marks(kind: Kind) -> list[pytest.MarkDecorator]:
        is_quick = kind.refused or kind.name == "plain"  # what is not refused is played to its end
        return [
            *([] if is_quick else [pytest.mark.deep]),
            *([pytest.mark.nightly] if kind.played == "at night" else []),
            *([pytest.mark.xfail(strict=True, reason=f"AUDIT-{kind.awaits}")] if kind.awaits else []),
        ]

    return [pytest.param(kind, id=kind.name.replace(" ", "-"), marks=marks(kind)) for kind in KINDS]


@pytest.mark.parametrize("kind", _parameters())
def test_a_plan_works_or_is_refused_and_nothing_of_the_users_changes(kind: Kind, tmp_path: Path) -> None:
    """AUDIT-U1, AUDIT-U2, AUDIT-U6, AUDIT-U9, AUDIT-U10, AUDIT-U12."""
    if "chown" in kind.make and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    life = live(kind, tmp_path)
    assert unlike(life.before, life.after, life.move) == [], life.said
    if kind.refused:
        assert (life.code, kind.refused in life.said) == (2, True), life.said
        made = life.new()
        assert not {name for name in made if "/musician/" in name or ".musician/trees/" in name}, life.said
        assert life.command == "run" or not made, life.said
    elif kind.asks:
        assert (life.code, kind.asks in life.said) == (1, True), life.said
    elif kind.kept_back:
        assert (life.code, life.move) == (0, None), life.said
        assert kind.kept_back in life.said, life.said
    else:
        assert life.code == 0, life.said
        assert life.move is not None, life.said
        assert set(kind.holds.split()) <= set(files_of(life.move)), life.said
