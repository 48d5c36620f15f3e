"""Somebody else's settings: changed in one place, the same to the byte in every other."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.plugin.settings_file import SettingsFile
from musician.protocol.errors import SettingsUnreadable

ENABLED = ("enabledPlugins", "musician@musician")
KNOWN = ("extraKnownMarketplaces", "musician")
SOURCE = {"source": {"source": "directory", "path": "/tmp/My Proj (é) $x"}}

_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
_values = st.recursive(
    _scalars,
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=6), each, max_size=3),
    max_leaves=8,
)
_settings = st.dictionaries(
    st.text(max_size=6)
    | st.sampled_from(["enabledPlugins", "extraKnownMarketplaces", "env", "statusLine", "hooks"]),
    _values,
    max_size=4,
)
_layouts = st.sampled_from([None, 0, 1, 2, 4, "\t"])
_newlines = st.sampled_from(["\n", "\r\n"])


def _takes_members(value: Any) -> bool:
    return all(isinstance(value.get(key, {}), dict) for key in ("enabledPlugins", "extraKnownMarketplaces"))


@st.composite
def _texts(draw: st.DrawFn) -> str:
    """Settings in somebody's own layout."""
    value = draw(_settings.filter(_takes_members))
    layout, spaced = draw(_layouts), draw(st.booleans())
    separators = (" , ", " : ") if spaced and layout is None else None
    text = json.dumps(value, indent=layout, separators=separators, ensure_ascii=draw(st.booleans()))
    text = text.replace("\n", draw(_newlines)).replace("{}", draw(st.sampled_from(["{}", "{ }", "{\n}"])))
    return draw(st.sampled_from(["", "\ufeff", "\n"])) + text + draw(st.sampled_from(["", "\n", " \n\n"]))


def _file(text: str) -> SettingsFile:
    return SettingsFile(Path("settings.json"), text)


@given(text=_texts())
def test_what_was_put_in_and_taken_out_leaves_the_very_bytes_that_were_there(text: str) -> None:
    """B09, CLI-22: other settings are kept byte for byte."""
    text = text.encode("utf-8", "replace").decode()
    before = json.loads(text.removeprefix("\ufeff"))
    file = _file(text)
    made = {keys: file.put(keys, value) for keys, value in ((KNOWN, SOURCE), (ENABLED, True))}
    after = json.loads(file.text.removeprefix("\ufeff"))
    assert file.get(ENABLED) is True
    assert file.get(KNOWN) == SOURCE
    assert {key: after[key] for key in before if key not in (ENABLED[0], KNOWN[0])} == {
        key: before[key] for key in before if key not in (ENABLED[0], KNOWN[0])
    }
    again = file.text
    assert file.put(ENABLED, True) == file.put(KNOWN, SOURCE) == ()
    assert file.text == again
    if ENABLED[1] not in before.get(ENABLED[0], {}) and KNOWN[1] not in before.get(KNOWN[0], {}):
        for keys in (ENABLED, KNOWN):
            assert file.take(keys, made=made[keys])
        assert file.text == text


def test_a_member_goes_in_as_the_file_is_laid_out() -> None:
    file = _file('{\n    "model": "opus",\n    "enabledPlugins": {\n        "other@x": true\n    }\n}\n')
    file.put(ENABLED, True)
    assert file.text == (
        '{\n    "model": "opus",\n    "enabledPlugins": {\n        "other@x": true,\n'
        '        "musician@musician": true\n    }\n}\n'
    )
    file.put(("statusLine",), {"type": "command"})
    assert file.text.endswith('    },\n    "statusLine": {\n        "type": "command"\n    }\n}\n')


@pytest.mark.parametrize("text", ["", "{}", '{"enabledPlugins": 7}', '{"enabledPlugins": {"b": 1}}'])
def test_what_is_not_there_cannot_be_taken(text: str) -> None:
    file = _file(text)
    assert file.take(ENABLED) is False
    assert file.text == text


def test_a_value_is_changed_in_its_place() -> None:
    file = _file('{"enabledPlugins": {"musician@musician": false, "b": 1.50}, "z": 1e3}')
    assert file.put(ENABLED, True) == ()
    assert file.text == '{"enabledPlugins": {"musician@musician": true, "b": 1.50}, "z": 1e3}'


def test_a_file_that_is_not_there_is_made_and_one_that_is_empty_says_so(tmp_path: Path) -> None:
    path = tmp_path / "new" / "settings.json"
    file = SettingsFile.read(path)
    assert (file.get(ENABLED), file.take(ENABLED)) == (None, False)
    made = file.put(ENABLED, True)
    assert made == ((), ("enabledPlugins",))
    file.save()
    assert json.loads(path.read_text(encoding="utf-8")) == {"enabledPlugins": {"musician@musician": True}}
    again = SettingsFile.read(path)
    assert again.take(ENABLED, made=made)
    assert again.is_empty


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b'{\n  "model": "opus",\n}\n', 3, "double quotes"),
        (b'{\n  "model": "opus"\n  "env": {}\n}\n', 3, "delimiter"),
        (b"// mine\n{}\n", 1, "Expecting value"),
        (b"[]", 1, "no JSON object"),
        (b'{"a":\n "\xff"}', 2, "not UTF-8"),
        (b'{"a": ' * 100_000, 1, "too deeply"),
    ],
)
def test_a_broken_file_is_refused_with_its_line_and_left_alone(
    tmp_path: Path, data: bytes, line: int, reason: str
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(data)
    with pytest.raises(SettingsUnreadable, match=reason) as told:
        SettingsFile.read(path)
    assert (told.value.line, told.value.path) == (line, str(path))
    assert path.read_bytes() == data


@pytest.mark.parametrize("value", ["null", "[]", '"on"', "7"])
def test_something_else_in_the_place_of_an_object_is_refused_with_its_line(value: str) -> None:
    file = _file(f'{{\n"a": 1,\n"enabledPlugins": {value}\n}}')
    with pytest.raises(SettingsUnreadable, match="enabledPlugins is no JSON object") as told:
        file.put(ENABLED, True)
    assert told.value.line == 3


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "settings.json").mkdir()
    with pytest.raises(SettingsUnreadable, match="directory"):
        SettingsFile.read(tmp_path / "settings.json")


def test_a_link_is_followed_and_the_files_rights_are_kept(tmp_path: Path) -> None:
    """People keep their settings in a repository of their own and link them."""
    kept = tmp_path / "dotfiles" / "settings.json"
    kept.parent.mkdir()
    kept.write_text("{}", encoding="utf-8")
    kept.chmod(0o600)
    link = tmp_path / "settings.json"
    link.symlink_to(kept)
    file = SettingsFile.read(link)
    file.put(ENABLED, True)
    file.save()
    assert link.is_symlink()
    assert os.stat(kept).st_mode & 0o777 == 0o600
    assert SettingsFile.read(kept).get(ENABLED) is True
    assert [each.name for each in kept.parent.iterdir()] == ["settings.json"]
