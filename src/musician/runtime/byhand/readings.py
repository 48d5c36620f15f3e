"""What the journal says of a claim's context: its last reading, and whether a warning is answered (D15)."""

from musician.protocol.journal import Kind
from musician.protocol.states import State
from musician.service import TaskView


def is_granted(view: TaskView, epoch: int) -> bool:
    """Whether the conductor has answered a context warning of this claim since its last approved checkpoint."""
    kinds = [row.kind for row in view.journal if row.claim_epoch == epoch]
    warned = [kind for kind in kinds if kind in (Kind.CONTEXT, Kind.APPROVED)][-1:] == [Kind.CONTEXT]
    return warned and view.row.state is not State.ERROR


def used_in(view: TaskView, epoch: int) -> float | None:
    """The claim's own last reading: a successor's context is a fresh one."""
    readings = [row.context_pct for row in view.journal if row.claim_epoch == epoch]
    return next((each for each in reversed(readings) if each is not None), None)
