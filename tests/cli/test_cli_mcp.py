"""`musician mcp` where its library is not installed: one clear line (CLI-23)."""

import importlib.machinery
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_without_the_extra_it_says_how_to_get_it(
    repository: Path, call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-23"""
    find = importlib.machinery.PathFinder.find_spec
    monkeypatch.setattr("musician.cli.mcp.find_spec", lambda name: None if name == "mcp" else find(name))
    told = call("mcp", expect=2)
    assert told.out == ""
    assert told.err == "musician: the MCP server is not installed: pip install 'musician[claude]'\n"
