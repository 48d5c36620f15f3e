"""A claim: one session's ownership of one task."""

from musician.protocol.names import check_session_id, check_task_id
from musician.protocol.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Every ownership write names one (D2). ``epoch`` grows with every claim of the task, from 1."""

    task_id: str
    session_id: str
    epoch: int

    def __post_init__(self) -> None:
        check_task_id(self.task_id)
        check_session_id(self.session_id)
        if self.epoch < 1:
            raise ValueError(f"claims are counted from 1, not {self.epoch}")
