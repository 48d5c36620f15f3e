"""Proposals as people and agents meet them: commands, files, tags (sources "Proposal System", D21, D25)."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from musician import service
from musician.processes.identity import login_name
from musician.protocol.landing import LANDS, render_page, render_section
from musician.protocol.proposals import Draft, Proposal, ProposalType, read_draft
from musician.runtime.proposing import Desk
from musician.store.opening import open_store
from musician.testing.waiting import HANG_S
from tests.surroundings import Call

BODIES = [
    "it's done",
    "'); UPDATE orchestration_tasks SET state='complete' WHERE ('1'='1",
    "$(touch cases-out/PWNED) `touch cases-out/PWNED`",
    "-- trailing comment",
    "ends with a backslash \\",
    "%s %d {0} {task_id} :name ?1 @p",
    " \t leading and trailing \r\n\n",
    "## Why\n\n## What\n\n---\n",
    "naïve — 日本語 🎼 \u2028 \x1b[31m",
]
FOLDER = Path("docs/implementation/proposals")


@pytest.fixture
def conductor(claimed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Session s1 holds task-01, and we are not it."""
    monkeypatch.delenv("MUSICIAN_SESSION")
    return claimed


def propose(call: Call, *options: str, text: str = "In every test.", session: str = "s1", **more: str) -> Any:
    values = {"type": "PATTERN", "title": "Use fixtures", **more}
    named = [word for name, value in values.items() for word in (f"--{name}", value)]
    return call("propose", "1", "--session", session, *named, *options, "--json", "--", text).json


def kinds(folder: Path) -> set[str]:
    """What git sees of what we did."""
    done = subprocess.run(
        ["git", "status", "--short", "-uall"], cwd=folder, capture_output=True, text=True, check=True
    )
    ours = (str(FOLDER), "docs/implementation/reports")
    return {line for line in done.stdout.splitlines() if not line[3:].startswith(ours)}


def test_a_musician_proposes_and_the_file_is_there(claimed: Path, call: Call) -> None:
    done = call(
        "propose", "1", "--type", "anti-pattern", "--title", "Parser rewrite", "--why", "Dear.", "Don't."
    )
    name = done.out.strip().rpartition(" ")[2]
    assert done.out.startswith("task-01: proposal 1 is open, in docs/implementation/proposals/2")
    assert name.endswith("-parser-rewrite.md")
    found = Proposal.parse((claimed / name).read_text())
    assert (found.type, found.title, found.why, found.body) == (
        "ANTI_PATTERN",
        "Parser rewrite",
        "Dear.",
        "Don't.",
    )
    assert (found.task_id, found.session_id, found.status) == ("task-01", "s1", "open")
    status = (claimed / "temp" / "task-01-status").read_text()
    assert f"proposal created: {name} (ANTI_PATTERN)\n" in status


@pytest.mark.parametrize("body", BODIES)
def test_b18_a_body_comes_back_byte_for_byte(conductor: Path, call: Call, body: str) -> None:
    made = propose(call, text=body, why=body)
    shown = call("proposals", "show", str(made["id"]), "--json").json
    assert (shown["body"], shown["why"]) == (body, body)
    found = Proposal.parse((conductor / made["path"]).read_bytes().decode())
    assert (found.body, found.why) == (body, body)
    call("proposals", "accept", str(made["id"]))
    page = conductor / "docs/knowledge-base/patterns/use-fixtures.md"
    assert body in page.read_bytes().decode()
    assert not os.path.lexists(conductor / "cases-out")
    assert "\x1b" not in call("proposals", "show", str(made["id"])).out


@pytest.mark.parametrize(
    "title", ["../../outside", "/etc/x", "..", "task-03\\..\\x", "-rf", "CON", "%2e%2e%2fx", "日本"]
)
def test_b43_no_title_leaves_the_folder(conductor: Path, call: Call, title: str) -> None:
    before = {path for path in conductor.parent.rglob("*") if FOLDER.as_posix() not in str(path)}
    made = propose(call, title=title)
    assert Path(made["path"]).parent == FOLDER
    assert (conductor / made["path"]).is_file()
    changed = call("proposals", "accept", "1", "--json").json["changed"]
    assert Path(changed).parent == Path("docs/knowledge-base/patterns")
    after = {path for path in conductor.parent.rglob("*") if FOLDER.as_posix() not in str(path)}
    assert {path.relative_to(conductor).parts[0] for path in after - before} <= {"docs", ".musician"}


