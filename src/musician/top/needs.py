"""What is wanted of a person, as rows."""

from collections.abc import Iterator

from musician.protocol.names import CONDUCTOR
from musician.reporting.needs_me import Need
from musician.top.rows import Row, block, row


def need_rows(need: Need) -> Iterator[Row]:
    """Yield the reason, the whole question, what it blocks, and the commands that answer it."""
    key = f"need-{need.task_id}-{need.plan_id}-{need.kind}-{need.subject_id}"
    opens = "" if need.task_id == CONDUCTOR else f"{need.kind} {need.task_id}"
    yield row(key, f"! {need.reason}", "bold", opens=opens)
    if len(need.text.splitlines()) > 1:
        yield from block(f"{key}-text", need.text)
    if need.blocks:
        yield row(f"{key}-blocks", f"  waiting for it: {', '.join(need.blocks)}")
    for number, answer in enumerate(need.answers):
        yield Row(
            key=f"{key}-answer-{number}", parts=((f"  {answer.command}", ""), (f"  {answer.effect}", "dim"))
        )
