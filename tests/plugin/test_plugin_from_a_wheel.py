"""The plugin as it is shipped: from a wheel, in an environment whose path no shell would let pass."""

import json
import os
import shlex
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

from musician.plugin.rendering import TEMPLATE
from musician.testing.waiting import HANG_S

pytestmark = pytest.mark.deep

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the built wheel, and this one's other packages."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(PROJECT)
    )
    (wheel,) = folder.glob("musician-*.whl")
    place = folder / "My Env (é) $x"
    venv.create(place, symlinks=True)
    python = place / "bin" / "python"
    packages = Path(_run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    _run(
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(packages), str(wheel)
    )
    (packages / "ours.pth").write_text(sysconfig.get_path("platlib") + "\n", encoding="utf-8")
    return python


def _run(*argv: str, **how: Any) -> str:
    done: subprocess.CompletedProcess[str] = subprocess.run(
        argv, capture_output=True, text=True, timeout=HANG_S, check=False, **how
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_installed_wheel_has_all_of_the_plugin_and_its_hooks_start(
    python: Path, home: Path, repository: Path
) -> None:
    """B09, P4: by the interpreter the environment was made from, which starts without it."""
    _run(str(python), "-m", "musician", "init")
    path = Path(json.loads(_run(str(python), "-m", "musician", "plugin", "path", "--json"))["path"])
    files = {each.relative_to(TEMPLATE) for each in TEMPLATE.rglob("*") if each.is_file()}
    wanted = {each for each in files if "__pycache__" not in each.parts}
    assert {each.relative_to(path.parent) for each in path.parent.rglob("*") if each.is_file()} == wanted
    (entry,) = json.loads((path / "hooks" / "hooks.json").read_bytes())["hooks"]["SessionStart"]
    hook = entry["hooks"][0]
    argv = [hook["command"], *(each.replace("${CLAUDE_PLUGIN_ROOT}", str(path)) for each in hook["args"])]
    started_with = shlex.quote(os.path.realpath(sys.executable))
    assert f"set -- {started_with} -I -S" in (path / "hooks" / "hook.sh").read_text(encoding="utf-8")
    said = json.dumps({"session_id": "sess-aaa", "source": "startup", "hook_event_name": "SessionStart"})
    assert "sess-aaa" in json.loads(_run(*argv, input=said))["hookSpecificOutput"]["additionalContext"]
    server = json.loads((path / ".mcp.json").read_bytes())["mcpServers"]["comms-link"]
    assert server["command"] == str(python)


def test_when_the_environment_is_gone_the_hooks_step_aside(
    python: Path, home: Path, repository: Path
) -> None:
    """No tool of the user's is blocked because they removed Musician before its plugin."""
    path = Path(_run(str(python), "-m", "musician", "plugin", "path").rstrip("\n"))
    (entry,) = json.loads((path / "hooks" / "hooks.json").read_bytes())["hooks"]["PreToolUse"]
    argv = [each.replace("${CLAUDE_PLUGIN_ROOT}", str(path)) for each in entry["hooks"][0]["args"]]
    _run(str(python), "-m", "musician", "init")
    (python.parents[1]).rename(python.parents[1].with_name("gone"))
    try:
        done = subprocess.run(
            [entry["hooks"][0]["command"], *argv],
            input=b"{}",
            capture_output=True,
            check=True,
            timeout=HANG_S,
        )
    finally:
        python.parents[1].with_name("gone").rename(python.parents[1])
    assert done.stdout == b""
    assert b"is gone" in done.stderr
