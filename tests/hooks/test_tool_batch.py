"""After a batch of tools: signs of life, pointers to what was said, and the context's thresholds."""

import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from musician import service
from musician.config import render_defaults
from musician.hooks.client import met
from musician.hooks.event import as_event
from musician.hooks.measure import TAILS_BYTES, is_written, known_window, percent_used
from musician.hooks.numbers import Numbers
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.musician.agreement import granted_text
from musician.protocol.settings import Settings
from musician.store.sqlite.store import SqliteStore
from musician.testing.waiting import HANG_S

if TYPE_CHECKING:
    from tests.hooks.conftest import Hook

MODEL = "claude-opus-5-5"


def spoken(used: int, *, model: str = MODEL, side: bool = False, kind: str = "assistant") -> str:
    """One line of a transcript."""
    usage = {"input_tokens": used - 30, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 20}
    message = {"model": model, "content": "x", "usage": usage}
    return json.dumps({"isSidechain": side, "message": message, "type": kind}) + "\n"


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "transcript.jsonl"
    path.write_text(spoken(1000), encoding="utf-8")
    return path


@pytest.fixture
def batch(hook: "Hook", store: SqliteStore, claim: Claim, transcript: Path) -> Callable[..., Any]:
    """A batch of sess-aaa, whose client is known and which has heard everything."""
    service.meet_client(store, "sess-aaa", met(transcript_path=None, source=None))
    ids = tuple(each.id for each in service.unread(store, "task-03"))
    service.deliver(store, claim, ids)
    service.acknowledge(store, claim, ids[-1])
    service.measure_context(store, claim, 0.1)

    def call(**keys: Any) -> Any:
        return hook("PostToolBatch", transcript_path=str(transcript), tool_calls=[], **keys)

    return call


def test_there_is_nothing_to_say(batch: Callable[..., Any], store: SqliteStore) -> None:
    before = store.connection.pragma("data_version")
    assert batch().document is None
    assert store.connection.pragma("data_version") == before, "nothing was written"


@pytest.mark.parametrize(("age_s", "is_refreshed"), [(470, False), (490, True), (-3600, True)])
def test_a_heartbeat_that_is_due_is_refreshed(
    batch: Callable[..., Any],
    store: SqliteStore,
    backdate: Callable[[int], None],
    age_s: int,
    is_refreshed: bool,
) -> None:
    """D10.5"""
    backdate(age_s)
    assert batch().document is None
    age = service.task_row(store, "task-03").heartbeat_age_s
    assert age is not None
    assert (abs(age) < 60) is is_refreshed


def test_messages_are_pointed_at_once(batch: Callable[..., Any], store: SqliteStore, claim: Claim) -> None:
    """Delivered by that and not acknowledged, urgent ones too (D12.2, D12.4)."""
    first = service.send(store, "task-03", "mind the accents")
    second = service.send(store, "task-03", "stop", urgent=True)
    assert batch(agent_id="a72").document is None, "its parent would not hear it"
    said = batch().context
    assert (
        said == f"task-03: message {first} (note), {second} (emergency) from the conductor: read with `inbox`"
    )
    assert batch().document is None
    assert [each.id for each in service.unread(store, "task-03")] == [first, second]
    assert service.undelivered(store, claim) == ()


def test_so_many_messages_are_pointed_at_in_turns(batch: Callable[..., Any], store: SqliteStore) -> None:
    for number in range(13):
        service.send(store, "task-03", f"note {number}")
    assert "and 3 more" in batch().context
    assert batch().context.count("(note)") == 3
    assert batch().document is None


def test_what_a_context_asks_is_the_engines_to_say(
    batch: Callable[..., Any], store: SqliteStore, claim: Claim, transcript: Path
) -> None:
    """D30.1: a hook that asked by thresholds alone had a session warn that had agreed with its conductor already."""
    service.record(store, claim, Entry(kind=EntryKind.GRANTED, text=granted_text(1)))
    transcript.write_text(spoken(660_000), encoding="utf-8")
    assert "go no further than the conductor has answered" in batch().context


