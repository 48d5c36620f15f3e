"""Texts that also exist as files (D25: nothing of value lives in a file alone)."""

from collections.abc import Mapping

from musician.service.rowwork import load_task
from musician.store.port import Store, Tx
from musician.store.queries.work import Work
from musician.store.rows import DocumentRow


def keep_instructions(store: Store, bodies: Mapping[str, tuple[str, str]]) -> None:
    """Keep the instructions of tasks: task id to (path, text). What is kept already is not kept twice."""
    with store.write() as tx:
        for task_id, (path, body) in bodies.items():
            row = load_task(tx, task_id)
            kept = _latest(tx, task_id, "instruction")
            if kept is None or (kept.path, kept.body) != (path, body):
                keep_text(tx, task_id, row.claim_epoch, "instruction", path, body)


def latest_document(store: Store, task_id: str, kind: str) -> DocumentRow | None:
    """The newest of its kind (handoff, report, instruction, proposal); None if there is none."""
    with store.read() as tx:
        return _latest(tx, task_id, kind)


def keep_text(
    tx: Tx, task_id: str, epoch: int, kind: str, path: str, body: str, *, written_by: str = "program"
) -> int:
    """Keep one text within a transaction of the caller's; its id. ``written_by``: agent or program."""
    return tx.insert(
        Work.store_document,
        task_id=task_id,
        claim_epoch=epoch,
        kind=kind,
        path=path,
        body=body,
        written_by=written_by,
    )


def _latest(tx: Tx, task_id: str, kind: str) -> DocumentRow | None:
    return tx.one(Work.latest_document, task_id=task_id, kind=kind)
