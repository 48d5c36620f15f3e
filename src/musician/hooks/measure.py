"""How much of its context a conversation has used, read off the end of its transcript (D15).

Knows the client's transcript: one JSON object a line, the last of the main conversation's answers with its usage. What
that adds up to is what the next request will carry. Reads a bounded tail, and refuses to guess: without such an
answer there, or without a window that the model is known to have, there is no reading (B28).
"""

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

FULL_FROM_PCT = 95.0
"""From here on a window counts as full: the client compacts at 96.7 % of a million tokens."""

MOST_WORDS_CHARS = 2000
"""Of what was said last."""

TAILS_BYTES = (65_536, 1_048_576, 8_388_608)
"""How much of a transcript's end is read, one after the other, until there is an answer in it."""

LAG_S = 0.3
"""The longest the transcript is waited for: the client was seen to write it up to a tenth of a second behind."""

_LOOK_EVERY_S = 0.01

_READ = (
    "SELECT ?1 ->> '$.type', ?1 ->> '$.isSidechain', ?1 ->> '$.message.model', ?1 ->> '$.message.usage.input_tokens',"
    " coalesce(?1 ->> '$.message.usage.cache_read_input_tokens', 0),"
    " coalesce(?1 ->> '$.message.usage.cache_creation_input_tokens', 0)"
)
_ANSWER = (b'"assistant"', b'"usage"')

_MILLION = 1_000_000
_SMALL = 200_000
_SMALL_MODELS = ("claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-6")
_FAMILIES = ("claude-opus-", "claude-sonnet-", "claude-haiku-")


def percent_used(transcript_path: "str | None", *, set_window_tokens: int = 0) -> "float | None":
    """Per cent of the window; None where it cannot be known. ``set_window_tokens`` wins over the model's own if not 0.

    More tokens than the window holds is no reading: the window was taken for too small.
    """
    found = _last_answer(transcript_path)
    if found is None:
        return None
    model, used = found
    window = set_window_tokens or known_window(model)
    return 100 * used / window if window and 0 <= used <= window else None


def is_written(transcript_path: "str | None", call_id: bytes) -> bool:
    """Wait until the transcript has the answer that made a tool call, for :data:`LAG_S` at most; whether it has.

    A tool that takes no time has run before the client has written what called it, and the last answer in the
    transcript is an older one then.
    """
    import time

    if transcript_path is None or not call_id:
        return False
    end_s = time.monotonic() + LAG_S
    while True:
        try:
            with open_transcript(transcript_path) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - TAILS_BYTES[1]))
                if call_id in file.read():
                    return True
        except OSError:
            return False
        if time.monotonic() >= end_s:
            return False
        time.sleep(_LOOK_EVERY_S)


def last_words(transcript_path: "str | None") -> str:
    """The end of what the main conversation's model said last; "" where nothing can be read."""
    import json

    try:
        with open_transcript(transcript_path or "") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - TAILS_BYTES[1]))
            lines = file.read().split(b"\n")
    except OSError:
        return ""
    for line in reversed(lines):
        if b'"assistant"' not in line:
            continue
        try:
            said = json.loads(line)
            blocks = (
                said["message"]["content"] if said["type"] == "assistant" and not said["isSidechain"] else ()
            )
            text = "\n".join(block["text"] for block in blocks if block["type"] == "text").strip()
        except (ValueError, RecursionError, LookupError, TypeError):
            continue
        if text:
            return text if len(text) <= MOST_WORDS_CHARS else f"… {text[-MOST_WORDS_CHARS:]}"
    return ""


def open_transcript(path: str) -> "BinaryIO":
    """A transcript for reading; OSError for what is no file: a pipe would have the hook wait for its writer."""
    if "\0" in path:
        raise FileNotFoundError(path)
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise FileNotFoundError(path)
    return file


def known_window(model: str) -> "int | None":
    """The context window of a model in tokens, as the client takes it; None for one that is not known."""
    if model.startswith(_SMALL_MODELS):
        return _SMALL
    return _MILLION if model.startswith(_FAMILIES) else None


def _last_answer(transcript_path: "str | None") -> "tuple[str, int] | None":
    """The model and the tokens of the last answer in the main conversation."""
    if transcript_path is None:
        return None
    try:
        with open_transcript(transcript_path) as file:
            size = os.fstat(file.fileno()).st_size
            for tail in TAILS_BYTES:
                file.seek(max(0, size - tail))
                lines = file.read(tail).split(b"\n")
                # The first line may be cut off at its beginning, and the last may still be in writing.
                found = _newest(lines if size <= tail else lines[1:])
                if found is not None or size <= tail:
                    return found
    except OSError:
        return None
    return None


def _newest(lines: "list[bytes]") -> "tuple[str, int] | None":
    import apsw

    reader = apsw.Connection(":memory:")
    for line in reversed(lines):
        if not all(part in line for part in _ANSWER):
            continue
        try:
            row: Any = reader.execute(_READ, (line.decode(),)).fetchone()
        except (apsw.Error, ValueError):
            continue
        kind, is_side, model, *tokens = row
        if kind == "assistant" and not is_side and isinstance(model, str) and not model.startswith("<"):
            return (model, sum(tokens)) if all(isinstance(each, int) for each in tokens) else None
    return None
