"""What the transcripts of a task say."""

from pathlib import Path

from musician.processes.transcript import Kind
from musician.reporting.transcripts import Event, Reading


def events(path: Path) -> list[Event]:
    return list(Reading(path).fresh())


def text_of(*paths: Path) -> str:
    """All that agents said, complaints of it among them."""
    told = [each for path in paths for each in events(path) if each.kind in (Kind.TEXT, Kind.REMARK)]
    return "".join(str(each.said["text"]) + "\n" * (each.kind == Kind.REMARK) for each in told)


def said_in(root: Path, task_id: str) -> str:
    """In all sessions of a task."""
    return text_of(*sorted((root / ".musician" / "logs" / task_id).glob("[0-9]*.jsonl")))