def test_a_file_that_is_there_is_never_overwritten(claimed: Path, call: Call) -> None:
    first = propose(call)
    mine = claimed / first["path"].replace(".md", "-2.md")
    mine.write_text("mine")
    assert propose(call, text="Another.")["path"].endswith("-3.md")
    assert mine.read_text() == "mine"


def test_a_whole_proposal_is_read_from_standard_input(claimed: Path, program: Call) -> None:
    template = (claimed / FOLDER / "TEMPLATE.md").read_bytes()
    made = program("propose", "1", "-", "--json", input=template).json
    assert (made["type"], made["title"]) == ("PATTERN", "Roll back instead of rebuilding the schema")
    shown = program("proposals", "show", "1", "--json").json
    assert shown["why"].startswith("Why it is worth keeping")
    assert shown["body"].startswith("What to do")
    other = program("propose", "1", "-", "--type", "RAG", "--why", "So.", "--json", input=template).json
    assert other["type"] == "RAG"
    assert program("proposals", "show", "2", "--json").json["why"] == "So."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["text"], "give --type and --title"),
        (["--type", "RAG", "text"], "give --type and --title"),
        (["--type", "IDEA", "--title", "x", "text"], "use one of PATTERN"),
        (["--type", "RAG", "--title", " ", "text"], "title cannot be ''"),
        (["--type", "RAG", "--title", "a\nb", "text"], "use one line"),
        (["--type", "RAG", "--title", "x" * 201, "text"], "at most 200"),
        (["--type", "RAG", "--title", "x", " "], "say something"),
        (["--", "---\ntitle: x\n---\ny"], "type: the front matter does not say it"),
    ],
)
def test_what_cannot_be_proposed_is_refused(claimed: Path, call: Call, words: list[str], said: str) -> None:
    done = call("propose", "1", *words, expect=2)
    assert said in done.err
    assert done.err.count("\n") == 1
    assert sorted(path.name for path in (claimed / FOLDER).iterdir()) == ["README.md", "TEMPLATE.md"]


def test_only_the_owner_proposes(claimed: Path, call: Call) -> None:
    propose_by = ["propose", "1", "--type", "RAG", "--title", "x", "text", "--session"]
    call(*propose_by, "s2", expect=4)
    call("exit", "1")
    call(*propose_by, "s1", expect=4)
    assert call("proposals", "list", "--json").json == {"proposals": []}


@pytest.mark.parametrize(
    "words", [["accept", "1"], ["reject", "1", "no"], ["merge", "1", "2"]], ids=lambda words: words[0]
)
def test_a_musician_decides_on_nothing(claimed: Path, call: Call, words: list[str]) -> None:
    """D21: whoever has a session's id, as every agent that is launched has."""
    propose(call, type="MEMORY")
    propose(call, title="Another")
    before = kinds(claimed)
    assert "is a musician's and may not" in call("proposals", *words, expect=4).err
    call("proposals", *words, "--session", "../x", expect=2)
    assert kinds(claimed) == before
    assert len(call("proposals", "list", "--json").json["proposals"]) == 2


@pytest.mark.parametrize("kind", ProposalType)
def test_what_is_accepted_lands_where_its_type_belongs(
    conductor: Path, call: Call, kind: ProposalType
) -> None:
    made = propose(call, type=kind, why="Because.")
    before = kinds(conductor)
    done = call("proposals", "accept", "1")
    place = LANDS[kind]
    path = place.path if place.is_section else f"{place.path}/use-fixtures.md"
    assert f"{path} has it now; look at it and commit it" in done.out
    assert kinds(conductor) - before == {f"?? {path}"}
    written = Proposal.parse((conductor / made["path"]).read_text())
    assert (written.status, written.outcome) == ("accepted", path)
    render = render_section if place.is_section else render_page
    assert (conductor / path).read_text() == render(written, made["path"])
    assert ("nothing here speaks to" in done.out) is (kind in ("RAG", "MEMORY_MCP"))


