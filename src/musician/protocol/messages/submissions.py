"""Submissions: a review request at a checkpoint, a completion at the last one (D14).

Both have the eleven fields of D14. Each may be unknown; ``missing`` names those that a judge needs. The program fills
them in from its measurements (``protocol.musician.writing``).
"""

import re
from typing import ClassVar

from musician.protocol.errors import BadField
from musician.protocol.messages.codecs import (
    COUNT,
    DEVIATIONS,
    KEY_OUTPUTS,
    NTH_BY_OF,
    OPTIONAL_PATH,
    PCT,
    REMAINING,
    SCORE,
    SELF_CORRECTION,
    TEXT,
)
from musician.protocol.messages.forms import Codec, Field, Form, Message
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.particulars import AgentsRemaining, Deviations, KeyOutput, Nth, SelfCorrection
from musician.protocol.values import dataclass

FINAL = "final"
"""The reason of every completion."""

_FIELDS = (
    Field(label="Checkpoint", attribute="checkpoint", codec=NTH_BY_OF),
    Field(label="Context Usage", attribute="context_usage_pct", codec=PCT),
    Field(label="Self-Correction", attribute="self_correction", codec=SELF_CORRECTION),
    Field(label="Deviations", attribute="deviations", codec=DEVIATIONS),
    Field(label="Agents Remaining", attribute="agents_remaining", codec=REMAINING),
    Field(label="Proposal", attribute="proposal", codec=OPTIONAL_PATH),
    Field(label="Summary", attribute="summary", codec=TEXT),
    Field(label="Files Modified", attribute="files_modified", codec=COUNT),
    Field(label="Tests", attribute="tests", codec=TEXT),
    Field(label="Reason", attribute="reason", codec=TEXT),
    Field(label="Key Outputs", attribute="key_outputs", codec=KEY_OUTPUTS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Submission(Message):
    """The eleven fields and the checkpoint. None means unknown, as does "" for a text.

    ``smoothness`` 0 (smooth) to 9 (rough); ``files_modified`` a count; ``proposal`` and the key outputs'
    paths relative to the project's root.
    """

    checkpoint: Nth | None
    context_usage_pct: float | None
    self_correction: SelfCorrection
    deviations: Deviations
    agents_remaining: AgentsRemaining
    proposal: str | None
    summary: str
    files_modified: int | None
    tests: str
    smoothness: int | None
    key_outputs: tuple[KeyOutput, ...]
    reason: str

    @property
    def missing(self) -> tuple[str, ...]:
        """The labels of what must be known before it can be judged; empty for a whole submission (DESIGN 3).

        The context usage may stay unknown (D15), and there need be no proposal and no key output.
        """
        return tuple(label for label, is_known in self._known().items() if not is_known)

    def _known(self) -> dict[str, bool]:
        return {
            "Smoothness": self.smoothness is not None,
            "Checkpoint": self.checkpoint is not None,
            "Self-Correction": self.self_correction.happened is not None,
            "Deviations": self.deviations.count is not None,
            "Agents Remaining": self.agents_remaining.count is not None,
            "Summary": bool(self.summary.strip()),
            "Files Modified": self.files_modified is not None,
            "Tests": bool(self.tests.strip()),
            "Reason": bool(self.reason.strip()),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest(_Submission):
    """A checkpoint reached, its verification green; ``reason`` says why a judgement is needed now."""

    type: ClassVar[MessageType] = MessageType.REVIEW_REQUEST
    form: ClassVar[Form] = Form(
        heading="REVIEW REQUEST (Smoothness: {smoothness}):",
        heading_pattern=re.compile(r"REVIEW REQUEST \(Smoothness: (?P<smoothness>[^)]*)\):?\s*"),
        words={"smoothness": SCORE},
        fields=_FIELDS,
        heading_optional=True,
    )


def _read_final(text: str) -> str:
    return FINAL if text.strip().lower() == FINAL else text


def _check_final(name: str, value: str) -> None:
    if value != FINAL:
        raise BadField(field=name, value=value, reason=f"a completion's reason is {FINAL!r}")


_FINAL: Codec[str] = Codec(render=str, parse=_read_final, unknown=FINAL, check=_check_final)
_COMPLETION_FIELDS = (
    *_FIELDS[:6],
    Field(label="Report", attribute="report", codec=OPTIONAL_PATH),
    *_FIELDS[6:9],
    Field(label="Reason", attribute="reason", codec=_FINAL),
    *_FIELDS[10:],
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion(_Submission):
    """The last checkpoint reached. Its reason is "final"; ``report`` is the completion report's path."""

    report: str | None
    reason: str = FINAL

    type: ClassVar[MessageType] = MessageType.COMPLETION
    form: ClassVar[Form] = Form(
        heading="TASK COMPLETE (Smoothness: {smoothness}):",
        heading_pattern=re.compile(r"TASK COMPLETE \(Smoothness: (?P<smoothness>[^)]*)\):?\s*"),
        words={"smoothness": SCORE},
        fields=_COMPLETION_FIELDS,
    )

    def __post_init__(self) -> None:
        _Submission.__post_init__(self)
        if self.checkpoint is not None and self.checkpoint.number != self.checkpoint.of:
            raise BadField(
                field="checkpoint",
                value=f"{self.checkpoint.number} of {self.checkpoint.of}",
                reason="it is the last",
            )

    def _known(self) -> dict[str, bool]:
        return _Submission._known(self) | {"Report": self.report is not None}


Submission = ReviewRequest | Completion
