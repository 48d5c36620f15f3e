"""The settings file: read, and written with every default."""

import re
from pathlib import Path

import pytest

from musician.config import load_settings, render_defaults
from musician.protocol.errors import WrongSettings
from musician.protocol.settings import Settings, describe


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "config.toml") == Settings()


def test_what_a_file_says_holds_and_the_rest_keeps_its_default(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[heartbeat]\nstale_after_s = 600\n")
    settings = load_settings(tmp_path / "config.toml")
    assert settings.heartbeat.stale_after_s == 600
    assert settings.waiting == Settings().waiting


def test_the_written_defaults_change_nothing_and_name_every_setting(tmp_path: Path) -> None:
    text = render_defaults()
    (tmp_path / "config.toml").write_text(text)
    assert load_settings(tmp_path / "config.toml") == Settings()
    assert len(re.findall(r"^#\w+ = ", text, re.MULTILINE)) == len(describe())


def test_the_written_defaults_are_the_defaults_when_they_are_switched_on(tmp_path: Path) -> None:
    switched_on = re.sub(r"^#(\w+ = )", r"\1", render_defaults(), flags=re.MULTILINE)
    (tmp_path / "config.toml").write_text(switched_on)
    assert load_settings(tmp_path / "config.toml") == Settings()
    assert switched_on != render_defaults()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[heartbeat]\nx\n", "line 2"),
        (b"\xff", "not TOML"),
        (b"[heartbeats]\n", "heartbeats"),
        (b"[heartbeat]\nstale_after_s = 'long'\n", "heartbeat.stale_after_s"),
    ],
)
def test_a_wrong_file_says_where_it_is_wrong(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "config.toml").write_bytes(data)
    with pytest.raises(WrongSettings, match=said):
        load_settings(tmp_path / "config.toml")


def test_a_file_that_cannot_be_read_is_no_reason_to_use_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(WrongSettings, match="cannot be read"):
        load_settings(tmp_path / "config.toml")


def test_a_byte_order_mark_is_no_part_of_the_settings(tmp_path: Path) -> None:
    """AUDIT-P22."""
    (tmp_path / "config.toml").write_bytes(b"\xef\xbb\xbf[heartbeat]\nstale_after_s = 600\n")
    assert load_settings(tmp_path / "config.toml").heartbeat.stale_after_s == 600
