"""Judges a submission by rule, and scores how smoothly it came about (D14, D18).

The rules use only facts that the program found itself: the result of its verification, the tree's id, counts from
history. Claims of the agent have no weight, with one exception: it may call its work rougher than the program scored
it, but never smoother. A person or a reviewing agent can take the place of :func:`judge_by_rule`.

Smoothness runs from 0 (smooth) to 9 (rough). Each fact adds points, up to a cap of its own, and the sum
ends at 9:

    fact                                          points each   at most
    failed verification before the green one            1           3
    error report                                        2           4
    open Low deviation                                  1           2
    open Medium deviation                               2           9
    open High deviation                                 4           9
    self-correction                                     2           2
    subagent retry                                      1           2

Only the musician's own acts count, since the last submission on the checkpoint and since a person judged last; an error
report about a fault of the plan does not, nor does a verdict. A deviation that was ruled on is no longer open. So work
that was sent back for roughness can come back smooth. More of any fact never improves the score.
"""

from collections.abc import Sequence
from enum import StrEnum

from musician.protocol.rules.deviations import Deviation, Severity, escalates, open_deviations
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass

ROUGHEST = 9
APPROVED_UP_TO = 4
"""Up to this score a submission is approved; between it and ``SENT_BACK_FROM`` it is verified in full first (D18)."""
SENT_BACK_FROM = 6


