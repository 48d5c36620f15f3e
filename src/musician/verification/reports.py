"""Reads the coverage report that a project's own test run leaves behind, in any of several formats.

Cobertura XML (coverage.py, many others), LCOV (JavaScript, C, Rust, Go by converters), and coverage.py's own data,
which the ``coverage`` package turns into XML in a process of its own: an extra, never imported here. Only a report
that the test run has just written counts; an older one speaks of other code. They are looked for at the top of the
tree and in the folders that commands run in, one in each; what several say is put together. Data that coverage.py was
told to write in parallel (``.coverage.HOST.PID…``) is combined beside the tree: the project's own files stay.
"""

import contextlib
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import anyio.to_thread

from musician.own_python import install_extra, own_python
from musician.processes.identity import ProcessIdentity
from musician.processes.scratch import ScratchFolder
from musician.processes.spawn import run_program
from musician.protocol.values import dataclass

MAX_REPORT_BYTES = 64 * 1024 * 1024

_COBERTURA = ("coverage.xml", "cobertura.xml", "cobertura-coverage.xml", "coverage/cobertura-coverage.xml")
_LCOV = ("lcov.info", "coverage.lcov", "coverage/lcov.info")
_DATA = ".coverage"
_NAMES = (*_COBERTURA, *_LCOV, _DATA)
_CONVERSION_LIMIT_S = 60.0
_MAX_SAID_BYTES = 64 * 1024

Stamps = Mapping[str, tuple[int, int, int]]
"""Of each report: its inode, size and time, by which a new one is told from an old one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageReport:
    """``hits`` are, by path relative to the tree, how often each line that could run did."""

    source: str
    hits: Mapping[str, Mapping[int, int]]

    @property
    def total_pct(self) -> float | None:
        """Return the percentage of lines run, of all that the report knows; None for an empty report."""
        lines = sum(len(each) for each in self.hits.values())
        covered = sum(1 for each in self.hits.values() for hits in each.values() if hits)
        return 100 * covered / lines if lines else None


def report_stamps(tree: Path, folders: Iterable[str] = ()) -> Stamps:
    """Return the reports' stamps before the tests run, for :func:`fresh_report` after them."""
    found: dict[str, tuple[int, int, int]] = {}
    places = ("", *folders)
    parts = (
        str(path.relative_to(tree))
        for folder in places
        for path in sorted((tree / folder).glob(f"{_DATA}.*"))
    )
    for name in (*(os.path.join(folder, each) for folder in places for each in _NAMES), *parts):
        with contextlib.suppress(OSError):
            stat = os.stat(tree / name)
            found[name] = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    return found


async def fresh_report(tree: Path, before: Stamps, folders: Sequence[str] = ()) -> CoverageReport | str:
    """Return the report that the test run has written since ``before``; else, in a few words, why there is
    none.
    """
    now = report_stamps(tree, folders)
    fresh = {name: stamp[1] for name, stamp in now.items() if before.get(name) != stamp}
    if not fresh:
        return f"{next(iter(now))} is older than this run" if now else "the tests leave no coverage report"
    found: list[CoverageReport] = []
    for folder in ("", *folders):
        name = next((each for each in _NAMES if os.path.join(folder, each) in fresh), None)
        if name is not None:
            report = await _report(tree, folder, name, fresh[os.path.join(folder, name)])
        elif parts := [os.path.basename(each) for each in fresh if os.path.dirname(each) == folder]:
            report = await _from_data(tree, folder, parts)
        else:
            continue
        if isinstance(report, str):
            return report
        found.append(report)
    return put_together(found)


async def _report(tree: Path, folder: str, name: str, size: int) -> CoverageReport | str:
    shown = os.path.join(folder, name)
    if size > MAX_REPORT_BYTES:
        return f"{shown} is too large"
    try:
        if name == _DATA:
            return await _from_data(tree, folder)
        return await anyio.to_thread.run_sync(_read, tree, folder, tree / shown, name)
    except (OSError, ET.ParseError, ValueError) as error:
        return f"{shown} cannot be read: {error}"


def put_together(reports: Sequence[CoverageReport]) -> CoverageReport:
    """Combine reports: a line counts as run if any of them says so. A single report is returned as it is."""
    if len(reports) == 1:
        return reports[0]
    hits: dict[str, dict[int, int]] = {}
    for report in reports:
        for path, lines in report.hits.items():
            _add(hits.setdefault(path, {}), lines)
    return CoverageReport(source=", ".join(dict.fromkeys(each.source for each in reports)), hits=hits)


