"""The three scripts of the sources, with their labels and exit codes (D22).

They only read and report. The faults of the shell versions are avoided: a field may hold any character, an event is
counted by the form of its whole line and not by a word in it, a future or unreadable time is never healthy, and a
missing count is 0.
"""

import re

from musician.protocol.rules.deviations import Severity
from musician.protocol.settings import Heartbeat
from musician.protocol.states import State
from musician.protocol.values import dataclass

CEILING_PCT = 80
CAUTION_FROM_PCT = 60
CRITICAL_FROM_PCT = 75

_CONTEXT = re.compile(r"\[ctx: (\d{1,2}|100)%\]\s*$", re.ASCII)
"""A reading over 100 % is impossible and is ignored (B28)."""
_STEP = re.compile(
    r"step (?P<number>\d+)(?: of (?P<of>\d+))? (?P<what>started|completed)(?: \[ctx: \d{1,3}%\])?", re.ASCII
)
_AGENT = re.compile(
    r"step \d+ agent \d+(?: retry \d+)? (?P<what>launched|returned|FAILED)(?:(?: \(|: ).*?)?(?: \[ctx: \d{1,3}%\])?",
    re.ASCII,
)
_SELF_CORRECTION = re.compile(
    r"(?:(?:step|rework) [\w. ]+? )?self-correction: "
    r"(?!(?:false|no|none|0)\s*(?:\(.*\)\s*)?(?:\[ctx: \d{1,3}%\]\s*)?$).+",
    re.ASCII | re.IGNORECASE,
)
"""The value decides: in the sources' form the line may also say that there was none."""
_DEVIATION = re.compile(
    r"[\[(](?P<severity>Low|Medium|High)\b[^\])]*[\])](?:\s*\[ctx: \d{1,3}%\])?\s*$", re.IGNORECASE
)
_EXIT_REASON = re.compile(r"^-?\s*exit reason:\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)
_PENDING = re.compile(r"\b(?:pending|remaining)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """The lines to print, and the exit code."""

    lines: tuple[str, ...]
    exit_code: int

    @property
    def result(self) -> str:
        """The result in the last line: ``HEALTHY``, ``ISSUES FOUND (2)``, ``FILE MISSING`` …"""
        return self.lines[-1].removeprefix("=== RESULT: ").removesuffix(" ===")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """A task's row. ``state`` is the text as stored; ``age_s`` None if there is no readable heartbeat."""

    task_id: str
    state: str
    session_id: str | None
    worked_by: str | None
    heartbeat: str | None
    age_s: float | None
    errors: int
    retry_limit: int
    unread: int
    has_fallback: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TempFacts:
    """A task's files in ``temp/`` (None if a file is missing), and the names of ``others``, files of other tasks."""

    task_id: str
    status: str | None
    deviations: str | None
    handoff: str | None
    handoff_path: str
    others: tuple[str, ...] = ()


def validate(row: RowFacts | None, *, task_id: str, session_id: str | None, limits: Heartbeat) -> Inspection:
    """Check a task's row; exit code 0 healthy, 1 issues found. ``limits`` say how old a heartbeat may be."""
    title = _validation_title(task_id)
    if row is None:
        missing = f"ERROR: No task found with task_id={task_id}"
        return Inspection(lines=(title, missing, "=== RESULT: TASK NOT FOUND ==="), exit_code=1)
    issues = 0
    lines = [title]
    line, bad = _session_line(row, session_id)
    lines += [line, f"State:      {row.state}", f"Worked By:  {row.worked_by or '<unset>'}"]
    issues += bad
    line, bad = _heartbeat_line(row, limits)
    lines.append(line)
    issues += bad
    if row.state not in set(State):
        lines.append(f"State:      WARNING — '{row.state}' is not a recognized state")
        issues += 1
    lines += [f"Retry:      {row.errors}/{row.retry_limit}", f"Messages:   {row.unread} pending"]
    issues += row.unread > 0
    if session_id is None:
        lines.append("Fallbacks:  (skipped — no session_id)")
    elif row.has_fallback:
        lines.append(f"Fallbacks:  WARNING — fallback row exists (fallback-{session_id})")
        issues += 1
    else:
        lines.append("Fallbacks:  none")
    result = f"ISSUES FOUND ({issues})" if issues else "HEALTHY"
    return Inspection(lines=(*lines, f"=== RESULT: {result} ==="), exit_code=1 if issues else 0)


def no_database(task_id: str, path: str) -> Inspection:
    """Return the result of :func:`validate` without a database."""
    lines = (_validation_title(task_id), f"ERROR: Database not found at {path}", "=== RESULT: DB MISSING ===")
    return Inspection(lines=lines, exit_code=1)


def verify_temp(found: TempFacts) -> Inspection:
    """Check a task's files in ``temp/``; exit code 0 OK, 1 required files missing."""
    issues = 0
    lines = [f"=== temp/ File Verification: {found.task_id} ==="]
    entries = _entries(found.status)
    if found.status is None:
        lines.append(f"Status File:    MISSING — {found.task_id}-status")
        issues += 1
    else:
        lines += [
            f"Status File:    {found.task_id}-status ({len(entries)} lines)",
            f"  Last Entry:   {entries[-1] if entries else ''}",
            *_last_context(entries),
        ]
        if not entries:
            lines.append("  WARNING: status file is empty")
            issues += 1
    if found.deviations is None:
        lines.append(f"Deviations:     MISSING — {found.task_id}-deviations")
        issues += 1
    else:
        lines += _deviation_lines(found)
    if found.others:
        lines += [
            "Other Tasks:    files for other task IDs found in temp/",
            *(f"  - {name}" for name in found.others),
        ]
    if found.status is not None:
        lines += _self_correction_lines(entries)
    lines += _handoff_lines(found)
    result = f"MISSING FILES ({issues} required file(s) absent)" if issues else "OK"
    return Inspection(lines=(*lines, f"=== RESULT: {result} ==="), exit_code=1 if issues else 0)


def headroom(status: str | None, *, task_id: str, path: str) -> Inspection:
    """Report the context used and left by a status file; exit code 0 healthy, 1 caution or no data, 2 critical."""
    title = f"=== Context Headroom: {task_id} ==="
    if status is None:
        missing = f"ERROR: Status file not found at {path}"
        return Inspection(lines=(title, missing, "=== RESULT: FILE MISSING ==="), exit_code=1)
    entries = _entries(status)
    values = [int(match[1]) for match in map(_CONTEXT.search, entries) if match]
    if not values:
        nothing = "Current:     (no context entries found in status file)"
        return Inspection(lines=(title, nothing, "=== RESULT: NO DATA ==="), exit_code=1)
    last, consumed = values[-1], values[-1] - values[0]
    left = CEILING_PCT - last
    corrected = any(map(_SELF_CORRECTION.fullmatch, entries))
    lines = [
        title,
        f"Current:     {last}% (entry {len(values)} of status file)",
        _trajectory_line(values, consumed),
        f"Headroom:    {left}% remaining to {CEILING_PCT}% ceiling",
        *_agent_lines(entries, consumed, left),
        _steps_line(entries),
        "Self-Correction: " + ("YES — estimates unreliable (6x risk)" if corrected else "NO"),
    ]
    result, exit_code = _headroom_result(last, corrected=corrected)
    return Inspection(lines=(*lines, f"=== RESULT: {result} ==="), exit_code=exit_code)


def _validation_title(task_id: str) -> str:
    return f"=== Musician State Validation: {task_id} ==="


def _session_line(row: RowFacts, session_id: str | None) -> tuple[str, int]:
    if session_id is None:
        return f"Session:    {row.session_id or ''} (no session_id provided to compare)", 0
    if row.session_id == session_id:
        return f"Session:    {session_id} [MATCH]", 0
    return f"Session:    {session_id} [MISMATCH — task has {row.session_id or ''}]", 1


def _heartbeat_line(row: RowFacts, limits: Heartbeat) -> tuple[str, int]:
    if row.heartbeat is None:
        needed = row.state in (State.WORKING, State.NEEDS_REVIEW)
        return "Heartbeat:  <never set>", int(needed)
    if row.age_s is None:
        return f"Heartbeat:  {row.heartbeat} [UNKNOWN]", 1
    if row.age_s < -1:
        return f"Heartbeat:  {row.heartbeat} (in the future) [SKEW]", 1
    age_s = max(0, int(row.age_s))
    word = "OK" if age_s < limits.refresh_after_s else "STALE" if age_s < limits.stale_after_s else "ALARM"
    return f"Heartbeat:  {row.heartbeat} ({age_s}s ago) [{word}]", int(word != "OK")


def _entries(text: str | None) -> list[str]:
    return [line for line in (text or "").splitlines() if line.strip()]


def _last_context(entries: list[str]) -> list[str]:
    values = [match[1] for match in map(_CONTEXT.search, entries) if match]
    return [f"  Last Context:  {values[-1]}%" if values else "  Last Context:  (no [ctx: XX%] tag found)"]


def _deviation_lines(found: TempFacts) -> list[str]:
    entries = _entries(found.deviations)
    severities = [match["severity"].capitalize() for match in map(_DEVIATION.search, entries) if match]
    counts = {severity: severities.count(severity) for severity in Severity}
    breakdown = f"{counts[Severity.HIGH]} High, {counts[Severity.MEDIUM]} Medium, {counts[Severity.LOW]} Low"
    return [
        f"Deviations:     {found.task_id}-deviations ({len(entries)} entries)",
        f"  Breakdown:    {breakdown}",
    ]


def _self_correction_lines(entries: list[str]) -> list[str]:
    events = [
        f"{number}:{line}" for number, line in enumerate(entries, start=1) if _SELF_CORRECTION.fullmatch(line)
    ]
    if not events:
        return ["Self-Correction: none"]
    return [f"Self-Correction: {len(events)} event(s)", *(f"  - {event}" for event in events)]


def _handoff_lines(found: TempFacts) -> list[str]:
    if found.handoff is None:
        return ["HANDOFF:        not present (expected if session still active)"]
    reason = _EXIT_REASON.search(found.handoff)
    pending = sum(1 for line in found.handoff.splitlines() if _PENDING.search(line))
    return [
        f"HANDOFF:        present ({found.handoff_path})",
        *([f"  Exit Reason:  {reason[1]}"] if reason else []),
        f"  Pending refs: {pending} lines mentioning pending/remaining",
    ]


def _trajectory_line(values: list[int], consumed: int) -> str:
    if len(values) == 1:
        return "Trajectory:  (only 1 entry — insufficient data)"
    return f"Trajectory:  {_tenths(consumed / (len(values) - 1)):+.1f}% per entry avg"


def _agent_lines(entries: list[str], consumed: int, left: int) -> list[str]:
    events = [match["what"] for match in map(_AGENT.fullmatch, entries) if match]
    launched, returned = events.count("launched"), events.count("returned")
    flying = max(0, launched - returned - events.count("FAILED"))
    if returned and consumed > 0:
        each = consumed / returned
        return [
            f"Agents:      {returned} completed, {flying} in-flight (~{_tenths(each):.1f}% per agent avg)",
            f"Est. Agents Left: ~{max(0, int(left / each))} agents fit in remaining budget",
        ]
    if launched:
        return [f"Agents:      {returned} completed, {flying} in-flight (no avg yet)"]
    return ["Agents:      no agent entries found"]


def _steps_line(entries: list[str]) -> str:
    events = [match for match in map(_STEP.fullmatch, entries) if match]
    if not events:
        return "Steps:       no step entries found"
    totals = [event["of"] for event in events if event["of"]]
    of = f" of {totals[-1]}" if totals else ""
    completed = {event["number"] for event in events if event["what"] == "completed"}
    at_work = events[-1]["number"] if events[-1]["what"] == "started" else None
    current = "none" if at_work is None else f"step {at_work}"
    return f"Steps:       {len(completed - {at_work})}{of} completed, {current} in progress"


def _headroom_result(last_pct: int, *, corrected: bool) -> tuple[str, int]:
    if last_pct >= CRITICAL_FROM_PCT:
        return f"CRITICAL (context at {last_pct}%)", 2
    if last_pct >= CAUTION_FROM_PCT:
        return f"CAUTION (context at {last_pct}%)", 1
    return ("CAUTION (self-correction detected)", 1) if corrected else ("HEALTHY", 0)


def _tenths(value: float) -> float:
    """Cut to one decimal towards zero, as the sources' integer arithmetic does."""
    return int(value * 10) / 10
