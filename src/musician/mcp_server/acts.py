"""The tools' functions: each calls one verb of the protocol and describes the result in a few plain lines.

A function gets the :class:`~musician.mcp_server.served_session.ServedSession` and its arguments, already parsed. The
verb refuses what is not allowed. All of them block; the two tools that run tests are in ``verifying``.
"""

import re
from collections.abc import Callable

from musician import service
from musician.mcp_server.served_session import ServedSession
from musician.mcp_server.table import MOST_BYTES, MOST_ROWS, as_text, cut
from musician.protocol.errors import BadField
from musician.protocol.musician.inputs import DeviationTold, SelfCorrectionTold
from musician.protocol.proposals import Draft, parse_type
from musician.protocol.rules.deviations import parse_severity
from musician.protocol.rules.liveness import heartbeat_status
from musician.protocol.values import dataclass
from musician.runtime.proposing import Desk
from musician.store.rows import MessageRow

END_YOUR_TURN = "End your turn; you are woken with the answer."
MOST_MESSAGES = 20
"""How many messages one call of ``inbox`` delivers. The rest follows with the next call."""

MOST_SIBLINGS = 100
_PIECE = re.compile(r"(?P<step>[0-9]{1,4})\.(?P<piece>[0-9]{1,4})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer, and the function to call once it has been delivered (D12)."""

    text: str
    once_delivered: Callable[[], object]


def step(served: ServedSession, *, n: int, act: str, why: str = "") -> str:
    manual, item = served.manual, f"step {n}"
    if act == "skipped":
        if not why.strip():
            raise BadField(field="why", value=why, reason="say why it is left out")
        manual.skip(item, why)
        return f"{item} skipped: a Medium deviation, to be ruled by the conductor"
    if act == "start":
        manual.start(item)
        return f"{item} started"
    return _done(served, item, manual.finish_item(item, commit=True))


def agent(served: ServedSession, *, piece: str, act: str, report: str = "") -> str:
    named = _PIECE.fullmatch(piece.strip())
    if named is None:
        raise BadField(field="piece", value=piece, reason="name step and piece, as 2.1")
    manual, item = served.manual, f"step {int(named['step'])} agent {int(named['piece'])}"
    if act == "launched":
        manual.start(item)
    else:
        manual.finish_item(item, commit=False, claims=report)
    return f"{item} {act}"


def deviation(served: ServedSession, *, severity: str, text: str) -> str:
    manual, named = served.manual, parse_severity(severity)
    manual.tell(DeviationTold(severity=named, text=text))
    return f"{named} deviation noted"


def self_correction(served: ServedSession, *, text: str) -> str:
    manual = served.manual
    manual.tell(SelfCorrectionTold(text=text))
    return "self-correction noted"


def correction(served: ServedSession) -> str:
    manual = served.manual
    return _done(served, *manual.correct())


def error(served: ServedSession, *, text: str = "") -> str:
    manual = served.manual
    if not text.strip():
        return f"warned by message {manual.warn()}. {END_YOUR_TURN}"
    message_id = manual.report(text, report=None)
    if message_id is None:
        served.release_lock(manual.claim.task_id)
        return f"{manual.claim.task_id} is handed off: that was its last retry. Write nothing more."
    return f"reported as message {message_id}. {END_YOUR_TURN}"


def ask_conductor(served: ServedSession, *, text: str) -> str:
    manual = served.manual
    message_id = manual.ask(text)
    return f"asked as message {message_id}. Go on with the step; the answer is due before the next."


def inbox(served: ServedSession) -> Reply | str:
    claim = served.claim
    found = service.unread(served.store, claim.task_id, most=MOST_MESSAGES)
    if not found:
        return "nothing new"
    shown, text = _fitting(found)
    ids = tuple(message.id for message in shown)
    service.deliver(served.store, claim, ids)
    left = service.task_view(served.store, claim.task_id).unread - len(shown)
    if left:
        text += f"\n{left} more: call inbox again"
    return Reply(text=text, once_delivered=lambda: service.acknowledge(served.store, claim, ids[-1]))


def _fitting(found: tuple[MessageRow, ...]) -> tuple[tuple[MessageRow, ...], str]:
    """Return the messages that fit into one answer, and its text. If even the first is too long, it is cut."""
    parts: list[str] = []
    room = MOST_BYTES
    for message in found:
        part = f"message {message.id}, {message.message_type}:\n{message.message}"
        size = len(part.encode("utf-8", "replace")) + 1
        if size > room:
            break
        parts.append(part)
        room -= size
    if not parts:
        whole = f"message {found[0].id}, {found[0].message_type}:\n{found[0].message}"
        parts = [f"{cut(whole, MOST_BYTES)}\ntruncated: true; query has the rest, by substr(message, N)"]
    return found[: len(parts)], "\n".join(parts)


def propose(served: ServedSession, *, type: str, title: str, text: str) -> str:  # noqa: A002 - the tool's word
    draft = Draft(type=parse_type(type), title=title.strip(), body=text)
    kept = Desk(root=served.root, store=served.store).propose(served.claim, draft)
    return f"proposal {kept.row.id} is {kept.proposal.status}, {kept.row.path}"


def complete(served: ServedSession) -> str:
    manual = served.manual
    path = manual.complete()
    served.release_lock(manual.claim.task_id)
    return f"{manual.claim.task_id} is complete, report in {path}. Write nothing more."


def handoff(served: ServedSession, *, reason: str, notes: str = "") -> str:
    manual = served.manual
    path = manual.exit(reason, handoff=None, notes=notes)
    served.release_lock(manual.claim.task_id)
    return f"{manual.claim.task_id} is handed off, HANDOFF in {path}. Write nothing more."


def siblings(served: ServedSession) -> str:
    rows = service.siblings(served.store, served.claim.task_id)
    lines = [
        f"{row.task_id} {row.state}"
        + (f", {row.worked_by}, heartbeat {_age(row.heartbeat_age_s)}" if row.session_id else "")
        for row in rows[:MOST_SIBLINGS]
    ]
    if len(rows) > MOST_SIBLINGS:
        lines.append(f"truncated: true; {len(rows)} in all, use query")
    return "\n".join(lines) or "no other task"


def conductor_health(served: ServedSession) -> str:
    row = service.conductor_row(served.store)
    if row is None:
        return "no conductor has been here"
    status = heartbeat_status(row.heartbeat_age_s, served.settings)
    return f"conductor {row.state}, heartbeat {_age(row.heartbeat_age_s)}, {status}"


def query(served: ServedSession, *, sql: str) -> str:
    answer = service.query(served.store, sql, most_rows=MOST_ROWS, most_bytes=MOST_BYTES)
    return as_text(answer)


def execute(served: ServedSession, *, sql: str) -> str:
    changed = service.execute(served.store, served.session_id, sql)
    served.take_up()  # the statements may have claimed the task, or ended the claim
    return f"rows_affected={changed}"


def _done(served: ServedSession, item: str, commit_id: str | None) -> str:
    manual = served.manual  # read again: the act has changed it
    upcoming = manual.program.next_item(manual.progress)
    commit = f", commit {commit_id[:12]}" if commit_id else f", nothing changed in {manual.tree.path}"
    return f"{item} done{commit}; next: {'the final report' if upcoming is None else upcoming.item}"


def _age(age_s: float | None) -> str:
    return "unknown" if age_s is None else f"{age_s:.0f} s old"
