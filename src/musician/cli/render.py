"""Prints results for people, pipes and programs.

Rules (B36): a pipe gets complete plain text without escape sequences; a terminal gets a table; ``--json`` gets one
UTF-8 document with stable keys. Ids are never cut. What does not print in foreign text is shown by a picture or
its number, so that it cannot control the terminal; in JSON it is complete, and escaped.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from musician.cli.context import App
from musician.processes.output import json_text, printable
from musician.protocol.values import dataclass

if TYPE_CHECKING:
    from musician.plugin.check_result import CheckResult

_GAP = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A table. A cell may be a ``rich`` Text, whose style a terminal shows."""

    headings: Sequence[str]
    rows: Sequence[Sequence[object]]


def show(app: App, document: object, *text: str | Rows) -> None:
    """Print ``document`` with ``--json``, the lines and tables of ``text`` otherwise."""
    if app.json:
        _write(json_text(document, indent=2))
    show_text(app, *text)


def show_text(app: App, *text: str | Rows) -> None:
    """Print more for people, which ``--json`` has in its one document."""
    for each in () if app.json else text:
        if isinstance(each, Rows):
            _table(each)
        else:
            lines(each)


def lines(text: str) -> None:
    """Print ``text``, made printable."""
    _write(printable(text))


def note(text: str) -> None:
    """Say on standard error what is no result."""
    click.echo(printable(f"note: {text}"), err=True)


def fields(row: Any, *names: str, **more: object) -> dict[str, object]:
    """Return a row as a JSON object with its fields, or those of these ``names``, as keys."""
    if names:
        return {**{name: getattr(row, name) for name in names}, **more}
    if hasattr(row, "_asdict"):
        return {**row._asdict(), **more}
    from dataclasses import asdict

    return {**asdict(row), **more}


def show_findings(app: App, findings: "Sequence[CheckResult]") -> bool:
    """Print the findings of a check; return whether something must be mended."""
    failed = any(finding.level == "fail" for finding in findings)
    show(app, {"ok": not failed, "findings": [fields(finding) for finding in findings]})
    if not app.json:
        width = max((len(finding.check) for finding in findings), default=0)
        for finding in findings:
            remedy = f": {finding.remedy}" if finding.remedy else ""
            lines(f"{finding.level:<4}  {finding.check:<{width}}  {finding.found}{remedy}")
    return failed


def aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each pair; the second texts stand below each other."""
    width = max((len(first) for first, _ in rows), default=0)
    return [f"{first:<{width}}  {second}" for first, second in rows]


def indented(text: str) -> str:
    """Indent a quoted text."""
    return "\n".join(f"    {line}" for line in text.split("\n"))


def is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def is_plain() -> bool:
    """Whether to print without styles: in a pipe, on a terminal that cannot draw, or because of NO_COLOR."""
    cannot_draw = os.environ.get("TERM", "dumb") in ("", "dumb", "unknown")
    return not is_terminal() or cannot_draw or bool(os.environ.get("NO_COLOR"))


def _table(table: Rows) -> None:
    """Print rows under headings. On a terminal all columns but the first, which holds ids, may wrap."""
    if not is_terminal():
        _plain_table([list(table.headings), *([_cell(value) for value in row] for row in table.rows)])
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, heading in enumerate(table.headings):
        shown.add_column(heading, no_wrap=number == 0, overflow="ignore" if number == 0 else "fold")
    for row in table.rows:
        shown.add_row(*(each if isinstance(each, Text) else Text(_cell(each)) for each in row))
    Console(highlight=False, force_terminal=not is_plain()).print(shown)


def _plain_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        _write(_GAP.join(padded).rstrip())


def _width(text: str) -> int:
    """Return the text's width in columns of a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _cell(value: object) -> str:
    return "-" if value is None or value == "" else " ".join(printable(str(value)).split())


def _write(text: str) -> None:
    if sys.stdout is not None:
        sys.stdout.write(text + "\n")


def pairs(values: Mapping[str, object]) -> str:
    """Return lines of ``name: value``, aligned."""
    width = max(map(len, values), default=0)
    return "\n".join(f"{name + ':':<{width + 1}} {_cell(value)}" for name, value in values.items())
