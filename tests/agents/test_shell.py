"""The shell agent plays real scripts."""

import re
from functools import partial
from pathlib import Path

import anyio
import pytest

from musician.agents.hearing import MAX_TAIL_LINES, kept
from musician.agents.port import AgentEvent, Piece, PieceKind, Stage, ToolCall
from musician.agents.shell import MAX_FEEDBACK_BYTES, ShellAgent
from musician.processes.identity import ProcessIdentity, is_running
from musician.processes.redaction import Redactor
from musician.processes.transcript import Transcript
from musician.protocol.musician.inputs import (
    ContextTold,
    DeviationTold,
    PartialTold,
    PieceEnded,
    PieceEnding,
    QuestionTold,
    SelfCorrectionTold,
)
from musician.protocol.rules.deviations import Severity
from musician.testing.waiting import HANG_S, until
from tests.transcripts import events, text_of


def ended(ending: PieceEnding, detail: str = "") -> PieceEnded:
    return PieceEnded(item="step 2", ending=ending, detail=detail)


class Theatre:
    """A tree, a log beside it, and everything the agent told."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "my tree (é) $x"
        self.tree.mkdir()
        self.transcript = folder / "logs" / "1.jsonl"
        self.events: list[AgentEvent] = []
        self.processes: list[ProcessIdentity] = []
        self.heard = anyio.Event()

    async def play(
        self,
        *scripts: str,
        kind: PieceKind = PieceKind.STEP,
        feedback: str = "",
        env: dict[str, str] | None = None,
        time_limit_s: float = HANG_S,
    ) -> PieceEnded:
        piece = Piece(
            kind=kind,
            task_id="task-01",
            item="step 2",
            title="Write it",
            prose="",
            scripts=scripts,
            feedback=feedback,
            time_limit_s=time_limit_s,
        )
        stage = Stage(tree=self.tree, env=env or {}, on_process=self._on_process, may=self._may)
        with Transcript(self.transcript, Redactor({})) as transcript:
            async with ShellAgent().open(stage) as session:
                return await session.play(piece, kept(transcript, piece, self._on_event))

    @property
    def said(self) -> str:
        return text_of(self.transcript)

    def perform(self, *scripts: str, **how: object) -> PieceEnded:
        return anyio.run(partial(self.play, *scripts, **how))  # type: ignore[arg-type]

    def tail(self, script: str, **how: object) -> str:
        """The end of what a subagent's piece prints, and tells its musician."""
        told = self.perform(script, kind=PieceKind.AGENT, **how)
        assert told.ending is PieceEnding.DONE
        return told.detail

    async def _may(self, call: ToolCall) -> str:
        raise AssertionError(f"a script asks for nothing: {call}")

    async def _on_process(self, identity: ProcessIdentity) -> None:
        assert is_running(identity)
        self.processes.append(identity)

    async def _on_event(self, event: AgentEvent) -> None:
        self.events.append(event)
        self.heard.set()


@pytest.fixture
def theatre(tmp_path: Path) -> Theatre:
    return Theatre(tmp_path)


def test_blocks_are_run_in_order_in_the_tree_each_by_its_own_bash(theatre: Theatre) -> None:
    outcome = theatre.perform("x=1; pwd > one", 'echo "${x-unset} $(cat one)" > two')
    assert outcome == ended(PieceEnding.DONE)
    assert (theatre.tree / "two").read_text() == f"unset {theatre.tree}\n"
    assert len(theatre.processes) == 2
    until(lambda: not any(is_running(identity) for identity in theatre.processes))


def test_the_first_failing_block_ends_the_piece_with_its_last_words(theatre: Theatre) -> None:
    outcome = theatre.perform("true", "echo so\necho it failed\necho ::context 12%\nexit 3", "touch never")
    assert outcome.ending is PieceEnding.FAILED
    assert outcome.detail == "block 2 ended with exit code 3: it failed"
    assert not (theatre.tree / "never").exists()