def test_facts_for_the_memory_graph_stay_json(conductor: Path, call: Call) -> None:
    propose(call, type="MEMORY_MCP", text='{"entities": []}')
    assert call("proposals", "accept", "1", "--json").json["changed"].endswith("memory-mcp/use-fixtures.json")
    found = conductor / "docs/knowledge-base/memory-mcp/use-fixtures.json"
    assert found.read_text() == '{"entities": []}'


def test_a_second_acceptance_is_refused_and_adds_nothing(conductor: Path, call: Call) -> None:
    propose(call, type="MEMORY")
    call("proposals", "accept", "1")
    text = (conductor / "MEMORY.md").read_text()
    assert "proposal 1 is accepted already" in call("proposals", "accept", "1", expect=4).err
    assert (conductor / "MEMORY.md").read_text() == text
    call("proposals", "reject", "1", "no", expect=4)
    told = call("timeline", "--json").json["timeline"]
    assert [
        (each["text"].rpartition(": ")[2], each["by"]) for each in told if each["source"] == "decided"
    ] == [("MEMORY.md", login_name())]


@pytest.mark.parametrize(
    ("before", "gap"), [(b"# Memory\r\n\r\n- one", b"\r\n\r\n"), (b"\xef\xbb\xbf# M\n", b"\n"), (b"", b"")]
)
def test_a_section_is_added_at_the_end_and_nothing_else_changes(
    conductor: Path, call: Call, before: bytes, gap: bytes
) -> None:
    """Line ends, byte order mark and permissions stay as they were."""
    file = conductor / "MEMORY.md"
    file.write_bytes(before)
    file.chmod(0o640)
    propose(call, type="MEMORY", text="one\r\ntwo\nthree")
    call("proposals", "accept", "1")
    after = file.read_bytes()
    assert after.startswith(before + gap + b"## 2")
    lines = after[len(before) :].count(b"\n")
    assert after[len(before) :].count(b"\r\n") == (lines if b"\r\n" in before else 0)
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_user_s_usual_permissions(conductor: Path, call: Call) -> None:
    mask = os.umask(0o022)
    try:
        made = propose(call)
        call("proposals", "accept", "1")
    finally:
        os.umask(mask)
    page = conductor / "docs/knowledge-base/patterns/use-fixtures.md"
    assert {path.stat().st_mode & 0o777 for path in (page, conductor / made["path"])} == {0o644}


def test_a_link_to_a_file_of_the_project_stays_a_link(conductor: Path, call: Call) -> None:
    (conductor / "AGENTS.md").write_text("# Agents\n")
    (conductor / "CLAUDE.md").symlink_to("AGENTS.md")
    propose(call, type="CLAUDE_MD")
    call("proposals", "accept", "1")
    assert (conductor / "CLAUDE.md").is_symlink()
    assert "In every test." in (conductor / "AGENTS.md").read_text()


@pytest.mark.parametrize("kind", ["MEMORY", "PATTERN"])
def test_b43_nothing_is_written_outside_of_the_project(
    conductor: Path, tmp_path: Path, call: Call, kind: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "MEMORY.md").write_text("mine\n")
    (conductor / "MEMORY.md").symlink_to(outside / "MEMORY.md")
    (conductor / "docs" / "knowledge-base").symlink_to(outside)
    propose(call, type=kind)
    assert "leads out of the project" in call("proposals", "accept", "1", expect=2).err
    assert (outside / "MEMORY.md").read_text() == "mine\n"
    assert [path.name for path in outside.iterdir()] == ["MEMORY.md"]
    assert call("proposals", "show", "1", "--json").json["status"] == "open"


def test_a_file_that_is_no_text_is_left_alone(conductor: Path, call: Call) -> None:
    (conductor / "MEMORY.md").write_bytes(b"\xff\xfe")
    propose(call, type="MEMORY")
    assert "not UTF-8" in call("proposals", "accept", "1", expect=2).err
    assert (conductor / "MEMORY.md").read_bytes() == b"\xff\xfe"


