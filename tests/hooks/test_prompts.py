"""A prompt calls for a musician, or wakes one: the claim is made before the model runs."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.hooks.prompt_expansion import MOST_STEP_CHARS
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.store.queries.plans import Plans
from musician.store.sqlite.store import SqliteStore
from tests.no_ids import ESCAPING, RESERVED
from tests.said import farewell

if TYPE_CHECKING:
    from tests.hooks.conftest import Answered, Hook

EXPANSION = "UserPromptExpansion"
BAD_IDS = [
    each for each in (*ESCAPING, *RESERVED, "a" * 65) if each != "task 03"
]  # a prompt means task-03 by it


def called(hook: "Hook", words: str, *, command: str = "musician:musician", **keys: object) -> "Answered":
    return hook(EXPANSION, command_name=command, command_args=words, prompt=f"/{command} {words}", **keys)


@pytest.mark.parametrize("words", ["task-03", "#3", "3", "  task-03 and mind the accents "])
def test_a_call_claims_and_hands_over_what_is_needed(
    hook: "Hook", store: SqliteStore, repository: Path, words: str
) -> None:
    """Instruction, tree, what is next with its text, and the call that begins it (D8.6)."""
    said = called(hook, words).context
    assert service.claims_of(store, "sess-aaa") == (Claim(task_id="task-03", session_id="sess-aaa", epoch=1),)
    view = service.task_view(store, "task-03")
    assert "task-03 is claimed: you are musician-task-03, claim 1." in said
    assert f"Instruction: {view.row.instruction_path}" in said
    assert f"Work only in: {repository / '.musician' / 'trees'}" in said
    assert "Done: 0, to do: 4." in said
    assert "Next is step 1: Write it (`step` 1 start, play it, `step` 1 done)" in said
    assert "Write `greet(name)` into greeter.py." in said
    assert len(said) < 700
    assert view.unread == 0, "the instruction is handed over, and so need not be read again"
    assert (view.client is not None, [row.kind for row in view.journal]) == (True, ["claimed", "loaded"])


def test_in_plan_mode_nothing_is_claimed_and_the_way_out_is_named(hook: "Hook", store: SqliteStore) -> None:
    """AUDIT-C7: every tool would be refused to the session."""
    said = called(hook, "task-03", permission_mode="plan").context
    assert said.startswith("NOT CLAIMED")
    assert "leave plan mode" in said
    assert service.task_row(store, "task-03").session_id is None
    assert "is claimed" in called(hook, "task-03", permission_mode="default").context
    assert "yours already" in called(hook, "task-03", permission_mode="plan").context


def test_called_twice_it_is_claimed_once(hook: "Hook", store: SqliteStore) -> None:
    """As where the hook is registered twice (D2.3)."""
    called(hook, "task-03")
    before = service.history_of(store, "task-03"), service.messages_of(store, "task-03")
    again = called(hook, "", command="musician").context
    assert "task-03 is yours already: you are musician-task-03, claim 1." in again
    assert (service.history_of(store, "task-03"), service.messages_of(store, "task-03")) == before


def test_a_call_while_the_plan_is_paused_names_no_step_to_play(hook: "Hook", store: SqliteStore) -> None:
    called(hook, "task-03")
    (plan,) = service.all_plans(store)
    service.pause_plan(store, plan.plan_id, who="ada", reason="lunch")
    again = called(hook, "task-03").context
    assert f"Not yet: plan {plan.plan_id} is paused by ada since " in again
    assert "End your turn; play nothing" in again
    assert "Next is" not in again
    service.resume_plan(store, plan.plan_id, who="ada")
    assert "Next is step 1" in called(hook, "task-03").context


def test_a_blocked_call_says_who_owns_it_and_that_the_session_may_end(
    hook: "Hook", store: SqliteStore, claim: Claim
) -> None:
    """With the fallback row, which lets the Stop hook allow that (S-CLAIM-6, D9.1)."""
    said = called(hook, "task-03", session_id="sess-bbb").context
    assert said.startswith("NOT CLAIMED: task-03 cannot be claimed (working)")
    assert "This session may end" in said
    assert service.task_row(store, "fallback-sess-bbb").state is State.EXITED
    assert service.task_row(store, "task-03").session_id == "sess-aaa"
    assert service.client_of(store, "sess-bbb") is None


@pytest.mark.parametrize("words", BAD_IDS)
def test_b43_a_bad_id_is_told_and_nothing_is_touched(
    hook: "Hook", store: SqliteStore, repository: Path, words: str
) -> None:
    """Refused before a write (B43)."""
    before = sorted(repository.rglob("*")), store.connection.pragma("data_version")
    assert called(hook, words).context.startswith("NOT CLAIMED: ")
    assert (sorted(repository.rglob("*")), store.connection.pragma("data_version")) == before


@pytest.mark.parametrize(
    ("words", "says"), [("", "Open tasks: task-03, task-04"), ("task-99", "no task 'task-99'")]
)
def test_a_call_that_names_no_task_here_leaves_no_trace(
    hook: "Hook", store: SqliteStore, words: str, says: str
) -> None:
    """A launch that names none is not guessed at (S-BOOT-2)."""
    before = store.connection.pragma("data_version")
    assert says in called(hook, words).context
    assert store.connection.pragma("data_version") == before


@pytest.mark.parametrize("command", ["commit", "musician-like", "other:review", ""])
def test_another_command_is_none_of_ours(hook: "Hook", store: SqliteStore, command: str) -> None:
    assert called(hook, "task-03", command=command).document is None
    assert service.task_row(store, "task-03").state is State.WATCHING


def test_a_call_without_a_database_is_told_how_to_make_one(hook: "Hook", repository: Path) -> None:
    said = called(hook, "task-03").context
    assert f"no database at {repository / '.musician' / 'comms.db'}" in said
    assert "`musician init`" in said
    assert not (repository / ".musician").exists()


def test_a_successor_is_told_what_was_left_and_what_was_said(
    hook: "Hook", store: SqliteStore, claim: Claim
) -> None:
    """In one line, with pointers to the rest (D20.1)."""
    service.record(store, claim, Entry(kind=EntryKind.COMPLETED, item="step 1"))
    service.exit_task(store, claim, farewell("context", path="temp/task-03-HANDOFF"), handoff="next")
    service.reopen(store, "task-03", "Read the HANDOFF.")
    said = called(hook, "task-03", session_id="sess-bbb").context
    assert "task-03 is claimed: you are musician-task-03-S2, claim 2." in said
    assert "You take over from session sess-aaa. HANDOFF: " in said
    assert "Verified anew: nothing approved yet; the tests of checkpoint 1: " in said
    assert "(handoff) from the conductor: read with `inbox`" in said
    assert "(instruction)" not in said
    assert "Next is checkpoint 1: it greets (call `checkpoint`)" in said


def test_a_long_step_is_cut_and_says_so(hook: "Hook", store: SqliteStore, repository: Path) -> None:
    path = repository / str(service.task_row(store, "task-03").instruction_path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("into greeter.py", "into greeter.py " + "é" * 9000), encoding="utf-8")
    said = called(hook, "task-03").context
    assert "(cut; the instruction has all of it)" in said
    assert len(said) < MOST_STEP_CHARS + 700


def test_a_wake_up_is_given_its_authority_by_the_database(
    hook: "Hook", store: SqliteStore, claim: Claim
) -> None:
    """State and pointers, each message once; a person's prompt gets nothing (D12.2)."""
    note = service.send(store, "task-03", "mind the accents")
    woken = "<task-notification>\nmessage for task-03\n</task-notification>"
    assert hook("UserPromptSubmit", prompt="hello").document is None
    assert hook("UserPromptSubmit", prompt="what is a <task-notification>?").document is None
    said = hook("UserPromptSubmit", prompt=woken).context
    assert said.startswith("task-03 is working: go on with it")
    assert f"{note} (note)" in said
    assert hook("UserPromptSubmit", prompt=woken).context == "task-03 is working: go on with it"
    service.request_exit(store, "task-03", "leave", urgent=False)
    assert "call `handoff`" in hook("UserPromptSubmit", prompt=woken).context