@pytest.mark.parametrize(
    ("used", "says"),
    [
        (49.99, ""),
        (50, "estimate before every read"),
        (64.99, "report a context warning"),  # the way to the checkpoint is projected (D15.3)
        (65, "finish this step only"),
        (75, "now"),
    ],
)
def test_a_threshold_is_told_once_when_it_is_reached(
    batch: Callable[..., Any], store: SqliteStore, transcript: Path, used: float, says: str
) -> None:
    """Exactly from its own value on, and the reading is kept (D15.2, D15.4, D15.5)."""
    transcript.write_text(spoken(round(used * 10_000)), encoding="utf-8")
    said = batch().context
    assert says in said
    assert bool(said) is bool(says)
    assert batch().document is None
    kept = service.task_view(store, "task-03").sessions[0].context_pct
    assert kept == pytest.approx(used, abs=0.01)


def test_a_transcript_that_lags_behind_a_quick_tool_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D15: the answer that made the call is the one that is measured, not the one before it."""
    place = tmp_path / "transcript.jsonl"
    place.write_text(spoken(1000), encoding="utf-8")
    begun = threading.Event()

    def write() -> None:
        begun.wait()
        with place.open("a", encoding="utf-8") as file:
            file.write(spoken(760_000).replace('"x"', '"toolu_9"'))

    with ThreadPoolExecutor() as pool, monkeypatch.context() as patched:
        patched.setattr(
            "musician.hooks.measure.LAG_S", HANG_S
        )  # a busy machine does not write within moments
        pool.submit(write)
        begun.set()
        assert is_written(str(place), b"toolu_9")
    assert percent_used(str(place)) == 76
    assert not is_written(str(place), b"toolu_10")
    assert not is_written(str(tmp_path / "none"), b"toolu_9")
    assert not is_written(str(place), b"")


def test_an_event_names_its_last_call() -> None:
    quoted = {"tool_input": {"a": 'say "tool_use_id":"no"'}}
    calls = [{"tool_use_id": "toolu_1"}, {"tool_use_id": "toolu_2", **quoted}]
    document = json.dumps({"session_id": "s", "tool_calls": calls}, separators=(",", ":")).encode()
    assert as_event("PostToolBatch", document).last_call_id == b"toolu_2"
    assert as_event("PostToolBatch", b'{"tool_calls":[]}').last_call_id == b""
    assert as_event("PostToolBatch", b'{"tool_use_id"').last_call_id == b""


def test_a_threshold_that_is_left_and_reached_again_is_told_again(
    batch: Callable[..., Any], transcript: Path
) -> None:
    told = []
    for used in (510_000, 660_000, 520_000, 670_000, 300_000, 500_000):
        with transcript.open("a", encoding="utf-8") as file:
            file.write(spoken(used))
        told.append(batch().context[:12])
    assert told == ["Context: 51 ", "Context: 66 ", "", "Context: 67 ", "", "Context: 50 "]


def test_b28_a_reading_that_cannot_be_forces_nothing(batch: Callable[..., Any], transcript: Path) -> None:
    """360,236 tokens of a window of 200,000 is unknown, and so is an unknown model's (B28, D15.1)."""
    for model in ("claude-sonnet-4-5-20250929", "somebody-elses"):
        transcript.write_text(spoken(360_236, model=model), encoding="utf-8")
        assert batch().document is None


def test_b28_a_window_that_is_set_wins(batch: Callable[..., Any], transcript: Path, repository: Path) -> None:
    """Over what the model is known to have (B28)."""
    config = repository / ".musician" / "config.toml"
    config.write_text("[context]\nwindow_tokens = 400000\n", encoding="utf-8")
    transcript.write_text(spoken(360_236, model="claude-sonnet-4-5"), encoding="utf-8")
    assert batch().context.startswith("Context: 90 % used: stop now")


def test_settings_that_are_wrong_are_told_and_change_nothing(
    hook: "Hook", batch: Callable[..., Any], repository: Path
) -> None:
    (repository / ".musician" / "config.toml").write_text("[context]\nwindow = 1\n", encoding="utf-8")
    assert batch(saying="setting context.window").document is None


def test_a_client_that_is_not_known_is_met(
    hook: "Hook", store: SqliteStore, claim: Claim, transcript: Path
) -> None:
    """A claim made by other tools than the hooks."""
    assert "(instruction)" in hook("PostToolBatch", transcript_path=str(transcript)).context
    found = service.client_of(store, "sess-aaa")
    assert found is not None
    assert found.transcript_path == str(transcript)


def test_a_conductors_own_row_is_kept_fresh(hook: "Hook", store: SqliteStore) -> None:
    service.start_conducting(store, "sess-aaa", settings=Settings())
    store.connection.execute(
        "UPDATE orchestration_tasks SET last_heartbeat = datetime('now', '-90 seconds') WHERE task_id = 'task-00'"
    )
    assert hook("PostToolBatch").document is None
    row = service.conductor_row(store)
    assert row is not None
    assert row.heartbeat_age_s is not None
    assert row.heartbeat_age_s < 60


