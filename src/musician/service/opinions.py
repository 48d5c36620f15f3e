"""Stores the opinion of a reviewing or answering agent before it is acted on: it is asked only once (D18.6)."""

import json

from musician.protocol.conductor.opinion import Judgement, Opinion
from musician.service.rowwork import load_played
from musician.store.port import Store
from musician.store.queries.work import Work
from musician.store.rows import OpinionRow


def keep_opinion(store: Store, task_id: str, submission_id: int, opinion: Opinion) -> None:
    """Keep what was said of the message: a submission, a question or a report. A second opinion changes nothing."""
    with store.write() as tx:
        load_played(tx, task_id)
        tx.run(
            Work.keep_opinion,
            task_id=task_id,
            submission_id=submission_id,
            judgement=opinion.judgement,
            text=opinion.text,
            ruled=json.dumps(sorted(opinion.ruled)),
        )


def as_opinion(row: OpinionRow) -> Opinion:
    """The inverse of :func:`keep_opinion`."""
    return Opinion(
        judgement=None if row.judgement is None else Judgement(row.judgement),
        text=row.text,
        ruled=frozenset(json.loads(row.ruled)),
    )
