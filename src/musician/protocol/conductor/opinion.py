"""The opinion of a reviewing agent on a submission, or of an answering one, and how far it counts (D18.6).

Theory. The agent replaces the rules' judgement but not their limits. Before it is asked, the rules apply: work that
fails its verification is sent back, work that cannot be verified or comes for the fifth time goes to a person, and a
full verification is run if it is needed. The agent's opinion then counts for this one submission (D7). Silence is never
approval: no verdict, two different ones, one without a reason, a crash and a timeout all go to a person, and so does an
approval that leaves a Medium or High deviation or a finding (D26) open.

An answering agent is asked what a person would be asked about a question or an error report. Its opinion is the text
that goes back to the musician (FIX), or none, and then the person is asked after all.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum

from musician.protocol.rules.deviations import Severity, open_deviations
from musician.protocol.rules.review import (
    Submission,
    Verdict,
    VerdictKind,
    Verification,
    judge_by_rule,
    limits_of_review,
    missing_evidence,
)
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass


class Judgement(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"
    FIX = "fix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """``judgement`` is None if the agent gave none that counts; then ``text`` says why.

    ``ruled`` are the numbers, from 1, of what the agent ruled on: first the open deviations, then the findings.
    """

    judgement: Judgement | None
    text: str
    ruled: frozenset[int] = frozenset()


def form_opinion(
    given: Iterable[tuple[Judgement, str]], *, ruled: Collection[int] = (), shown: int = 0, trouble: str = ""
) -> Opinion:
    """Form an opinion from the agent's verdicts, in order. Several of the same kind are the points of one verdict.

    ``shown`` is the number of deviations and findings it could rule on; ``trouble`` says how the agent failed, if it
    did.
    """
    points = list(given)
    kinds = sorted({judgement for judgement, _ in points})
    texts = [text for _, text in points if text]
    unknown = sorted(number for number in ruled if not 1 <= number <= shown)
    problem = trouble
    if not problem and len(kinds) != 1:
        problem = f"it says {' and '.join(kinds)}" if kinds else "it said none"
    if not problem and kinds != [Judgement.APPROVE] and not texts:
        problem = f"it says {kinds[0]} without a reason"
    if not problem and unknown:
        problem = f"it rules number {unknown[0]}, and there are {shown}"
    if problem:
        return Opinion(judgement=None, text=problem)
    text = texts[0] if len(texts) == 1 else "\n".join(f"{n}. {each}" for n, each in enumerate(texts, start=1))
    return Opinion(judgement=kinds[0], text=text, ruled=frozenset(ruled))


def form_answer(replies: Iterable[str], *, for_a_person: Iterable[str] = (), trouble: str = "") -> Opinion:
    """Form an opinion from the agent's replies, which together are one answer.

    ``for_a_person`` are its reasons for leaving the answer to a person, which outweigh every reply.
    """
    texts = [text for text in replies if text]
    problem = trouble or "; ".join(for_a_person) or ("" if texts else "it said nothing")
    if problem:
        return Opinion(judgement=None, text=problem)
    return Opinion(judgement=Judgement.FIX, text="\n".join(texts))


def before_asking(submission: Submission, settings: Settings) -> Verdict | None:
    """Return the verdict that needs no agent; None if the agent must be asked."""
    concerns = limits_of_review(submission, settings)
    if concerns:
        return Verdict(kind=VerdictKind.ASK_HUMAN, reasons=concerns)
    evidence = submission.evidence
    if evidence is not None and evidence.verification is Verification.RED:
        return judge_by_rule(submission, settings)
    unknown = missing_evidence(submission)
    return None if unknown is None else Verdict(kind=VerdictKind.VERIFY_FULLY_FIRST, reasons=(unknown,))


def judge_by_opinion(submission: Submission, opinion: Opinion) -> Verdict:
    """Return the verdict that follows from the agent's opinion."""
    shown = list(enumerate(open_deviations(submission.work.deviations), start=1))
    left = (each for number, each in shown if number not in opinion.ruled)
    grave = [f"{each.severity} deviation ({each.text})" for each in left if each.severity is not Severity.LOW]
    findings = enumerate(submission.findings, start=len(shown) + 1)
    grave += [finding for number, finding in findings if number not in opinion.ruled]
    match opinion.judgement:
        case None:
            reason = f"the reviewing agent gave no verdict: {opinion.text}"
            return Verdict(kind=VerdictKind.ASK_HUMAN, reasons=(reason,))
        case Judgement.REJECT:
            return Verdict(kind=VerdictKind.SEND_BACK, reasons=(opinion.text,))
        case Judgement.FIX:
            return Verdict(kind=VerdictKind.PROPOSE_FIX, reasons=(opinion.text,))
    if grave:
        reason = f"the reviewing agent approves and leaves unruled: {', '.join(grave)}"
        return Verdict(kind=VerdictKind.ASK_HUMAN, reasons=(reason,))
    return Verdict(kind=VerdictKind.APPROVE)