def test_a_hook_of_its_own_process_claims(hook_process: "Hook", store: SqliteStore) -> None:
    """From the boot file's two folders alone, in a path with spaces and signs (B09)."""
    said = called(hook_process, "task-04").context
    assert "task-04 is claimed" in said
    assert [each.task_id for each in service.claims_of(store, "sess-aaa")] == ["task-04"]


def test_settings_that_are_wrong_are_told_before_anything_is_claimed(
    hook: "Hook", store: SqliteStore, repository: Path
) -> None:
    (repository / ".musician" / "config.toml").write_text("[time]\nstep = 1\n", encoding="utf-8")
    assert "setting time.step" in called(hook, "task-03").context
    assert service.task_row(store, "task-03").state is State.WATCHING


def test_defaults_stand_where_the_database_alone_is_named(
    hook: "Hook", store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MUSICIAN_DB wins; outside of a repository there is no tree to play in."""
    monkeypatch.setenv("MUSICIAN_DB", str(store.path))
    monkeypatch.chdir(tmp_path)
    assert "not in a git repository" in called(hook, "task-03").context
    assert service.claim(store, "task-03", "sess-bbb", settings=Settings()).is_new


def test_a_session_that_is_opened_by_hand_is_told_where_its_rules_are_not_the_skills(
    hook: "Hook", store: SqliteStore, repository: Path
) -> None:
    """PROMPTS-BY-HAND: by the settings that are in force for its task; of the defaults the skill tells."""
    plan = service.current_plans(store)[0]
    text = '[prompts]\ntest_first = false\nstyle = "Answer in French."\n'
    with store.write() as tx:
        tx.run(Plans.keep_settings, plan_id=plan.plan_id, text=text)
    told = called(hook, "task-03").context
    assert "How to play it: Tests need not be written first. Answer in French." in told
    with store.write() as tx:
        tx.run(Plans.keep_settings, plan_id=plan.plan_id, text="")
    assert "How to play it" not in called(hook, "task-03").context