def test_a_page_takes_nobody_s_place(conductor: Path, call: Call) -> None:
    folder = conductor / "docs/knowledge-base/patterns"
    folder.mkdir(parents=True)
    (folder / "use-fixtures.md").write_text("mine")
    (folder / "use-fixtures-2.md").mkdir()
    propose(call)
    assert call("proposals", "accept", "1", "--json").json["changed"].endswith("/use-fixtures-3.md")
    assert (folder / "use-fixtures.md").read_text() == "mine"


@pytest.mark.parametrize("kind", ["MEMORY", "PATTERN"])
def test_an_acceptance_killed_between_file_and_database_lands_once(
    conductor: Path, call: Call, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    propose(call, type=kind, text="one\r\ntwo")
    landed = Desk._land

    def killed(self: Desk, kept: Any) -> str:
        landed(self, kept)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Desk, "_land", killed)
        call("proposals", "accept", "1", expect=130)
    texts = {path: path.read_bytes() for path in (conductor / "docs/knowledge-base").rglob("*.md")}
    memory = (conductor / "MEMORY.md").read_bytes() if kind == "MEMORY" else b""
    assert memory or texts
    call("proposals", "accept", "1")
    assert {path: path.read_bytes() for path in (conductor / "docs/knowledge-base").rglob("*.md")} == texts
    assert memory == ((conductor / "MEMORY.md").read_bytes() if kind == "MEMORY" else b"")


def test_ten_acceptances_at_once_lose_no_section(
    conductor: Path, call: Call, command: tuple[str, ...]
) -> None:
    for number in range(10):
        propose(call, type="MEMORY", title=f"Lesson {number}")
    running = [
        subprocess.Popen([*command, "proposals", "accept", str(number)], stdout=subprocess.DEVNULL)
        for number in range(1, 11)
    ]
    assert [process.wait(timeout=HANG_S) for process in running] == [0] * 10
    text = (conductor / "MEMORY.md").read_text()
    assert sorted(line[-1] for line in text.splitlines() if line.startswith("## ")) == list("0123456789")


def test_a_rejection_keeps_its_reason(conductor: Path, call: Call) -> None:
    made = propose(call)
    call("proposals", "reject", "1", "it's known")
    assert Proposal.parse((conductor / made["path"]).read_text()).outcome == "it's known"
    assert call("proposals", "list", "--json").json == {"proposals": []}
    assert "there are no open proposals" in call("proposals", "list").out
    (found,) = call("proposals", "list", "--all", "--json").json["proposals"]
    assert (found["status"], found["outcome"]) == ("rejected", "it's known")
    assert "rejected" in call("proposals", "list", "--all").out


def test_near_duplicates_are_shown_and_merged(conductor: Path, call: Call) -> None:
    first = propose(call, title="Use fixtures in every test", why="Torn down.")
    second = propose(call, title="In every test, use fixtures", text="Really.")
    propose(call, title="Something else", text="Name the port in the settings.")
    listed = call("proposals", "list", "--json").json["proposals"]
    assert [[each["id"] for each in found["alike"]] for found in listed] == [[2], [1], []]
    assert "2 (100 %)" in call("proposals", "show", "1").out
    done = call("proposals", "merge", "2", "1", "--json").json
    assert (done["closed"]["status"], done["kept"]["status"]) == ("merged", "open")
    both = Proposal.parse((conductor / first["path"]).read_text())
    assert "In every test." in both.body
    assert f"Merged from `{second['path']}`" in both.body
    assert Proposal.parse((conductor / second["path"]).read_text()).outcome == first["path"]
    call("proposals", "accept", "1")
    assert "Really." in (conductor / "docs/knowledge-base/patterns/use-fixtures-in-every-test.md").read_text()


def test_a_file_that_somebody_edited_stays_as_it_is(conductor: Path, call: Call) -> None:
    made = propose(call)
    (conductor / made["path"]).write_text("my own words")
    call("proposals", "reject", "1", "no")
    assert (conductor / made["path"]).read_text() == "my own words"
    other = propose(call, text="Another.")
    (conductor / other["path"]).unlink()
    call("proposals", "accept", "2")
    assert Proposal.parse((conductor / other["path"]).read_text()).status == "accepted"


