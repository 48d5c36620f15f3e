"""Asking a reviewing agent: in a scratch clone of what was submitted, bounded in time, believed only as far as it says.

The clone has the task's history and exactly the submitted tree, and shares the repository's objects; whatever the agent
does there is thrown away, and the task's own tree is never touched. The agent is one behind the same port as those that
play, so that a model can take the shell agent's place.
"""

import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import field
from functools import partial
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from musician.agents import port
from musician.agents.hearing import kept, plain
from musician.plans.model import TaskSpec
from musician.processes.output import one_line
from musician.processes.redaction import Redactor
from musician.processes.scratch import ScratchFolder
from musician.processes.transcript import Kind, Transcript
from musician.protocol.conductor.opinion import Judgement, Opinion, form_opinion
from musician.protocol.errors import MusicianError
from musician.protocol.musician.inputs import PieceEnding
from musician.protocol.rules.review import needs_a_judge
from musician.protocol.settings import Settings
from musician.protocol.spending import Usage
from musician.protocol.values import dataclass
from musician.runtime.permission import refusal_in
from musician.runtime.plantrees import PlanTrees
from musician.runtime.verifying import nobody_records, python_environment
from musician.runtime.world import World
from musician.service import TaskView
from musician.service.work import open_rows
from musician.store.rows import VerificationRow
from musician.trees.root import Root

REVIEWER = "reviewer"
"""Whose session it is, where one is named."""
Bill = Callable[[Usage], Awaitable[None]]
"""What a reviewer has used is written down."""

_MOST_TROUBLE_CHARS = 500


@dataclass(slots=True)
class _Heard:
    bill: Bill
    verdicts: list[tuple[Judgement, str]] = field(default_factory=list)
    ruled: set[int] = field(default_factory=set)

    async def hear(self, event: port.AgentEvent) -> None:
        match event:
            case port.VerdictGiven(judgement=judgement, text=text):
                self.verdicts.append((Judgement(judgement), text))
            case port.DeviationRuled(number=number):
                self.ruled.add(number)
            case Usage():
                await self.bill(event)


async def ask_reviewer(
    root: Root,
    task: TaskSpec,
    view: TaskView,
    message_id: int,
    *,
    trees: PlanTrees,
    agent: str,
    bill: Bill,
    world: World,
    settings: Settings,
) -> Opinion:
    """What the agent says of submission ``message_id``; whatever keeps it from a verdict is in the opinion."""
    found = next((row for row in view.verifications if row.submission_id == message_id), None)
    text = next((each.message or "" for each in view.submissions if each.message_id == message_id), "")
    if found is None:
        return form_opinion((), trouble="nothing of it is verified")
    shown = _shown(view)
    heard = _Heard(bill)
    try:
        folder = await run_sync(partial(ScratchFolder, "review"))
        try:
            place = Path(folder.name).resolve()
            base = await run_sync(partial(trees.lay_out, task.task_id, found.tree_id, at=place / "tree"))
            env = await run_sync(partial(_papers, place, text, found, shown))
            env |= {"MUSICIAN_TASK": task.task_id, "MUSICIAN_BASE": base, **python_environment()}
            stage = port.Stage(
                tree=place / "tree",
                env={
                    **env,
                    "MUSICIAN_TREE": str(place / "tree"),
                    "MUSICIAN_CHECKPOINT": str(found.checkpoint),
                },
                on_process=nobody_records,
                may=partial(_may, root, place / "tree"),
            )
            piece = _piece(task, found.checkpoint, text, shown, settings.time.review_limit_s)
            log = root.review_transcript(task.task_id, message_id)
            with (
                Transcript(log, Redactor({**os.environ, **stage.env})) as transcript,
                world.sandboxed(root, task, stage.tree),
            ):
                tell = kept(transcript, piece, heard.hear)
                async with world.agent(agent).open(stage) as session:
                    ended = await session.play(piece, tell)
                transcript.write(Kind.ENDED, **plain(ended))
        finally:
            with anyio.CancelScope(shield=True):
                await run_sync(folder.cleanup)
    except (MusicianError, OSError) as error:
        return form_opinion((), trouble=one_line(str(error), _MOST_TROUBLE_CHARS))
    trouble = "" if ended.ending is PieceEnding.DONE else ended.detail or ended.ending
    return form_opinion(heard.verdicts, ruled=heard.ruled, shown=len(shown), trouble=trouble)


async def _may(root: Root, tree: Path, call: port.ToolCall) -> str:
    """A reviewer may what a musician may, in a tree that is thrown away."""
    refusal = await run_sync(partial(refusal_in, root, tree, call, session=REVIEWER))
    return "" if refusal is None else str(refusal)


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


def _papers(place: Path, text: str, found: VerificationRow, shown: tuple[str, ...]) -> dict[str, str]:
    """What the agent reads besides the tree, and where it finds it."""
    task_files = {
        "MUSICIAN_SUBMISSION": ("submission.txt", text),
        "MUSICIAN_VERIFICATION": (
            "verification.json",
            json.dumps({"outcome": found.outcome, "result": json.loads(found.result)}, ensure_ascii=False),
        ),
        "MUSICIAN_DEVIATIONS": ("deviations.txt", _listed(shown)),
    }
    for name, body in task_files.values():
        (place / name).write_text(body + "\n", encoding="utf-8", errors="replace")
    return {variable: str(place / name) for variable, (name, _) in task_files.items()}


def _shown(view: TaskView) -> tuple[str, ...]:
    """What it may rule, in the order in which it is numbered."""
    deviations, findings = open_rows(view.journal)
    return (
        *(f"{row.text} ({row.severity})" for row in deviations),
        *(needs_a_judge(row.text) for row in findings),
    )


def _listed(shown: tuple[str, ...]) -> str:
    return "\n".join(f"{n}. {each}" for n, each in enumerate(shown, start=1))