def test_the_last_answer_of_the_main_conversation_is_read(tmp_path: Path) -> None:
    """Not a subagent's, the client's own, a torn one's or a quoted one's."""
    path = tmp_path / "t"
    noise = "".join(
        (
            spoken(900_000, side=True),
            spoken(800_000, model="<synthetic>"),
            json.dumps({"type": "user", "message": {"content": spoken(700_000)}}) + "\n",
            spoken(600_000, kind="user"),
            spoken(500_000)[:-20],
        )
    )
    path.write_text(spoken(100_000) + spoken(250_000) + noise, encoding="utf-8")
    assert percent_used(str(path)) == 25
    path.write_text(spoken(250_000) + "x" * (TAILS_BYTES[0] + 5) + "\n" + noise, encoding="utf-8")
    assert percent_used(str(path)) == 25
    path.write_text(noise, encoding="utf-8")
    assert percent_used(str(path)) is None


def test_only_a_bounded_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text(spoken(250_000), encoding="utf-8")
    with path.open("ab") as file:
        file.truncate(TAILS_BYTES[-1] + 1000)
    assert percent_used(str(path)) is None


@pytest.mark.parametrize("path", [None, "/nowhere/at/all", "nul\0byte", "."])
def test_a_transcript_that_cannot_be_read_is_no_reading(path: str | None) -> None:
    assert percent_used(path) is None


@pytest.mark.usefixtures("claim")
@pytest.mark.parametrize("name", ["pipe", "nul\0byte"])
@pytest.mark.parametrize("event", ["PostToolBatch", "Stop", "StopFailure"])
def test_what_is_no_file_is_no_transcript(
    hook_process: "Hook", tmp_path: Path, event: str, name: str
) -> None:
    """AUDIT-C12: a pipe would keep the hook until somebody writes, and a NUL is in no path."""
    if "\0" not in name:
        os.mkfifo(tmp_path / name)
    path = f"{tmp_path}/{name}"
    answered = hook_process(event, transcript_path=path, tool_calls=[{"tool_use_id": "toolu_1"}])
    assert answered.notice == ""


def test_a_spent_context_reaches_the_conductor_at_once(
    batch: Callable[..., Any], store: SqliteStore, transcript: Path
) -> None:
    """D42.3, AUDIT-K3: whatever the model does about it; once."""
    transcript.write_text(spoken(749_900), encoding="utf-8")
    batch()
    assert "spent" not in service.messages_of(store, "task-03")[-1].message
    with transcript.open("a", encoding="utf-8") as file:
        file.write(spoken(751_000))
    batch()
    batch()
    said = [
        each for each in service.messages_of(store, "task-03") if "its context is spent: 75 %" in each.message
    ]
    assert [each.from_session for each in said] == ["sess-aaa"]


def test_the_windows_are_as_the_client_takes_them() -> None:
    known = {"claude-haiku-4-5-20251001": 200_000, "claude-opus-4-6": 200_000, "claude-sonnet-5-5": 1_000_000}
    assert {model: known_window(model) for model in known} == known
    assert known_window("gpt") is None


def test_the_numbers_are_the_settings_defaults() -> None:
    """They are written out where parsing settings would be too dear."""
    settings, numbers = Settings(), Numbers()
    context = settings.context
    assert numbers.thresholds_pct == (
        context.economy_from_pct,
        context.handoff_from_pct,
        context.exit_from_pct,
    )
    assert numbers.refresh_after_s == settings.heartbeat.refresh_after_s
    assert numbers.beat_every_s == settings.conductor.beat_every_s
    assert numbers.window_tokens == context.window_tokens


def test_silence_needs_no_service(
    batch: Callable[..., Any], loaded_by: Callable[..., set[str]], transcript: Path, repository: Path
) -> None:
    """With the settings that `init` writes, an owner's batch costs as little as a stranger's (P4)."""
    (repository / ".musician" / "config.toml").write_text(render_defaults(), encoding="utf-8")
    loaded = loaded_by("PostToolBatch", session_id="sess-aaa", transcript_path=str(transcript))
    assert "musician.hooks.tool_batch" in loaded
    assert not loaded & {"dataclasses", "enum", "json", "pathlib", "re", "typing", "musician.service"}
