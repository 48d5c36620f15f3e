"""Installing and uninstalling: what the settings say before, between and after."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from musician.plugin.rendering import TEMPLATE, PluginRuntime, render, this_program
from musician.plugin.scopes import for_user
from musician.protocol.errors import TreeNotReady

if TYPE_CHECKING:
    from tests.surroundings import Call

OTHERS = '{\n   "model": "opus",\n   "env": {"A": 1.50},\n   "enabledPlugins": {}\n}'
LINE = '{"statusLine": {"type": "command", "command": "mine"}}'


def settings_of(scope: str, home: Path, repository: Path) -> Path:
    return (
        home / ".claude" / "settings.json"
        if scope == "user"
        else repository / ".claude" / "settings.local.json"
    )


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("text", [None, "{}\n", OTHERS, LINE])
def test_what_was_installed_is_taken_away_exactly(
    call: "Call", home: Path, repository: Path, scope: str, text: str | None
) -> None:
    """B09, CLI-22: the client is told, twice is once, and afterwards all is as it was before."""
    call("init")
    settings = settings_of(scope, home, repository)
    if text is not None:
        settings.parent.mkdir()
        settings.write_text(text, encoding="utf-8")
    before = {**files_in(home), **files_in(repository)}
    done = call("plugin", "install", "--scope", scope, "--statusline", "--json").json
    assert (done["changed"], done["settings"]) == (True, str(settings))
    said = json.loads(settings.read_text(encoding="utf-8"))
    marketplace = done["plugin"].removeprefix("musician@")
    assert said["enabledPlugins"] == {done["plugin"]: True}
    folder = Path(said["extraKnownMarketplaces"][marketplace]["source"]["path"])
    assert Path(done["path"]) == folder / "plugin"
    assert done["status_line"] == ("kept" if text == LINE else "ours")
    between = {**files_in(home), **files_in(repository)}
    again = call("plugin", "install", "--scope", scope, "--statusline", "--json").json
    assert again["changed"] is False
    assert {**files_in(home), **files_in(repository)} == between
    assert call("plugin", "uninstall", "--scope", scope, "--json").json["changed"] is True
    after = {**files_in(home), **files_in(repository)}
    exclude = ".git/info/exclude"
    assert {**after, exclude: b""} == {**before, exclude: b""}
    assert call("plugin", "uninstall", "--scope", scope, "--json").json["changed"] is False


def test_a_projects_plugin_is_never_committed(call: "Call", repository: Path) -> None:
    """Its settings name paths of this machine (D25)."""
    from tests.surroundings import git

    call("init")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "musician's folders")
    call("plugin", "install", "--scope", "project")
    assert git(repository, "status", "--porcelain") == ""


def test_two_projects_are_two_marketplaces(call: "Call", repository: Path, tmp_path: Path) -> None:
    """The client knows one folder by one name."""
    from musician.plugin.scopes import for_project
    from musician.trees.root import Root

    one = for_project(Root(path=repository), {"HOME": "/h"})
    other = for_project(Root(path=tmp_path), {"HOME": "/h"})
    assert one.marketplace != other.marketplace
    assert for_user({"HOME": "/h"}).marketplace not in (one.marketplace, other.marketplace)


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_broken_settings_file_is_refused_with_its_line_and_nothing_is_written(
    call: "Call", home: Path, verb: str
) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n  "model": "opus",\n}\n', encoding="utf-8")
    before = files_in(home)
    told = call("plugin", verb, expect=2).err
    assert f"{settings}:3: " in told
    assert files_in(home) == before


def test_a_users_own_status_line_is_kept_and_ours_comes_and_goes(call: "Call", home: Path) -> None:
    settings = home / ".claude" / "settings.json"
    call("plugin", "install")
    assert "statusLine" not in json.loads(settings.read_text(encoding="utf-8"))
    call("plugin", "install", "--statusline")
    line = json.loads(settings.read_text(encoding="utf-8"))["statusLine"]
    boot = str(for_user({"HOME": str(home)}).plugin / "boot.py")
    assert shlex.split(line["command"])[-2:] == [boot, "statusline"]
    assert line["type"] == "command"
    call("plugin", "uninstall")
    assert not settings.exists()


def test_several_configurations_of_one_user_share_the_files(
    call: "Call", home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one that is uninstalled takes the files along."""
    other = home / "other config"
    call("plugin", "install")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(other))
    folder = Path(call("plugin", "install", "--json").json["path"])
    call("plugin", "uninstall")
    assert not (other / "settings.json").exists()
    assert (folder / "boot.py").exists()
    assert call("plugin", "uninstall", "--json").json["changed"] is False
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    call("plugin", "uninstall")
    assert not folder.parent.exists()
    assert not (home / ".claude").exists()


