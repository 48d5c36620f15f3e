"""A run as one page to share: how its tasks stand and everything that happened, in a file that needs nothing else.

Whoever gets it is no user of this machine. So secrets are left out by the net that transcripts have, paths within the
project begin at the project, and of any other path nothing is said but that there was one (B40: all text is escaped).
"""

import re
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path

from musician.processes.output import printable
from musician.processes.redaction import Redactor
from musician.reporting.timeline import Timeline
from musician.store.rows import TaskRow

ELSEWHERE = "[a path outside the project]"

_NAME = r"""[^\s/"'`()<>\[\]{},;:|*?=]"""
_FOREIGN = re.compile(
    rf"file:///(?:{_NAME}+/)*{_NAME}*"
    rf"|(?:(?<![\w./~\\-])|(?<=\s-\w)|(?<=\\[nrt]))(?:/(?:{_NAME}+/)+{_NAME}*|~\w*/(?:{_NAME}+/)*{_NAME}+)"
)
"""An absolute path of two names or more, or one in somebody's home; no part of an address or of a relative path.

It may follow an option's letter, ``-I/usr/include``, or an escaped line end at once.
"""
_BESIDE = rf"\.*[\w~+@-](?:{_NAME}|/)*"
"""What makes another path of the one before it: ``/home/ada`` begins ``/home/ada2/x``, too."""
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Musician: timeline</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 2em; }}
table {{ border-collapse: collapse; margin-bottom: 2em; }}
td, th {{ border-top: 1px solid #8886; padding: .3em .8em; text-align: left; vertical-align: top; }}
pre {{ margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }}
.state td {{ background: #69f2; }}
</style>
<h1>{name}</h1>
<table>
<tr><th>Task</th><th>Title</th><th>Status</th></tr>
{tasks}
</table>
<h2>Timeline</h2>
<p>{count} entries{cut}; times are UTC.</p>
<table>
<tr><th>At</th><th>Task</th><th>Who</th><th>What</th><th>Said</th></tr>
{rows}
</table>
</html>
"""

Clean = Callable[[str], str]


def clean_for(project: Path, home: Path, redact: Redactor) -> Clean:
    """Return what takes out of a text what is only for users of this machine."""
    own = sorted({str(project), str(project.resolve())}, key=len, reverse=True)
    foreign = sorted({str(home), str(home.resolve())} - {"/"}, key=len, reverse=True)

    def clean(text: str) -> str:
        text = redact(_COLOUR.sub("", text))  # its last letter would hide that a path begins
        for path in own:
            text = re.sub(rf"{re.escape(path)}(?:({_BESIDE})|/|())", _shortened, text)
        for path in foreign:  # it may have a space in it, which ends a path in a text
            text = re.sub(
                rf"{re.escape(path)}({_BESIDE})?", lambda found: ELSEWHERE if found[1] else "~", text
            )
        return _FOREIGN.sub(ELSEWHERE, text)

    return clean


def _shortened(found: re.Match[str]) -> str:
    """Return what stands for a path that begins with the project's own."""
    return ELSEWHERE if found[1] else "" if found[2] is None else "."


def page(name: str, tasks: Iterable[TaskRow], newest: Timeline, *, clean: Clean) -> str:
    """Return the page."""

    def row(texts: Iterable[str | None], said: str | None = None, kind: str = "") -> str:
        cells = "".join(f"<td>{cell(text or '')}</td>" for text in texts)
        last = "" if said is None else f"<td><pre>{cell(said)}</pre></td>"
        return f'<tr class="{kind}">{cells}{last}</tr>'

    def cell(text: str) -> str:
        return escape(printable(clean(text)), quote=True)

    cut = f"; {newest.left_out} older ones are left out" if newest.left_out else ""
    return _PAGE.format(
        name=cell(name),
        tasks="\n".join(
            row((each.task_id, each.title, each.shown_state.replace("_", " "))) for each in tasks
        ),
        count=len(newest.happenings),
        cut=cut,
        rows="\n".join(row((e.at, e.task_id, e.who, e.what), e.text, e.source) for e in newest.happenings),
    )