def test_a_silent_failure_has_no_last_words_of_another_block(theatre: Theatre) -> None:
    outcome = theatre.perform("echo words", "false")
    assert outcome.detail == "block 2 ended with exit code 1"


@pytest.mark.parametrize("script", ["false\ntouch never", "echo $no_such_variable\ntouch never"])
def test_a_failing_command_and_an_unset_variable_end_a_block(theatre: Theatre, script: str) -> None:
    assert theatre.perform(script).ending is PieceEnding.FAILED
    assert not (theatre.tree / "never").exists()


def test_an_error_message_names_the_block_and_its_line(theatre: Theatre) -> None:
    outcome = theatre.perform("true\nno-such-program")
    assert re.search(
        r"exit code 127: .*/block-1\.sh: line 2: no-such-program: command not found", outcome.detail
    )


def test_a_script_may_be_longer_than_an_argument(theatre: Theatre) -> None:
    assert theatre.tail(f"{': filler é' * 40_000}\necho end") == "end"


@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        (PieceKind.STEP, "the plan has no `run` block for it"),
        (PieceKind.AGENT, "the plan has no `run` block for it"),
        (PieceKind.REWORK, "the plan has no `rework` block for it"),
    ],
)
def test_a_piece_of_prose_alone_cannot_be_played(theatre: Theatre, kind: PieceKind, detail: str) -> None:
    assert theatre.perform(kind=kind) == ended(PieceEnding.UNPLAYABLE, detail)


def test_tags_are_told_in_order(theatre: Theatre) -> None:
    theatre.perform(
        "echo '::context 58%'; echo '::deviation Medium other way' >&2; echo ::self-correction again",
        "echo '::question which?'; printf '::partial no docs'",
    )
    assert theatre.events == [
        ContextTold(used_pct=58.0),
        DeviationTold(severity=Severity.MEDIUM, text="other way"),
        SelfCorrectionTold(text="again"),
        QuestionTold(text="which?"),
        PartialTold(text="no docs"),
    ]


def test_tags_are_told_while_the_block_runs_and_cancelling_ends_everything(theatre: Theatre) -> None:
    async def act() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(theatre.play, "echo ::context 5%\nsleep 300 & sleep 300"))
            with anyio.fail_after(HANG_S):
                await theatre.heard.wait()
            assert is_running(theatre.processes[0])
            group.cancel_scope.cancel()

    anyio.run(act)
    assert theatre.events == [ContextTold(used_pct=5.0)]
    assert not is_running(theatre.processes[0])


def test_a_malformed_tag_is_complained_of_in_the_log_and_an_admission_is_heard_all_the_same(
    theatre: Theatre,
) -> None:
    assert (
        theatre.perform("echo ::context lots; echo ::deviation Huge thing; printf end").ending
        is PieceEnding.DONE
    )
    assert theatre.events == [DeviationTold(severity=Severity.HIGH, text="Huge thing")]
    assert (
        "end'::context lots' is not understood: use 58%, 58.5% or 120000/200000\n"
        "'::deviation Huge thing' is not understood: the severity is Low, Medium or High\n" in theatre.said
    )


def test_complaints_are_bounded(theatre: Theatre) -> None:
    theatre.perform("for i in $(seq 200); do echo ::context $i; done")
    assert 0 < theatre.said.count("is not understood") < 50


def test_the_transcript_is_appended_to_with_a_prompt_per_piece(theatre: Theatre) -> None:
    theatre.perform("printf one")
    theatre.perform("printf '\\xff\\n'", "echo three")
    told = events(theatre.transcript)
    assert [each.seq for each in told] == [1, 2, 3, 4, 5]
    assert [each.said.get("text", each.said.get("title")) for each in told] == [
        *("Write it", "one", "Write it", "\N{REPLACEMENT CHARACTER}\n", "three\n")
    ]