def _read(tree: Path, folder: str, path: Path, name: str) -> CoverageReport:
    """Read the report at ``path``, known as ``name`` in ``folder`` of ``tree``."""
    text = path.read_bytes()
    hits = _lcov(text.decode("utf-8", "replace")) if name in _LCOV else _cobertura(text)
    return CoverageReport(source=os.path.join(folder, name), hits=_in_tree(tree, folder, hits))


async def _from_data(tree: Path, folder: str, parts: Sequence[str] = ()) -> CoverageReport | str:
    """Convert coverage.py's data; ``parts`` are combined first."""
    if find_spec("coverage") is None:
        return f"reading .coverage needs `{install_extra('checks')}`, or let the tests write coverage.xml"
    with ScratchFolder("coverage") as scratch:
        made = Path(scratch) / "coverage.xml"
        data = _DATA
        if parts:
            data = str(Path(scratch) / _DATA)
            combine = own_python("-m", "coverage", "combine", "--keep", "-q", f"--data-file={data}", *parts)
            await _say(combine, tree / folder)
        argv = own_python("-m", "coverage", "xml", "-q", "-i", "--fail-under=0")
        argv += [f"--data-file={data}", "-o", str(made)]
        said = (await _say(argv, tree / folder)).strip().splitlines()
        if not made.is_file():
            shown = os.path.join(folder, _DATA)
            return f"{shown} cannot be read: {said[-1] if said else 'coverage says nothing'}"
        return await anyio.to_thread.run_sync(_read, tree, folder, made, _DATA)


async def _say(argv: Sequence[str], cwd: Path) -> str:
    """Run a conversion and return its last output. It is on a leash and dies with us, so it is not recorded."""
    said = bytearray()

    async def hear(data: bytes) -> None:
        said.extend(data)
        del said[:-_MAX_SAID_BYTES]

    async def nobody_records(_: ProcessIdentity) -> None:
        pass

    ended = await run_program(
        argv,
        cwd=cwd,
        env=os.environ,
        on_output=hear,
        time_limit_s=_CONVERSION_LIMIT_S,
        on_process=nobody_records,
    )
    if ended.timed_out:
        raise TimeoutError(f"it took longer than {_CONVERSION_LIMIT_S:g} s")
    return said.decode("utf-8", "replace")


def _cobertura(text: bytes) -> Iterator[tuple[list[str], dict[int, int]]]:
    # Entities cannot explode: expat bounds them since 2.4.1, and the file is the user's own
    root = ET.fromstring(text)  # noqa: S314
    sources = [source.text.strip() for source in root.iter("source") if source.text]
    for each in root.iter("class"):
        name = each.get("filename", "")
        lines = {int(line.get("number", 0)): int(line.get("hits", 0)) for line in each.iterfind("lines/line")}
        yield [name, *(os.path.join(source, name) for source in sources)], lines


def _lcov(text: str) -> Iterator[tuple[list[str], dict[int, int]]]:
    name = ""
    lines: dict[int, int] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(":")
        if key == "SF":
            name, lines = value, {}
        elif key == "DA":
            number, hits = value.split(",")[:2]
            lines[int(number)] = lines.get(int(number), 0) + int(hits)
        elif key == "end_of_record":
            yield [name], lines


def _in_tree(
    tree: Path, folder: str, found: Iterator[tuple[list[str], dict[int, int]]]
) -> dict[str, dict[int, int]]:
    """Return hits by path relative to the tree; files outside it are left out, a file named twice is
    combined.

    Paths in a report are relative to the ``folder`` that contains it.
    """
    top = Path(os.path.realpath(tree))
    hits: dict[str, dict[int, int]] = {}
    for names, lines in found:
        for name in names:
            place = Path(os.path.realpath(top / folder / name))
            if place.is_relative_to(top) and place.is_file():
                _add(hits.setdefault(str(place.relative_to(top)), {}), lines)
                break
    return hits


def _add(merged: dict[int, int], lines: Mapping[int, int]) -> None:
    for number, count in lines.items():
        merged[number] = merged.get(number, 0) + count
