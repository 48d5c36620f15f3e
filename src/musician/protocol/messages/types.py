"""The small messages between sessions (sources "Message Format Standards").

Every message object is valid, because each field's codec has checked it. ``parse(render(x)) == x`` holds for every
message, whatever its texts contain (D14). ``parse`` also reads texts that people and models write: a missing field is
unknown, and an invalid value raises :class:`UnreadableMessage`. ``transitions`` says who may send what, and when.
"""

import re
from typing import ClassVar

from musician.protocol.errors import BadField, BadId
from musician.protocol.messages.checks import check_text
from musician.protocol.messages.codecs import (
    BUDGET,
    COUNTED,
    DEVIATIONS,
    ESTIMATE,
    IN_BRACKETS,
    KEY_OUTPUTS,
    LINE,
    OPTIONAL_LINE,
    OPTIONAL_PATH,
    PCT,
    REMAINING,
    RETRY,
    SELF_CORRECTION,
    TEXT,
)
from musician.protocol.messages.forms import Field, Form, Message
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.particulars import (
    AgentsRemaining,
    Counted,
    Deviations,
    KeyOutput,
    Nth,
    SelfCorrection,
)
from musician.protocol.names import check_task_id
from musician.protocol.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport(Message):
    """A failure that waits for an answer (D3). ``retry`` counts the task's reports, this one included."""

    retry: Nth | None
    context_usage_pct: float | None
    self_correction: SelfCorrection
    error: str
    report: str | None
    """Path of the detailed report."""
    suggested_investigation: str = ""
    key_outputs: tuple[KeyOutput, ...] = ()

    type: ClassVar[MessageType] = MessageType.ERROR
    form: ClassVar[Form] = Form(
        heading="ERROR ({retry}):",
        heading_pattern=re.compile(r"ERROR \((?P<retry>[^)]*)\):?\s*"),
        words={"retry": RETRY},
        fields=(
            Field(label="Context Usage", attribute="context_usage_pct", codec=PCT),
            Field(label="Self-Correction", attribute="self_correction", codec=SELF_CORRECTION),
            Field(label="Error", attribute="error", codec=TEXT),
            Field(label="Report", attribute="report", codec=OPTIONAL_PATH),
            Field(label="Key Outputs", attribute="key_outputs", codec=KEY_OUTPUTS, optional=True),
            Field(
                label="Suggested Investigation",
                attribute="suggested_investigation",
                codec=TEXT,
                optional=True,
            ),
        ),
        closing="Awaiting conductor fix proposal",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWarning(Message):
    """The owner asks how to go on with the context it has left (D15).

    ``budget_pct`` is the usage from which it hands off; ``agents_that_fit`` before that.
    ``to_checkpoint_pct`` is what the way to the next checkpoint is estimated to cost.
    """

    context_usage_pct: float | None
    self_correction: SelfCorrection
    agents_remaining: AgentsRemaining
    agents_that_fit: Counted
    deviations: Deviations
    to_checkpoint_pct: float | None
    recommendation: str
    budget_pct: float = 65.0

    type: ClassVar[MessageType] = MessageType.CONTEXT_WARNING
    form: ClassVar[Form] = Form(
        heading="CONTEXT WARNING: {context_usage_pct} usage",
        heading_pattern=re.compile(r"CONTEXT WARNING: (?P<context_usage_pct>\S*) usage:?\s*"),
        words={"context_usage_pct": PCT, "budget_pct": BUDGET},
        fields=(
            Field(label="Self-Correction", attribute="self_correction", codec=SELF_CORRECTION),
            Field(label="Agents Remaining", attribute="agents_remaining", codec=REMAINING),
            Field(
                label="Agents That Fit in {budget_pct} Budget",
                attribute="agents_that_fit",
                codec=COUNTED,
                pattern=r"Agents That Fit in (?P<budget_pct>[\d.e-]+%) Budget",
            ),
            Field(label="Deviations", attribute="deviations", codec=DEVIATIONS),
            Field(
                label="Estimate to Checkpoint", attribute="to_checkpoint_pct", codec=ESTIMATE, optional=True
            ),
            Field(label="Recommendation", attribute="recommendation", codec=TEXT, optional=True),
        ),
        closing="Awaiting conductor instructions",
    )

    @property
    def projected_pct(self) -> float | None:
        """The usage at the next checkpoint, None where either part is unknown."""
        if self.context_usage_pct is None or self.to_checkpoint_pct is None:
            return None
        return self.context_usage_pct + self.to_checkpoint_pct


def _check_task(name: str, value: str) -> None:
    try:
        check_task_id(value)
    except BadId as error:
        raise BadField(field=name, value=value, reason=error.remedy) from error


_TASK = replace(LINE, check=_check_task)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimBlockedNotice(Message):
    """A session could not claim a task and may end (D4, D9); ``reason`` "" where a text gives none."""

    task_id: str
    reason: str
    context_usage_pct: float | None = None

    type: ClassVar[MessageType] = MessageType.CLAIM_BLOCKED
    form: ClassVar[Form] = Form(
        heading="CLAIM BLOCKED: Guard prevented claim on {task_id}{reason}.",
        heading_pattern=re.compile(
            r"CLAIM BLOCKED: Guard prevented claim on (?P<task_id>\S+?)(?P<reason> \(.*\))?\."
            r"(?: Conductor intervention needed\.)?\s*",
            re.DOTALL,
        ),
        words={"task_id": _TASK, "reason": IN_BRACKETS},
        fields=(Field(label="Context Usage", attribute="context_usage_pct", codec=PCT),),
        closing="Created fallback row to exit cleanly. Conductor intervention needed.",
    )


def _check_reason(name: str, value: str) -> None:
    check_text(name, value)
    if not value.strip():
        raise BadField(field=name, value=value, reason="say why the session ends")


_REASON = replace(TEXT, check=_check_reason)
_NO_PROPOSALS = Counted(count=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffNotice(Message):
    """A session's last message before ``exited``: the reason, and where its successor finds everything."""

    reason: str
    handoff_path: str | None
    context_usage_pct: float | None
    self_correction: SelfCorrection
    last_completed_step: str
    remaining_steps: str
    proposals_pending: Counted = _NO_PROPOSALS
    key_outputs: tuple[KeyOutput, ...] = ()

    type: ClassVar[MessageType] = MessageType.HANDOFF
    form: ClassVar[Form] = Form(
        heading="EXITED: {reason}",
        heading_pattern=re.compile(r"EXITED: (?P<reason>.*)", re.DOTALL),
        words={"reason": _REASON},
        fields=(
            Field(label="HANDOFF", attribute="handoff_path", codec=OPTIONAL_PATH),
            Field(label="Context Usage", attribute="context_usage_pct", codec=PCT),
            Field(label="Self-Correction", attribute="self_correction", codec=SELF_CORRECTION),
            Field(label="Last Completed Step", attribute="last_completed_step", codec=TEXT),
            Field(label="Remaining Steps", attribute="remaining_steps", codec=TEXT),
            Field(label="Proposals Pending", attribute="proposals_pending", codec=COUNTED),
            Field(label="Key Outputs", attribute="key_outputs", codec=KEY_OUTPUTS, optional=True),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption(Message):
    """A successor's report of what it found and where it goes on (sources "Verbose Resumption Status").

    ``handoff`` is how the HANDOFF was found (present, missing, stale, torn, foreign), with remarks;
    ``assessment`` clean handoff, needs verification or needs guidance.
    """

    worked_by: str
    previous_session: str | None
    handoff: str
    context_usage_pct: float | None
    deviations_found: Deviations
    mismatches: Counted
    pending_messages: Counted
    previous_self_correction: SelfCorrection
    assessment: str
    verification: str
    resuming_from: str
    estimate: str = ""

    type: ClassVar[MessageType] = MessageType.RESUMPTION_STATUS
    form: ClassVar[Form] = Form(
        heading="RESUMPTION: {worked_by} taking over",
        heading_pattern=re.compile(r"RESUMPTION: (?P<worked_by>.*) taking over\s*"),
        words={"worked_by": LINE},
        fields=(
            Field(label="Previous session", attribute="previous_session", codec=OPTIONAL_LINE),
            Field(label="HANDOFF", attribute="handoff", codec=TEXT),
            Field(
                label="Context Usage (fresh session)",
                attribute="context_usage_pct",
                codec=PCT,
                pattern=r"Context Usage(?: \(fresh session\))?",
            ),
            Field(label="Deviations found", attribute="deviations_found", codec=DEVIATIONS),
            Field(label="Status/comms mismatches", attribute="mismatches", codec=COUNTED),
            Field(label="Pending conductor messages", attribute="pending_messages", codec=COUNTED),
            Field(
                label="Self-correction in previous session",
                attribute="previous_self_correction",
                codec=SELF_CORRECTION,
            ),
            Field(label="Assessment", attribute="assessment", codec=TEXT),
            Field(label="Verification tests", attribute="verification", codec=TEXT),
            Field(label="Resuming from", attribute="resuming_from", codec=TEXT),
            Field(label="Estimated remaining work", attribute="estimate", codec=TEXT, optional=True),
        ),
    )
