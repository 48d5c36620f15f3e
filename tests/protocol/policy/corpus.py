"""Tool calls as a session makes them, one JSON object a line, with the verdict that is right: in the file's name.

``kind`` is for people; ``in`` is ``root`` where the call is made in the main working tree; ``layer`` 2 marks what a
program does, which git's own hooks must hold where the text does not show it (``setup`` makes its file). Instead of
``input`` a line may ``generate`` a command: ``first + repeat·times + middle + close·times + then``.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CONTRIVED", "Call", "calls"]

CONTRIVED = frozenset({"variables", "wrappers", "fed shells", "config", "guards"})
"""Spellings that an honest model does not use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One line, its placeholders filled in."""

    tool: str
    given: Mapping[str, Any]
    kind: str
    in_root: bool
    layer: int
    setup: str

    def __str__(self) -> str:
        return f"[{self.kind}] {self.tool} {str(self.given.get('command', self.given))[:200]}"


def calls(name: str, places: Mapping[str, str]) -> Iterator[Call]:
    """The lines of all files of that name (``forbidden``, ``harmless``); ``places``: what ``@NAME@`` stands for."""
    for file in sorted((Path(__file__).parent / "corpus").glob(f"*_{name}.jsonl")):
        for text in file.read_text().splitlines():
            filled = text
            for place, value in places.items():
                filled = filled.replace(place, value)
            line = json.loads(filled)
            yield Call(
                tool=line["tool"],
                given=line["input"] if "input" in line else {"command": _generated(**line["generate"])},
                kind=line["kind"],
                in_root=line.get("in") == "root",
                layer=line.get("layer", 1),
                setup=line.get("setup", ""),
            )


def _generated(
    *, first: str = "", repeat: str = "", times: int = 0, middle: str = "", close: str = "", then: str = ""
) -> str:
    return first + repeat * times + middle + close * times + then
