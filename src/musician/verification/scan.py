"""Scans a change for leftovers in the lines it adds (D16, sources "Self Code Review").

Prints for debugging, stops of a debugger, code in comments, TODO and FIXME. Only added lines are looked at, by
patterns; in Python what they find must stand in the code, or in a comment, and not in a string. A program may print:
where a file printed before, is a program's entry, or belongs to the tests, a print is a note and nothing to clean up.
``# noqa`` on the line keeps a remark away, visible in the very change it is about.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from musician.processes.output import one_line
from musician.protocol.values import dataclass, replace
from musician.trees.git import Git
from musician.verification.change import ChangedFile, CodeChange, is_test_side, read_blobs
from musician.verification.findings import Remark, Scan
from musician.verification.parsing import parsed

MAX_REMARKS = 200
_MAX_TEXT_CHARS = 120

PRINT, DEBUGGER, COMMENTED, TODO = "debug print", "debugger", "commented-out code", "TODO"


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
    debugger=r"\bbreakpoint\(\)|\b(?:pdb|ipdb|pudb)\.set_trace\(|^\s*(?:import|from) (?:pdb|ipdb|pudb)\b",
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


def scan_change(git: Git, change: CodeChange) -> Scan:
    """Return the leftovers in the added lines of ``change``."""
    files = [file for file in change.present if file.added and _suffix(file.path) in _LANGUAGES]
    remarks = _judged(git, change, [remark for file in files for remark in _by_pattern(file)])
    return Scan(remarks=tuple(remarks[:MAX_REMARKS]), left_out=max(0, len(remarks) - MAX_REMARKS))


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
    | ast.FunctionDef
    | ast.ClassDef
)
_NO_SENTENCE = (ast.Call, ast.Attribute, ast.Subscript, ast.Constant)
"""Without one, "if so:" could be prose."""


def _is_code(said: str, code: re.Pattern[str], *, is_python: bool) -> bool:
    """Whether a comment contains code: a whole statement that could not be a sentence."""
    if not is_python:
        return code.match(said.strip()) is not None and not said.startswith(("/", "!"))
    body = parsed(said.strip() + (" pass" if said.rstrip().endswith(":") else ""))
    if len(body) != 1 or said.strip().startswith("type:"):
        return False
    only = body[0]
    if isinstance(only, ast.AnnAssign) and only.value is None:
        return False  # "note: this" is a sentence
    if isinstance(only, ast.If | ast.For | ast.While | ast.With):
        return any(isinstance(each, _NO_SENTENCE) for each in ast.walk(only))
    return isinstance(only, _PYTHON_CODE) or (isinstance(only, ast.Expr) and isinstance(only.value, ast.Call))


def _judged(git: Git, change: CodeChange, remarks: list[Remark]) -> list[Remark]:
    """Turn prints that are no fault into notes; drop remarks on text inside strings."""
    named = {remark.path for remark in remarks}
    files = {file.path: file for file in change.present if file.path in named}
    contents = read_blobs(git, (blob for file in files.values() for blob in (file.old_blob, file.new_blob)))
    judged: list[Remark] = []
    for path, file in files.items():
        own = [remark for remark in remarks if remark.path == path]
        if file.is_python:
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
    """Return the names in the code of each line, and "#" if it has a comment; None if that cannot be
    determined.
    """
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
