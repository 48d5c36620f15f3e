"""Makes a fresh git repository of the bundled project.

Nothing of the surroundings gets in: no template, no hook, no ignore list of the user's. Nothing is run here.
"""

import shutil
from pathlib import Path

from musician.protocol.errors import BadField
from musician.trees.git import Git

PLAN_NAME = "PLAN.md"
_KEYS_OF_THE_LAST = "files: [pigeonpost/desk.py, "
_HERE = Path(__file__).parent
_IDENTITY = (("user.name", "Pigeon Post"), ("user.email", "desk@pigeonpost.invalid"))


def prepare(folder: Path, *, by_hand: bool = False) -> Path:
    """Copy project and plan into ``folder``, new or empty, commit them on branch ``main``, and return the
    plan's path. ``by_hand`` leaves the review of the last task to a person.

    :class:`BadField` if there is something in the way.
    """
    _check_free(folder)
    ignored = shutil.ignore_patterns("__pycache__")
    try:
        shutil.copytree(_HERE / "project", folder, dirs_exist_ok=True, ignore=ignored)
        plan = Path(shutil.copyfile(_HERE / PLAN_NAME, folder / PLAN_NAME))
    except (OSError, shutil.Error) as error:
        raise _unusable(folder, str(error)) from error
    if by_hand:
        text = plan.read_text(encoding="utf-8")
        plan.write_text(
            text.replace(_KEYS_OF_THE_LAST, f"review: human\n{_KEYS_OF_THE_LAST}"), encoding="utf-8"
        )
    Git(folder, finds=True).run("init", "--quiet", "--template=")
    git = Git(folder)
    git.run("symbolic-ref", "HEAD", "refs/heads/main")
    for name, value in _IDENTITY:
        git.run("config", name, value)
    git.run("add", "--all", "--force")
    git.run("commit", "--quiet", "--message", "A post office with tests, and no functions yet")
    return plan


def _check_free(folder: Path) -> None:
    if folder.is_dir():
        if any(folder.iterdir()):
            raise _unusable(folder, "name a new or an empty folder")
    elif folder.exists() or folder.is_symlink():
        raise _unusable(folder, "that is no folder; name a new or an empty one")


def _unusable(folder: Path, reason: str) -> BadField:
    return BadField(field="--keep", value=str(folder), reason=reason)
