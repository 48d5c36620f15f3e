"""The signals of ``protocol.anomalies``, from what one look at a task shows."""

from musician.protocol.conductor.anomalies import Anomaly, Noted, anomalies, in_journal
from musician.protocol.states import State
from musician.service.views import TaskView
from musician.service.work import as_entry


def anomalies_now(view: TaskView) -> tuple[Anomaly, ...]:
    """What is out of the ordinary with the task at this moment."""
    is_played = view.row.state is State.WORKING and view.row.session_id is not None
    return anomalies(_noted(view), epoch=view.row.claim_epoch, is_played=is_played, quiet_s=view.quiet_s)


def anomalies_in(view: TaskView) -> tuple[Anomaly, ...]:
    """Everything that its journal has shown so far."""
    return tuple(in_journal(_noted(view)))


def _noted(view: TaskView) -> list[Noted]:
    return [Noted(id=row.id, epoch=row.claim_epoch, entry=as_entry(row)) for row in view.journal]