def test_the_folder_for_a_session_is_made_without_touching_settings(call: "Call", home: Path) -> None:
    folder = Path(call("plugin", "path").out.rstrip("\n"))
    assert (folder / ".claude-plugin" / "plugin.json").is_file()
    assert not (home / ".claude").exists()


def test_rendering_again_writes_what_is_different_and_removes_what_an_older_version_left(home: Path) -> None:
    place = for_user({"HOME": str(home)})
    program = this_program()
    count = len([path for path in TEMPLATE.rglob("*") if path.is_file() and "__pycache__" not in path.parts])
    assert len(render(place, program)) == count
    (place.plugin / "commands").mkdir()
    (place.plugin / "commands" / "old.md").write_text("old", encoding="utf-8")
    (place.plugin / "hooks" / "hooks.json").write_text("{}", encoding="utf-8")
    assert render(place, program) == ("plugin/hooks/hooks.json",)
    assert not (place.plugin / "commands").exists()
    assert render(place, program) == ()


def test_every_fact_is_filled_in_whatever_its_letters_are(home: Path) -> None:
    """B09: quotes, dollars and letters of a path change nothing of what a file says."""
    place = for_user({"HOME": str(home)})
    odd = "/opt/a \"b\" 'c' $d \\e é {{f}}/python3"
    program = PluginRuntime(python=odd, program_python=odd, packages=(odd, "/second"), version="1")
    render(place, program)

    def read(name: str) -> Any:
        return json.loads((place.plugin / name).read_text(encoding="utf-8"))

    script = (place.plugin / "hooks" / "hook.sh").read_text(encoding="utf-8")
    tried, started = (
        shlex.split(line) for line in script.splitlines() if line.startswith(("for each", "  set -- "))
    )
    assert tried[3:-1] == [odd, odd, "/second;"]
    assert started[:5] == ["set", "--", odd, "-I", "-S"]
    assert read(".mcp.json")["mcpServers"]["comms-link"]["command"] == odd
    words = shlex.split(read("monitors/monitors.json")[0]["command"])
    assert words == ["exec", odd, "-I", "-S", "-X", "utf8", str(place.plugin / "boot.py"), "monitor"]
    scope: dict[str, Any] = {"__name__": "boot"}
    exec((place.plugin / "boot.py").read_text(encoding="utf-8"), scope)  # noqa: S102
    assert (scope["PACKAGES"], scope["VERSION"]) == ((odd, "/second"), "1")


@pytest.mark.parametrize("path", ["/opt/a\nb/python3", "/opt/\udcff/python3", "/opt/${HOME}/python3"])
def test_a_path_that_settings_cannot_hold_is_refused(home: Path, path: str) -> None:
    program = PluginRuntime(python=path, program_python=path, packages=())
    with pytest.raises(TreeNotReady, match="a path that no settings can hold"):
        render(for_user({"HOME": str(home)}), program)


def test_a_folder_that_cannot_be_written_is_told(home: Path) -> None:
    place = for_user({"HOME": str(home)})
    place.folder.parent.mkdir(parents=True)
    place.folder.write_text("a file", encoding="utf-8")
    with pytest.raises(TreeNotReady, match="cannot be written there"):
        render(place, this_program())
