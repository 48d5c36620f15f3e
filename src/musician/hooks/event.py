"""Reads an event from the client: JSON on standard input, and a few environment variables.

Whatever it says, it becomes an event, never an error: an absent session and ids that are no ids own nothing (B18, D8).
Garbage is an event of the session that the environment names, and ``is_readable`` says so: whoever guards an act by
what is said of it must refuse that (D36). Python's JSON reader costs as much as all the rest of a hook, so SQLite's
finds the few keys that decide whether there is anything to do, and the whole is read only where that is so. Written by
hand, because a dataclass would cost a hook more than its work.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_ABSENT = ("", "null", "none", "undefined")
_MOST_ID_CHARS = 64
_KEYS = ("session_id", "cwd", "transcript_path", "agent_id")
_READ = "SELECT json_type(?1), " + ", ".join(f"?1 ->> '$.{key}'" for key in _KEYS)


class HookEvent:
    """One event, never changed. ``session_id`` is None where the client names none that could own anything.

    ``agent_id`` is the subagent it happened in, None in the main conversation; the session's id is the parent's then
    too. ``raw`` is all the client said, empty where that cannot be read.
    """

    __slots__ = (
        "_document",
        "_raw",
        "agent_id",
        "cwd",
        "name",
        "project_dir",
        "session_id",
        "transcript_path",
    )

    name: str
    session_id: "str | None"
    cwd: "str | None"
    project_dir: "str | None"
    transcript_path: "str | None"
    agent_id: "str | None"
    _document: bytes
    _raw: "dict[str, Any] | None"

    def __init__(
        self,
        name: str,
        document: bytes,
        *,
        session_id: "str | None",
        cwd: "str | None" = None,
        transcript_path: "str | None" = None,
        agent_id: "str | None" = None,
        project_dir: "str | None" = None,
    ) -> None:
        keep = object.__setattr__
        keep(self, "name", name)
        keep(self, "session_id", session_id)
        keep(self, "cwd", cwd)
        keep(self, "transcript_path", transcript_path)
        keep(self, "agent_id", agent_id)
        keep(self, "project_dir", project_dir)
        keep(self, "_document", document)
        keep(self, "_raw", {})  # empty means not read yet: an event that names a session is never empty

    def __setattr__(self, name: str, value: object) -> "NoReturn":
        raise AttributeError(f"an event is never changed: {name}")

    @property
    def raw(self) -> "dict[str, Any]":
        return self._read() or {}

    @property
    def is_readable(self) -> bool:
        """Whether all that the client said is known: nested too deep, or with a number too long, it is not."""
        return self._read() is not None

    def _read(self) -> "dict[str, Any] | None":
        if self._raw == {}:
            object.__setattr__(self, "_raw", _parsed(self._document))
        return self._raw

    def mentions(self, words: bytes) -> bool:
        """Whether the words stand anywhere in what the client says; cheaper than reading it."""
        return words in self._document

    @property
    def last_call_id(self) -> bytes:
        """The id of the last tool call it speaks of, empty if of none; cheaper than reading it all."""
        # In a text these quotes would stand behind backslashes, so what is found is a key.
        _, key, rest = self._document.rpartition(b'"tool_use_id"')
        parts = rest.split(b'"', 2)
        return parts[1] if key and len(parts) > 2 else b""

    def text(self, key: str) -> str:
        """Return the client's text for a key, "" if there is none or it is not a text."""
        value = self.raw.get(key)
        return value if isinstance(value, str) else ""


def as_event(
    name: str, document: bytes, *, project_dir: "str | None" = None, opened_as: "str | None" = None
) -> HookEvent:
    """The event a document describes. ``opened_as`` is the session by the environment: whose event it is where the
    document is no JSON object; without either it is nobody's."""
    import apsw

    try:
        values = apsw.Connection(":memory:").execute(_READ, (document.decode(),)).fetchone()
    except (apsw.SQLError, apsw.TooBigError, ValueError):
        values = None
    if values is None or values[0] != "object":
        values = (None, opened_as, *(None,) * (len(_KEYS) - 1))
    _, session, *others = values
    cwd, transcript_path, agent_id = (each if isinstance(each, str) and each else None for each in others)
    return HookEvent(
        name,
        document,
        session_id=session_of(session),
        cwd=cwd,
        transcript_path=transcript_path,
        agent_id=agent_id,
        project_dir=project_dir,
    )


def session_of(value: object) -> "str | None":
    """A session id that may own something, or None (D8)."""
    if not isinstance(value, str) or value.lower() in _ABSENT or len(value) > _MOST_ID_CHARS:
        return None
    is_id = value.isascii() and value[0].isalnum() and all(c.isalnum() or c in "._-" for c in value)
    return value if is_id else None


def _parsed(document: bytes) -> "dict[str, Any] | None":
    import json

    try:
        raw = json.loads(document)
    except (ValueError, RecursionError):
        return None
    return raw if isinstance(raw, dict) else None
