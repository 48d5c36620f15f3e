"""The scan of a change: what was left behind in the lines it adds (D16, sources "Self Code Review").

Prints for debugging, stops of a debugger, code in comments, TODO and FIXME. Only added lines are looked at. Python is
read by ruff where it is there (an extra; a program of its own), else by the patterns that serve all other languages.
A program may print: where a file printed before, is a program's entry, or belongs to the tests, a print is a note
and nothing to clean up. ``# noqa`` on the line keeps a remark away, visible in the very change it is about.
"""

import ast
import io
import json
import re
import shutil
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import anyio.to_thread

from musician.processes.output import one_line
from musician.processes.scratch import ScratchFolder
from musician.protocol.values import dataclass, replace
from musician.trees.git import Git
from musician.verification.change import ChangedFile, CodeChange, is_test_side, read_blobs
from musician.verification.findings import Remark, Scan
from musician.verification.tools import run_tool

MAX_REMARKS = 200
_MAX_TEXT_CHARS = 120
_RUFF_LIMIT_S = 30.0

PRINT, DEBUGGER, COMMENTED, TODO = "debug print", "debugger", "commented-out code", "TODO"

_RUFF_KINDS = {"T20": PRINT, "T10": DEBUGGER, "ERA": COMMENTED, "FIX": TODO}
_RUFF_SELECTED = "T20,T10,ERA001,FIX"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Language:
    """``comment`` begins one; the others are looked for outside comments."""

    comment: str
    prints: str
    debugger: str = r"(?!)"
    code: str = r"(?!)"


_C_CODE = r"(?:.*[;{]|[})\]]+[;,]?)\s*$"
_PYTHON = _Language(
    comment=r"#",
    prints=r"\b(?<!\.)p?print\(",
    debugger=r"\bbreakpoint\(\)|\b(?:pdb|ipdb|pudb)\.set_trace\(|^\s*import (?:pdb|ipdb|pudb)\b",
)
_SCRIPT = _Language(
    comment=r"//|/\*", prints=r"\bconsole\.(?:log|debug|trace)\(", debugger=r"^\s*debugger\b", code=_C_CODE
)
_LANGUAGES = {
    ".py": _PYTHON,
    ".pyi": _PYTHON,
    **dict.fromkeys((".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte"), _SCRIPT),
    ".rb": _Language(
        comment=r"#", prints=r"^\s*(?:puts|pp?)\b", debugger=r"\bbinding\.(?:pry|irb)\b|\bbyebug\b"
    ),
    ".rs": _Language(comment=r"//", prints=r"\be?println!\(", debugger=r"\bdbg!\(", code=_C_CODE),
    ".go": _Language(comment=r"//", prints=r"\bfmt\.Print(?:ln|f)?\(|\b(?<!\.)println\(", code=_C_CODE),
    ".java": _Language(
        comment=r"//", prints=r"\bSystem\.(?:out|err)\.print|\.printStackTrace\(", code=_C_CODE
    ),
    ".kt": _Language(comment=r"//", prints=r"^\s*println\(", code=_C_CODE),
    ".cs": _Language(comment=r"//", prints=r"\bConsole\.Write|\bDebug\.Write", code=_C_CODE),
    ".php": _Language(comment=r"//|#", prints=r"\b(?:var_dump|print_r|dd)\(", code=_C_CODE),
    **dict.fromkeys(
        (".c", ".h", ".cc", ".cpp", ".hpp", ".swift"),
        _Language(comment=r"//|/\*", prints=r"^\s*(?:fprintf\(stderr|debugPrint\()", code=_C_CODE),
    ),
    **dict.fromkeys((".sh", ".bash"), _Language(comment=r"#", prints=r"(?!)", debugger=r"^\s*set -x\b")),
}

_TODO = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
_NO_QA = re.compile(r"#\s*noqa\b", re.IGNORECASE)
_ENTRY = re.compile(
    rb"__name__\s*==|^\s*(?:import|from)\s+(?:argparse|click|typer|optparse|docopt|fire)\b", re.MULTILINE
)
_ENTRY_NAMES = frozenset({"__main__", "main", "cli", "manage", "conftest", "setup"})


async def scan_change(git: Git, tree: Path, change: CodeChange) -> Scan:
    """What stands in the added lines of ``change``; ruff looks at the files in ``tree``, all in one run."""
    files = [file for file in change.present if file.added and _suffix(file.path) in _LANGUAGES]
    python = [file for file in files if file.is_python]
    ruff = find_ruff() if python else None
    by_ruff = None if ruff is None else await _by_ruff(ruff, tree, python)
    return await anyio.to_thread.run_sync(_scanned, git, change, files, by_ruff)


def _scanned(
    git: Git, change: CodeChange, files: list[ChangedFile], by_ruff: Mapping[str, list[Remark]] | None
) -> Scan:
    remarks: list[Remark] = []
    for file in files:
        if by_ruff is None or not file.is_python:
            remarks += _by_pattern(file)
        else:
            remarks += by_ruff.get(file.path, ())
    judged = _judged(git, change, remarks, read_by_ruff=by_ruff is not None)
    has_python = any(file.is_python for file in files)
    by = "" if not has_python else "patterns" if by_ruff is None else "ruff"
    return Scan(remarks=tuple(judged[:MAX_REMARKS]), left_out=max(0, len(judged) - MAX_REMARKS), by=by)


def find_ruff() -> str | None:
    """Beside our own interpreter, else on PATH."""
    return shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")


