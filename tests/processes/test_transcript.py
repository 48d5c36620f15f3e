"""Transcripts: whole lines, numbered, bounded, private, without secrets."""

import errno
import json
import os
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from musician.own_python import own_python
from musician.processes import transcript as module
from musician.processes.redaction import Redactor
from musician.processes.transcript import MOST_END_CHARS, MOST_VALUE_CHARS, Kind, Transcript
from musician.testing.waiting import until
from tests.transcripts import events

SECRET = "correct-horse-battery"  # noqa: S105


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "1.jsonl"


def opened(path: Path, **more: Any) -> Transcript:
    return Transcript(path, Redactor({"THE_TOKEN": SECRET}), **more)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_event_is_a_line_with_its_number_time_kind_and_piece_and_nobody_else_reads_it(path: Path) -> None:
    with opened(path) as transcript:
        transcript.write(Kind.BEGIN, agent="shell", goes_on=False, nothing="", none=None)
        transcript.piece = "step 1"
        transcript.write(Kind.TOOL_USE, name="Bash", given={"command": ["ls", 1.5, float("nan")]})
    begin, used = lines(path)
    assert (begin.pop("at")[-1], begin) == (
        "Z",
        {"seq": 1, "kind": "begin", "agent": "shell", "goes_on": False},
    )
    assert (used["seq"], used["piece"], used["given"]) == (2, "step 1", {"command": ["ls", 1.5, None]})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_said_is_written_line_by_line_and_before_what_comes_after_it(path: Path) -> None:
    with opened(path) as transcript:
        for data in (b"one\ntw", b"o\xc3", b"\xa9\nthree"):
            transcript.say(data)
        transcript.write(Kind.REMARK, text="odd")
        transcript.say(b"half \xff")
    assert [each["text"] for each in lines(path)] == [
        "one\n",
        "two\N{LATIN SMALL LETTER E WITH ACUTE}\n",
        "three",
        "odd",
        "half \N{REPLACEMENT CHARACTER}",
    ]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_no_secret_is_written_in_however_small_parts_it_comes(path: Path, size: int) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"
    text = f"before {SECRET} after\nthe key\n{key}\nend sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA"
    with opened(path) as transcript:
        for start in range(0, len(text), size):
            transcript.say(text[start : start + size].encode())
        transcript.write(Kind.TOOL_USE, given={"command": f"curl -H {SECRET}", SECRET: [[[[[SECRET]]]]]})
        transcript.write(Kind.PERMISSION, refused=f"{'x' * (MOST_VALUE_CHARS - 5)}{SECRET}")
        transcript.say(b"y" * (module.MOST_TEXT_CHARS - 5) + SECRET.encode())
    kept = path.read_text()
    assert "before [THE_TOKEN] after" in kept
    for part in (SECRET, SECRET[:5], "MIIEvQ", "hkiG9w", "AAAAAA"):
        assert part not in kept


def test_one_value_and_one_event_are_bounded_and_say_so(path: Path) -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = [deep] * 60
    with opened(path) as transcript:
        transcript.write(Kind.TOOL_RESULT, text="z" * 100_000)
        transcript.write(Kind.TOOL_USE, given={str(n): "w" * 100_000 for n in range(500)}, more=deep)
        transcript.say(b"v" * 10_000_000)
    result, used, *_ = lines(path)
    assert result["text"] == "z" * MOST_VALUE_CHARS + "\N{HORIZONTAL ELLIPSIS} (96000 characters more)"
    assert len(used["given"]) <= 50
    assert path.stat().st_size < 300_000


def test_what_an_agent_says_is_bounded_its_end_is_kept_and_what_the_program_does_is_all_there(
    path: Path,
) -> None:
    with opened(path, most_bytes=20_000) as transcript:
        for piece in ("step 1", "step 2"):
            transcript.piece = piece
            transcript.write(Kind.PROMPT, title=piece)
            for n in range(5000):
                transcript.say(f"line {n}\n".encode())
            transcript.write(Kind.ENDED, ending="done")
    told = events(path)
    assert [each.kind for each in told if each.kind in ("prompt", "cut", "ended")] == [
        *("prompt", "cut", "ended", "prompt", "ended")
    ]
    ends = [each for each in told if "left_out" in each.said]
    assert [each.piece for each in ends] == ["step 1", "step 2"]
    assert all(each.said["text"].endswith("line 4999\n") for each in ends)
    assert [each.seq for each in told] == list(range(1, len(told) + 1))
    assert path.stat().st_size < 20_000 + 4 * MOST_END_CHARS


def test_a_line_that_a_crash_has_torn_is_no_event_and_the_next_writer_begins_a_new_one(path: Path) -> None:
    with opened(path) as transcript:
        transcript.write(Kind.BEGIN)
        transcript.write(Kind.REMARK, text="torn")
    os.truncate(path, path.stat().st_size - 7)
    assert [each.seq for each in events(path)] == [1]
    with opened(path) as transcript:
        transcript.write(Kind.REMARK, text="again")
    assert [(each.seq, each.said.get("text")) for each in events(path)] == [(1, None), (2, "again")]


def test_whoever_is_killed_while_it_writes_leaves_whole_lines(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from musician.processes.transcript import *\n"
        "from musician.processes.redaction import Redactor\n"
        "t = Transcript(Path(sys.argv[1]), Redactor({}))\n"
        "while True: t.write(Kind.REMARK, text='x' * 3000)"
    )
    with subprocess.Popen(own_python("-c", program, str(path))) as writer:
        until(lambda: path.exists() and path.stat().st_size > 1_000_000)
        writer.send_signal(signal.SIGKILL)
    told = events(path)
    assert [each.seq for each in told] == list(range(1, len(told) + 1))
    assert all(len(each.said["text"]) == 3000 for each in told)


def test_a_disk_that_is_full_ends_nothing_and_the_next_line_says_how_many_are_missing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    free = [0]

    def write(file: int, data: bytes) -> int:
        if free[0] == 0:
            raise OSError(errno.ENOSPC, "no space")
        return real(file, data[: free[0]])

    with opened(path) as transcript:
        monkeypatch.setattr(os, "write", write)
        transcript.write(Kind.REMARK, text="lost")
        free[0] = 10
        transcript.write(Kind.REMARK, text="torn")
        free[0] = 10_000
        transcript.write(Kind.REMARK, text="here")
        transcript.write(Kind.REMARK, text="there")
        monkeypatch.undo()
    assert [(each.said["text"], each.said.get("missing")) for each in events(path)] == [
        ("here", 2),
        ("there", None),
    ]