@pytest.mark.parametrize("words", [["show"], ["accept"], ["reject", "ID", "no"], ["merge", "ID", "8"]])
def test_an_unknown_proposal_ends_with_3(ready: Path, call: Call, words: list[str]) -> None:
    """B18: and what is no number is no proposal."""
    named = words if "ID" in words else [*words, "ID"]
    assert (
        "musician: no proposal " in call("proposals", *[w if w != "ID" else "7" for w in named], expect=3).err
    )
    for value in ("0", "1 OR 1=1", "../x", ""):
        call("proposals", *[w if w != "ID" else value for w in named], expect=2)


def test_the_next_submission_will_name_them(claimed: Path, call: Call) -> None:
    made = propose(call)
    with_store = open_store(claimed / ".musician" / "comms.db", named=True, busy_timeout_s=5)
    assert service.unsubmitted_proposals(with_store, "task-01") == (made["path"],)
    with_store.close()


def test_init_installs_a_guide_and_a_template(ready: Path) -> None:
    """Sources "Proposal System": naming, WHY and not just WHAT, anti-patterns as valuable as patterns."""
    guide = (ready / FOLDER / "README.md").read_text()
    for kind in ProposalType:
        assert guide.count(f"| `{kind}` |") == 2
        assert f"`{LANDS[kind].path}" in guide
    for said in ("YYYY-MM-DD-brief-description.md", "WHY and not only WHAT", "as valuable as patterns"):
        assert said in guide
    draft = read_draft((ready / FOLDER / "TEMPLATE.md").read_text())
    assert isinstance(draft, Draft)
    assert draft.why.startswith("Why it is worth keeping")


PROPOSING_PLAN = """\
---
plan: proposing
test: "true"
---
# Proposing

## Phase 1: Only

### task-01: Find things out
#### Step 1: Work
```bash run
mkdir -p notes
printf 'It fails.\\n\\nEvery time: $x.\\n' > notes/x.md
printf -- '---\\ntitle: y\\ntype: RAG\\n---\\n## Why\\nBecause.\\n## What\\nThat.\\n' > notes/y.md
echo "::proposal PATTERN Use fixtures"
echo "::proposal ANTI_PATTERN Parser rewrite | notes/x.md"
echo "::proposal RAG Whole | notes/y.md"
echo "::proposal MEMORY Escape | ../../../../../outside.md"
echo "::proposal MEMORY Missing | notes/z.md"
"$MUSICIAN" propose "$MUSICIAN_TASK" --type MEMORY --title "By the command" "In a step." > /dev/null
"$MUSICIAN" proposals accept 1 2> notes/refused.txt || echo "::deviation Low acceptance ended with $?"
```
"""


def test_a_step_proposes_by_a_line_of_its_output(
    repository: Path, tmp_path: Path, call: Call, program: Call
) -> None:
    """Five tags: three proposals, two notes that say why not; and the command, from within the step."""
    (tmp_path / "outside.md").write_text("secret")
    wrapper = tmp_path / "musician"
    wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m musician "$@"\n')
    wrapper.chmod(0o755)
    (repository / "PLAN.md").write_text(PROPOSING_PLAN)
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qam", "plan"], check=True)
    call("init")
    done = program("run", "PLAN.md", env={**os.environ, "MUSICIAN": str(wrapper)})
    assert done.code == 0, (done.out, done.err)
    found = call("proposals", "list", "--json").json["proposals"]
    assert [(each["type"], each["title"]) for each in found] == [
        ("PATTERN", "Use fixtures"),
        ("ANTI_PATTERN", "Parser rewrite"),
        ("RAG", "Whole"),
        ("MEMORY", "By the command"),
    ]
    shown = [call("proposals", "show", str(each["id"]), "--json").json for each in found]
    assert [each["body"] for each in shown] == [
        "Use fixtures",
        "It fails.\n\nEvery time: $x.\n",
        "That.",
        "In a step.",
    ]
    assert shown[2]["why"] == "Because."
    status = (repository / "temp" / "task-01-status").read_text()
    assert "proposal 'Escape' not kept: path cannot be" in status
    assert "proposal 'Missing' not kept: path cannot be" in status
    assert "acceptance ended with 4" in status
    assert "secret" not in status