async def _by_ruff(ruff: str, tree: Path, files: list[ChangedFile]) -> Mapping[str, list[Remark]] | None:
    """By file; None if ruff did not answer as it should."""
    argv = [ruff, "check", "--isolated", "--no-cache", "--quiet", "--exit-zero", "--force-exclude"]
    argv += ["--select", _RUFF_SELECTED, "--output-format", "json"]
    try:
        with ScratchFolder("scan") as folder:
            answer = Path(folder) / "ruff.json"  # what it complains of goes to the same pipe as its answer
            argv += ["--output-file", str(answer), "--", *(file.path for file in files)]
            await run_tool(argv, tree=tree, limit_s=_RUFF_LIMIT_S)
            return _read_answer(json.loads(answer.read_bytes()), tree.resolve(), files)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _read_answer(
    answer: list[dict[str, Any]], top: Path, files: list[ChangedFile]
) -> dict[str, list[Remark]]:
    added = {file.path: {line.number: line.text for line in file.added} for file in files}
    remarks: dict[str, list[Remark]] = {}
    for each in answer:
        path, row, kind = (
            Path(each["filename"]),
            each["location"]["row"],
            _RUFF_KINDS.get(str(each["code"])[:3]),
        )
        name = str(path.relative_to(top)) if path.is_relative_to(top) else str(path)
        if kind is not None and row in added.get(name, {}):
            remarks.setdefault(name, []).append(_remark(name, row, kind, added[name][row]))
    return remarks


def _by_pattern(file: ChangedFile) -> Iterator[Remark]:
    language = _LANGUAGES[_suffix(file.path)]
    comment = re.compile(rf"(?<![\w:'\"])(?:{language.comment})(?P<said>.*)")
    prints, debugger, code = map(re.compile, (language.prints, language.debugger, language.code))
    for line in file.added:
        if _NO_QA.search(line.text):
            continue
        found = comment.search(line.text)
        before = line.text if found is None else line.text[: found.start()]
        said = "" if found is None else found["said"]
        if prints.search(before):
            yield _remark(file.path, line.number, PRINT, line.text)
        if debugger.search(before):
            yield _remark(file.path, line.number, DEBUGGER, line.text)
        if _TODO.search(said):
            yield _remark(file.path, line.number, TODO, line.text)
        elif not before.strip() and said and _is_code(said, code, is_python=language is _PYTHON):
            yield _remark(file.path, line.number, COMMENTED, line.text)


_PYTHON_CODE = (
    ast.Assign
    | ast.AugAssign
    | ast.AnnAssign
    | ast.Import
    | ast.ImportFrom
    | ast.Return
    | ast.Raise
    | ast.Delete
)


def _is_code(said: str, code: re.Pattern[str], *, is_python: bool) -> bool:
    """Whether what a comment says is code: a whole statement that no sentence could be."""
    if not is_python:
        return code.match(said.strip()) is not None and not said.startswith(("/", "!"))
    try:
        body = ast.parse(said.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if len(body) != 1 or said.strip().startswith("type:"):
        return False
    only = body[0]
    if isinstance(only, ast.AnnAssign) and only.value is None:
        return False  # "note: this" is a sentence
    return isinstance(only, _PYTHON_CODE) or (isinstance(only, ast.Expr) and isinstance(only.value, ast.Call))


def _judged(git: Git, change: CodeChange, remarks: list[Remark], *, read_by_ruff: bool) -> list[Remark]:
    """Prints that are no fault become notes; what only looks like Python, inside a string, goes."""
    named = {remark.path for remark in remarks}
    files = {file.path: file for file in change.present if file.path in named}
    contents = read_blobs(git, (blob for file in files.values() for blob in (file.old_blob, file.new_blob)))
    judged: list[Remark] = []
    for path, file in files.items():
        own = [remark for remark in remarks if remark.path == path]
        if file.is_python and not read_by_ruff:
            words = _words_by_line(contents.get(file.new_blob, b""))
            own = [
                remark
                for remark in own
                if words is None or words.get(remark.line, set()) & _WORDS[remark.kind]
            ]
        is_note = _may_print(file, contents)
        judged += (replace(each, is_note=is_note and each.kind == PRINT) for each in own)
    return judged


_WORDS = {
    PRINT: {"print", "pprint"},
    DEBUGGER: {"breakpoint", "pdb", "ipdb", "pudb"},
    COMMENTED: {"#"},
    TODO: {"#"},
}


def _words_by_line(source: bytes) -> dict[int, set[str]] | None:
    """The names in the code of each line, and "#" where it has a comment; None if it cannot be determined."""
    words: dict[int, set[str]] = {}
    try:
        for token in tokenize.tokenize(io.BytesIO(source).readline):
            if token.type in (tokenize.NAME, tokenize.COMMENT):
                words.setdefault(token.start[0], set()).add(
                    token.string if token.type == tokenize.NAME else "#"
                )
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    return words


def _may_print(file: ChangedFile, contents: Mapping[str, bytes]) -> bool:
    if is_test_side(file.path) or PurePosixPath(file.path).stem in _ENTRY_NAMES:
        return True
    if _ENTRY.search(contents.get(file.new_blob, b"")):
        return True
    before = contents.get(file.old_blob, b"").decode("utf-8", "replace")
    return re.search(_LANGUAGES[_suffix(file.path)].prints, before, re.MULTILINE) is not None


def _remark(path: str, line: int, kind: str, text: str) -> Remark:
    return Remark(path=path, line=line, kind=kind, text=one_line(text, _MAX_TEXT_CHARS))


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()
