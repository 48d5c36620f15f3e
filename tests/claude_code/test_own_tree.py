"""A musician writes in its own tree, wherever its client stands; what happens beside it is told (D43)."""

import sys
from typing import TYPE_CHECKING

from musician import service
from musician.protocol.journal import EntryKind
from musician.protocol.rules.deviations import Severity
from musician.testing import Part, PrintClient, Received, Reply, say, use

if TYPE_CHECKING:
    from tests.claude_code.conftest import Hall

PROMPT = "/musician task-03"


def deviations(hall: "Hall") -> list[tuple[str | None, str]]:
    with hall.opened() as store:
        rows = service.journal_of(store, "task-03")
    return [(row.severity, row.text) for row in rows if row.kind == EntryKind.DEVIATION]


def test_the_users_main_tree_is_written_by_no_tool_and_no_command(hall: "Hall") -> None:
    """AUDIT-K4, D43.1: his uncommitted line stays his; what a program does there all the same is told at once."""
    mine = hall.root / "test_hours.py"
    text = mine.read_text() + "# a line of mine, not committed\n"
    mine.write_text(text)
    sneaky = hall.folder / "sneaky.py"
    sneaky.write_text("import sys; open(sys.argv[1] + '/hours.py', 'w').write('# from elsewhere')\n")

    def was_refused(received: Received) -> None:
        (answer,) = received.answers
        assert answer.is_error, answer.text
        assert "outside" in answer.text
        assert mine.read_text() == text

    def then(*calls: Reply) -> list[object]:
        def after(call: Reply):  # type: ignore[no-untyped-def]
            def act(received: Received) -> Reply:
                was_refused(received)
                return call

            return act

        return [calls[0], *(after(call) for call in calls[1:])]

    part = Part(
        hall.tool("step", n=1, act="start"),
        use("Read", file_path=str(mine)),
        *then(
            use("Edit", file_path=str(mine), old_string="mine", new_string="yours"),
            use("Write", file_path=str(hall.root / "new.py"), content="x = 1\n"),
            use("Bash", command=f"echo x >> '{mine}'"),
            use("Bash", command=f"sed -i s/mine/yours/ '{mine}'"),
            use("Bash", command=f"rm '{mine}'"),
            use("Bash", command=f"git -C '{hall.root}' commit -aqm stolen"),
            use("Bash", command=f"'{sys.executable}' '{sneaky}' '{hall.root}'"),
        ),  # type: ignore[arg-type]
        hall.write(hall.right),
        hall.tool("step", n=1, act="done"),
        hall.tool("handoff", reason="enough"),
        say("Done."),
    )
    head = hall.git("rev-parse", "HEAD")
    _, home = hall.played(part)
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        client.end()
    assert part.is_over, hall.told()
    assert (mine.read_text(), hall.git("rev-parse", "HEAD")) == (text, head)
    ((severity, said),) = deviations(hall)
    assert severity == Severity.HIGH
    assert "hours.py" in said
    assert "If that was you" in hall.messages()


def test_a_session_that_is_continued_is_told_first_where_its_tree_is(hall: "Hall") -> None:
    """AUDIT-K5, D43.2, D43.3: it stands in the main tree; a relative path there is refused, and a step that changed
    nothing has no commit, and is held against the submission."""

    def told(received: Received) -> Reply:
        before, found, after = received.news_text.partition(f"Work only in: {hall.tree}")
        assert found
        assert "You are" not in before
        assert "You are" in after
        return use("Bash", command="echo 'x = 1' > hours.py")

    def refused(received: Received) -> Reply:
        (answer,) = received.answers
        assert "outside" in answer.text
        return hall.tool("step", n=1, act="done")

    def nothing(received: Received) -> Reply:
        (answer,) = received.answers
        assert f"nothing changed in {hall.tree}" in answer.text
        return hall.tool("handoff", reason="enough")

    part = Part(
        hall.tool("step", n=1, act="start"), use("Bash", command=f"touch '{hall.folder}/here'; sleep 600")
    )
    rest = Part(told, refused, nothing, say("Done."))
    model, home = hall.played(lambda received: part(received) if not part.is_over else rest(received))
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        hall.wait((hall.folder / "here").exists)
        client.kill()
    resume = ("--resume", str(model.main[0].session_id))
    with PrintClient(home, hall.root, "go on", plugins=[hall.plugin], arguments=resume) as client:
        client.end()
    assert rest.is_over, hall.told()
    assert not (hall.root / "hours.py").exists()
    assert deviations(hall) == [(Severity.LOW, "step 1 changed nothing in its tree")]
    with hall.opened() as store:
        (done,) = (row for row in service.journal_of(store, "task-03") if row.kind == EntryKind.COMPLETED)
    assert done.commit_id is None
