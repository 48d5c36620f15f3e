"""Asking a reviewing agent: about exactly what was submitted, and believed only as far as it says."""

import json
from dataclasses import field

from musician.agents import port
from musician.plans.model import TaskSpec
from musician.protocol.conductor.opinion import Judgement, Opinion, form_opinion
from musician.protocol.rules.review import needs_a_judge
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass
from musician.runtime.conductor.consulting import Consultation
from musician.service import TaskView
from musician.service.work import open_rows
from musician.store.rows import VerificationRow


@dataclass(slots=True)
class _Heard:
    verdicts: list[tuple[Judgement, str]] = field(default_factory=list)
    ruled: set[int] = field(default_factory=set)

    async def hear(self, event: port.AgentEvent) -> None:
        match event:
            case port.VerdictGiven(judgement=judgement, text=text):
                self.verdicts.append((Judgement(judgement), text))
            case port.DeviationRuled(number=number):
                self.ruled.add(number)


async def ask_reviewer(
    consultation: Consultation, task: TaskSpec, view: TaskView, message_id: int, *, settings: Settings
) -> Opinion:
    """Return the agent's opinion of submission ``message_id``; if it gives no verdict, the opinion says why."""
    found = next((row for row in view.verifications if row.submission_id == message_id), None)
    text = next((each.message or "" for each in view.submissions if each.message_id == message_id), "")
    if found is None:
        return form_opinion((), trouble="nothing of it is verified")
    shown = _shown(view)
    heard = _Heard()
    trouble = await consultation.ask(
        task,
        _piece(task, found.checkpoint, text, shown, settings.time.review_limit_s),
        heard.hear,
        tree_id=found.tree_id,
        files=_files(text, found, shown),
        env={"MUSICIAN_CHECKPOINT": str(found.checkpoint)},
        log=consultation.root.asked_transcript(task.task_id, "review", message_id),
    )
    return form_opinion(heard.verdicts, ruled=heard.ruled, shown=len(shown), trouble=trouble)


def _piece(
    task: TaskSpec, checkpoint: int, text: str, shown: tuple[str, ...], time_limit_s: float
) -> port.Piece:
    asked = (
        f"Judge what was submitted at checkpoint {checkpoint} of {task.task_id}: {task.title}. Change nothing."
        " The current folder has the work; `git diff $MUSICIAN_BASE` shows what it changed, and $MUSICIAN_VERIFICATION"
        " names a file with what the program found. Answer with a line `::verdict approve`, or one `::verdict reject"
        " POINT` or `::verdict fix POINT` for each point, and `::rule N` for each deviation or finding N that you"
        " accept."
    )
    return port.Piece(
        kind=port.PieceKind.REVIEW,
        task_id=task.task_id,
        item=f"review of checkpoint {checkpoint}",
        title=task.title,
        prose="\n\n".join(filter(None, (asked, task.overview, text, _listed(shown)))),
        scripts=() if task.reviewer is None else (task.reviewer,),
        feedback=text,
        time_limit_s=time_limit_s,
    )


def _files(text: str, found: VerificationRow, shown: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """Return the files the agent reads besides the tree, by the variable that names each."""
    verified = {"outcome": found.outcome, "result": json.loads(found.result)}
    return {
        "MUSICIAN_SUBMISSION": ("submission.txt", text),
        "MUSICIAN_VERIFICATION": ("verification.json", json.dumps(verified, ensure_ascii=False)),
        "MUSICIAN_DEVIATIONS": ("deviations.txt", _listed(shown)),
    }


def _shown(view: TaskView) -> tuple[str, ...]:
    """Return the deviations it may rule on, in the order of their numbers."""
    deviations, findings = open_rows(view.journal)
    return (
        *(f"{row.text} ({row.severity})" for row in deviations),
        *(needs_a_judge(row.text) for row in findings),
    )


def _listed(shown: tuple[str, ...]) -> str:
    return "\n".join(f"{n}. {each}" for n, each in enumerate(shown, start=1))