def test_the_tail_is_the_last_lines_bounded_and_printable(theatre: Theatre) -> None:
    lines = theatre.tail("seq 1000; printf '\\tx\\x1b[31m%04000d\\n' 0").split("\n")
    assert len(lines) == MAX_TAIL_LINES
    assert lines[-2] == "1000"
    assert lines[-1].startswith("\tx␛[31m000")
    assert len(lines[-1]) < 500


def test_out_of_time_is_lost_and_nothing_runs_on(theatre: Theatre) -> None:
    limit_s = 0.5
    while not theatre.events:  # a busy machine may not come so far in so little time
        limit_s *= 2
        assert limit_s < HANG_S
        outcome = theatre.perform(
            "echo begun; echo ::context 5%; sleep 900", "touch never", time_limit_s=limit_s
        )
        assert outcome.ending is PieceEnding.LOST
        assert outcome.detail == f"block 1 ran out of time ({limit_s:g} s for the piece)"
    assert theatre.said.endswith("begun\n::context 5%\n")
    assert not (theatre.tree / "never").exists()
    assert not any(map(is_running, theatre.processes))


def test_the_time_limit_is_for_the_whole_piece(theatre: Theatre) -> None:
    outcome = theatre.perform("true", time_limit_s=0)
    assert outcome.ending is PieceEnding.LOST
    assert theatre.processes == []


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("KILL", PieceEnding.LOST, "was ended by SIGKILL"),
        ("TERM", PieceEnding.LOST, "was ended by SIGTERM"),
        ("SEGV", PieceEnding.FAILED, "ended with exit code 139"),
    ],
)
def test_a_block_that_was_killed_is_lost_one_that_crashes_fails(
    theatre: Theatre, name: str, kind: PieceEnding, words: str
) -> None:
    outcome = theatre.perform(f"ulimit -c 0; kill -{name} $$; sleep 300")
    assert outcome == ended(kind, f"block 1 {words}")


def test_scripts_that_cannot_be_written_are_lost(
    theatre: Theatre, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    outcome = theatre.perform("touch never")
    assert outcome.ending is PieceEnding.LOST
    assert "it could not be played" in outcome.detail
    assert not (theatre.tree / "never").exists()


def test_feedback_reaches_a_rework_block_and_a_step_may_name_it_too(theatre: Theatre) -> None:
    script = 'printf %s "$MUSICIAN_FEEDBACK" > text; cat "$MUSICIAN_FEEDBACK_FILE" > file'
    theatre.perform(script, kind=PieceKind.REWORK, feedback='it\'s "red"\n$x é\0')
    assert (theatre.tree / "text").read_text() == (theatre.tree / "file").read_text() == 'it\'s "red"\n$x é'
    assert theatre.perform(script).ending is PieceEnding.DONE
    assert (theatre.tree / "text").read_text() == (theatre.tree / "file").read_text() == ""


def test_feedback_of_any_size_is_whole_in_its_file(theatre: Theatre) -> None:
    script = 'printf %s "$MUSICIAN_FEEDBACK" > text; cat "$MUSICIAN_FEEDBACK_FILE" > file'
    feedback = "é" * 300_001
    assert theatre.perform(script, feedback=feedback).ending is PieceEnding.DONE
    assert (theatre.tree / "file").read_text() == feedback
    assert (theatre.tree / "text").read_text() == "é" * (MAX_FEEDBACK_BYTES // 2)


def test_the_environment_is_ours_and_the_stages_without_the_lease_and_no_input(
    theatre: Theatre, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "ours")
    monkeypatch.setenv("BOTH", "ours")
    monkeypatch.setenv("MUSICIAN_LEASE", "1")
    script = 'cat; echo "$OURS $BOTH $STAGE ${MUSICIAN_LEASE-none}"'
    assert theatre.tail(script, env={"BOTH": "stage", "STAGE": "stage"}) == "ours stage stage none"


def test_nothing_is_left_in_the_tree_or_the_temporary_folder(
    theatre: Theatre, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert theatre.tail("echo $0").startswith(f"{scratch}/")
    assert list(scratch.iterdir()) == list(theatre.tree.iterdir()) == []