class Verification(StrEnum):
    """How the last verification of the submission ended (D16)."""

    GREEN = "green"
    """Everything passed, including flaky tests that passed all their re-runs."""
    RED = "red"
    FLAKY = "flaky"
    """The re-runs of a failing test had mixed results."""
    CANNOT_RUN = "cannot_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What a verification found of a tree, as it is kept. It is stored with what follows from it, a submission or the
    note that it failed, and is evidence of nothing else (D7, D16). ``result`` is all of it, as JSON; ``known_entry_id``
    the newest of the task's journal when it began, for work after that makes it stale; None: of all that is there.
    """

    checkpoint: int
    covers_all: bool
    outcome: Verification
    tree_id: str
    result: str
    known_entry_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The result of a verification. ``full`` is true if everything was run, as the last checkpoint requires (REF-8).

    ``detail`` is one line. ``changed_files`` is how many files the task has changed in all, None if not counted.
    ``findings`` need a judge (D26) and come from a verification by the conductor: they are in no journal, so no agent
    can rule on them.
    """

    verification: Verification
    full: bool
    detail: str = ""
    changed_files: int | None = None
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Roughness:
    """The facts of the table above."""

    failed_verifications: int = 0
    error_reports: int = 0
    deviations: tuple[Deviation, ...] = ()
    self_corrected: bool = False
    subagent_retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoothness:
    """The number of several submissions, and the mean and worst of their scores."""

    submissions: int
    mean: float
    worst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedWork:
    """The work of a submission, to be compared with that of the one that was sent back.

    ``tree_id`` is git's id of the submitted tree, None if there is none.
    """

    tree_id: str | None
    deviations: tuple[Deviation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """Everything the rules consider.

    ``evidence`` is None if the program has not verified it. ``round`` counts the submissions on this checkpoint from 1.
    ``smoothness`` is the result of :func:`smoothness`. ``sent_back`` is the last rejected work on this checkpoint.
    ``findings`` need a judge (D26) and have not been accepted. ``estimate_broken`` is as for
    :func:`musician.protocol.rules.deviations.escalates`.
    """

    work: SubmittedWork
    evidence: Evidence | None
    smoothness: int
    round: int = 1
    final: bool = False
    sent_back: SubmittedWork | None = None
    findings: tuple[str, ...] = ()
    estimate_broken: bool = False
    unplayed: tuple[str, ...] = ()
    """Items before the checkpoint that are neither played nor skipped (D29)."""
    may_change_nothing: bool = False
    """The plan allows the task to change no file."""

    def __post_init__(self) -> None:
        if not 0 <= self.smoothness <= ROUGHEST:
            raise ValueError(f"smoothness is 0 to {ROUGHEST}, not {self.smoothness}")
        if self.round < 1:
            raise ValueError(f"rounds are counted from 1, not {self.round}")


class VerdictKind(StrEnum):
    APPROVE = "approve"
    SEND_BACK = "send_back"
    PROPOSE_FIX = "propose_fix"
    """The rules never give this verdict; only a person or a reviewing agent does (D18.6)."""
    VERIFY_FULLY_FIRST = "verify_fully_first"
    """Run the full verification, then judge again with its evidence."""
    ASK_HUMAN = "ask_human"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A verdict with its ``reasons``, which the musician has to answer. An approval has none."""

    kind: VerdictKind
    reasons: tuple[str, ...] = ()


def smoothness(facts: Roughness) -> int:
    """Return the score from 0 to 9 by the table above."""
    severities = [each.severity for each in open_deviations(facts.deviations)]
    points = (
        min(3, facts.failed_verifications)
        + min(4, 2 * facts.error_reports)
        + min(2, severities.count(Severity.LOW))
        + 2 * severities.count(Severity.MEDIUM)
        + 4 * severities.count(Severity.HIGH)
        + (2 if facts.self_corrected else 0)
        + min(2, facts.subagent_retries)
    )
    return min(ROUGHEST, points)


def worse(score: int, claimed: int | None) -> int:
    """Return the score, or the agent's own if that is worse (D14)."""
    return min(ROUGHEST, max(score, claimed or 0))


def summed_up(scores: Sequence[int]) -> Smoothness | None:
    """Summarise the scores of a phase; None if there are none."""
    if not scores:
        return None
    return Smoothness(submissions=len(scores), mean=sum(scores) / len(scores), worst=max(scores))


def judge_by_rule(submission: Submission, settings: Settings) -> Verdict:
    """Apply the rules of D18: first what only a person may decide, then faults, then missing evidence."""
    concerns = (
        *_grave_deviations(submission),
        *(needs_a_judge(finding) for finding in submission.findings),
        *limits_of_review(submission, settings),
        *_empty_completion(submission),
    )
    if concerns:
        return Verdict(kind=VerdictKind.ASK_HUMAN, reasons=concerns)
    faults = _faults(submission)
    if faults:
        return Verdict(kind=VerdictKind.SEND_BACK, reasons=faults)
    unknown = missing_evidence(submission)
    if unknown is not None:
        return Verdict(kind=VerdictKind.VERIFY_FULLY_FIRST, reasons=(unknown,))
    return Verdict(kind=VerdictKind.APPROVE)


def needs_a_judge(finding: str) -> str:
    """Return the text in which a reviewer reads of a finding."""
    return f"needs a judge: {finding}"


def limits_of_review(submission: Submission, settings: Settings) -> tuple[str, ...]:
    """Return the reasons why a person must decide, even if an agent reviews.

    The work cannot be verified, it goes round in circles, its estimate is broken, or it has findings that are in no
    journal, so that no agent could rule on them.
    """
    evidence = submission.evidence
    concerns = [] if evidence is None else [needs_a_judge(finding) for finding in evidence.findings]
    if evidence is not None and evidence.verification is Verification.CANNOT_RUN:
        concerns.append(_with_detail("the verification cannot run", evidence))
    if evidence is not None and evidence.verification is Verification.FLAKY:
        concerns.append(_with_detail("a test passes and fails on the same code", evidence))
    if submission.estimate_broken:
        concerns.append("a self-correction made the way to the next checkpoint too dear")
    if submission.round >= settings.limits.review_rounds:
        concerns.append(f"round {submission.round} on one checkpoint")
    if _is_unchanged(submission):
        concerns.append("resubmitted unchanged after it was sent back")
    return tuple(concerns)


def _grave_deviations(submission: Submission) -> tuple[str, ...]:
    """Return the open Medium and High deviations if the submission escalates (D17)."""
    if not escalates(submission.work.deviations, estimate_broken=submission.estimate_broken):
        return ()
    found = open_deviations(submission.work.deviations)
    return tuple(_named(each) for each in found if each.severity is not Severity.LOW)


def _empty_completion(submission: Submission) -> tuple[str, ...]:
    """Return a concern if a completion changes no file: the rules cannot tell that from no work at all (D29)."""
    evidence = submission.evidence
    is_empty = submission.final and evidence is not None and evidence.changed_files == 0
    if not is_empty or submission.may_change_nothing:
        return ()
    return ("it changes no file, and the plan does not say `changes: none` of the task",)


def _faults(submission: Submission) -> tuple[str, ...]:
    faults = []
    if submission.unplayed:
        faults.append(f"not played, and not left out for a reason: {', '.join(submission.unplayed)}")
    evidence = submission.evidence
    if evidence is not None and evidence.verification is Verification.RED:
        faults.append(_with_detail("the verification fails", evidence))
    faults.extend(
        f"{_named(each)}: undo it, or show in the work that it is needed"
        for each in open_deviations(submission.work.deviations)
        if each.severity is not Severity.LOW
    )
    if submission.smoothness >= SENT_BACK_FROM:
        faults.append(
            f"smoothness {submission.smoothness} of {ROUGHEST}: go through the change once more"
            " and mend what made it rough"
        )
    return tuple(faults)


def missing_evidence(submission: Submission) -> str | None:
    """Return why a full verification must come before the judgement; None if it need not (D18, REF-8)."""
    evidence = submission.evidence
    if evidence is None:
        return "nothing has been verified yet"
    if evidence.full:
        return None
    if submission.final:
        return "the last checkpoint is verified in full"
    if submission.smoothness > APPROVED_UP_TO:
        return f"smoothness {submission.smoothness} of {ROUGHEST} is verified in full"
    return None


def _is_unchanged(submission: Submission) -> bool:
    """Whether tree and deviations are those that were sent back. A ruling since then is no change."""
    before, now = submission.sent_back, submission.work
    if before is None or before.tree_id is None or before.tree_id != now.tree_id:
        return False
    earlier, later = ({(each.severity, each.text) for each in work.deviations} for work in (before, now))
    return earlier == later


def _named(deviation: Deviation) -> str:
    return f"{deviation.severity} deviation ({deviation.text})"


def _with_detail(what: str, evidence: Evidence) -> str:
    return f"{what}: {evidence.detail}" if evidence.detail else what
