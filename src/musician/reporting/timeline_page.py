"""A run as one page to share: how its tasks stand, their lives in pictures, what they cost and all that happened, in a
file that needs nothing else.

Whoever gets it is no user of this machine. So secrets are left out by the net that transcripts have, paths within the
project begin at the project, and of any other path nothing is said but that there was one (B40: all text is escaped).
The pictures are the dashboard's (``reporting/drawing``), and so is the style sheet, which is handed in.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from musician.processes.output import printable
from musician.processes.redaction import Redactor
from musician.protocol.settings import Settings
from musician.reporting.drawing import Drawing, context_of, life_of, lives_of
from musician.reporting.spending import say_usage
from musician.reporting.standing import names_of
from musician.reporting.timeline import Timeline
from musician.service import TaskView

MOST_DRAWN = 200
"""Of the tasks that were played, the newest; the others are in the table and the timeline."""

ELSEWHERE = "[a path outside the project]"

_NAME = r"""[^\s/"'`()<>\[\]{},;:|*?=]"""
_FOREIGN = re.compile(
    rf"file:///(?:{_NAME}+/)*{_NAME}*"
    rf"|(?:(?<![\w./~\\-])|(?<=\s-\w)|(?<=\\[nrt]))(?:/(?:{_NAME}+/)+{_NAME}*|~\w*/(?:{_NAME}+/)*{_NAME}+)"
)
"""An absolute path of two names or more, or one in somebody's home; no part of an address or of a relative path.

It may follow an option's letter, ``-I/usr/include``, or an escaped line end at once.
"""
_PART = r"""[^\s\\/"'`<>|:*?,;()\[\]{}]"""
_SLASH = "%(?:25)*2f"
_OTHER_SPELLINGS = re.compile(
    rf"(?<![A-Za-z\d])[A-Z]:(?:\\+|/)(?:{_PART}(?:{_PART}| (?=[^\\\n]*\\))*(?:\\+|/))*{_PART}*"  # C:\Users\ada
    rf"|(?<![\w\\])\\\\+[\w.$-]{{2,}}(?:\\+{_PART}+)+"  # \\server\share
    rf"|(?:\\/{_PART}+){{2,}}"  # \/home\/ada, as some write JSON
    rf"|(?:(?<![\w.~%-])|(?<=%[\da-f]{{2}})){_SLASH}(?:[\w.~+@-]|%[\da-f]{{2}})*",  # %2Fhome%2Fada
    re.IGNORECASE,
)
"""What is a path on another system, or on its way through another program. Rather one too many than one too few."""
_BESIDE = rf"\.*[\w~+@-](?:{_NAME}|/)*"
"""What makes another path of the one before it: ``/home/ada`` begins ``/home/ada2/x``, too."""
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{name}: what happened</title>
<style>
{style}
</style>
</head>
<body>
<main>
<h1>{name} <small>what happened, up to {at} UTC</small></h1>
<section class="plan">
<h2>Tasks</h2>
{lives}
<table>
{task_heads}
<tbody>
{tasks}
</tbody>
</table>
{used}
</section>
{drawn}
<section>
<h2>Timeline</h2>
<p>{count} entries{cut}; times are UTC.</p>
<table class="happenings">
{heads}
<tbody>
{rows}
</tbody>
</table>
</section>
</main>
</body>
</html>
"""

Clean = Callable[[str], str]


def clean_for(project: Path, home: Path, redact: Redactor) -> Clean:
    """Return what takes out of a text what is only for users of this machine."""
    own = sorted({str(project), str(project.resolve())}, key=len, reverse=True)
    foreign = sorted({str(home), str(home.resolve())} - {"/"}, key=len, reverse=True)
    encoded = sorted(
        {quote(path, safe=safe) for path in own for safe in ("", "/")} - set(own), key=len, reverse=True
    )

    def clean(text: str) -> str:
        text = redact(_COLOUR.sub("", text))  # its last letter would hide that a path begins
        for path in own:
            text = re.sub(rf"{re.escape(path)}(?:({_BESIDE})|/|())", _shortened, text)
        for path in foreign:  # it may have a space in it, which ends a path in a text
            text = re.sub(
                rf"{re.escape(path)}({_BESIDE})?", lambda found: ELSEWHERE if found[1] else "~", text
            )
        for path in encoded:
            text = re.sub(rf"{re.escape(path)}(?:%2f|/|(?![\w.~+@%-]))", "", text, flags=re.IGNORECASE)
        return _OTHER_SPELLINGS.sub(ELSEWHERE, _FOREIGN.sub(ELSEWHERE, text))

    return clean


def _shortened(found: re.Match[str]) -> str:
    """Return what stands for a path that begins with the project's own."""
    return ELSEWHERE if found[1] else "" if found[2] is None else "."


def page(
    name: str, views: Sequence[TaskView], newest: Timeline, *, settings: Settings, clean: Clean, style: str
) -> str:
    """Return the page. ``style`` is the dashboard's style sheet."""

    def say(text: str) -> str:
        return printable(clean(text))

    def cell(text: str) -> str:
        return escape(say(text))

    played = [view for view in views if view.sessions]
    drawn = played[-MOST_DRAWN:]
    used = say_usage(usage for view in views for usage in view.usage)
    return _PAGE.format(
        name=cell(name),
        style=style,
        at=max((view.at for view in views), default="")
        or (newest.happenings[-1].at if newest.happenings else ""),
        task_heads=_heads("Task", "Status", "Played", "Used"),
        heads=_heads("At", "Task", "Who", "What", "Said"),
        lives=_picture(lives_of(drawn, say=say)),
        tasks="\n".join(_row(view, cell) for view in views),
        used=f"<p>All of them: {cell(used)}.</p>" if used else "",
        drawn="\n".join(_section(view, settings, say) for view in drawn),
        count=len(newest.happenings),
        cut=f"; {newest.left_out} older ones are left out" if newest.left_out else "",
        rows="\n".join(
            f'<tr class="{each.source}">{_cells(map(cell, (each.at, each.task_id, each.shown_who, each.what)))}'
            f'<td class="said">{cell(each.text)}</td></tr>'
            for each in newest.happenings
        ),
    )


def _row(view: TaskView, cell: Clean) -> str:
    row = view.row
    head = f'<th scope="row"><b>{cell(row.task_id)}</b> {cell(row.title or "")}</th>'
    count = f"{len(view.sessions)} session{'s' * (len(view.sessions) > 1)}" if view.sessions else ""
    return f"<tr>{head}{_cells((cell(row.shown_state.replace('_', ' ')), count, cell(say_usage(view.usage))))}</tr>"


def _heads(*names: str) -> str:
    cells = (f'<th scope="col">{name}</th>' for name in names)
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def _cells(texts: Iterable[str]) -> str:
    return "".join(f"<td>{text}</td>" for text in texts)


def _section(view: TaskView, settings: Settings, say: Clean) -> str:
    """One task's pictures, and its sessions in words, for who cannot see them or points at nothing."""
    row = view.row
    parts = [f"<h2>{escape(say(row.task_id))} <small>{escape(say(row.title or ''))}</small></h2>"]
    parts.append(_picture(life_of(view, say=say)))
    if context := context_of(view, settings, say=say):
        parts.append(f"<h3>Context</h3>{_picture(context)}")
    if used := say_usage(view.usage):
        parts.append(f"<p>Used: {escape(say(used))}.</p>")
    parts.append(f'<ol class="sessions">{"".join(_in_words(view, say))}</ol>')
    return f"<section>{''.join(parts)}</section>"


def _in_words(view: TaskView, say: Clean) -> Iterator[str]:
    names = names_of(view)
    for each in view.sessions:
        ended = f" to {each.ended_at}, {each.exit_reason or 'ended'}" if each.ended_at else ""
        text = f"{names[each.session_id]}: from {each.started_at}{ended}"
        checks = [
            f"checkpoint {check.checkpoint} {check.outcome.replace('_', ' ')}"
            for check in view.verifications
            if check.claim_epoch == each.claim_epoch
        ]
        yield f"<li>{escape(say('; '.join((text, *checks))))}</li>"


def _picture(drawing: Drawing) -> str:
    return f'<div class="picture" tabindex="0">{drawing}</div>' if drawing else ""
