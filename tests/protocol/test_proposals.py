"""Proposals: who may do what, the file's form, names that stay in their folder (sources "Proposal System", D21)."""

import re
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.errors import BadField, BadId, NotConductor, ProposalDecided, UnreadableMessage
from musician.protocol.names import CONDUCTOR
from musician.protocol.proposals import (
    MOST_SLUG_CHARS,
    MOST_TEXT_CHARS,
    MOST_TITLE_CHARS,
    TABLE,
    Act,
    Draft,
    Proposal,
    ProposalType,
    Status,
    check_may,
    file_name,
    merged,
    next_status,
    parse_type,
    read_draft,
    slug,
)
from musician.protocol.transitions import Actor

B18 = [
    "it's done",
    "'); UPDATE orchestration_tasks SET state='complete' WHERE ('1'='1",
    "$(touch cases-out/PWNED) `touch cases-out/PWNED`",
    "-- trailing comment",
    "ends with a backslash \\",
    "%s %d {0} {task_id} :name ?1 @p",
]
B43 = [
    "../../outside",
    "..",
    "/etc/x",
    "task-03\\..\\x",
    "%2e%2e%2fx",
    "-rf",
    "task-03\\n",
    "a" * 199,
    "CON",
    "日本",
]


def proposal(**changes: object) -> Proposal:
    values: dict[str, object] = {
        "type": ProposalType.ANTI_PATTERN,
        "title": "Parser rewrite",
        "why": "It cost six times the context.",
        "body": "Do not rewrite the parser.",
        "task_id": "task-03",
        "session_id": "s1",
        "date": "2026-02-07",
    }
    return Proposal(**{**values, **changes})  # type: ignore[arg-type]


texts = st.text(st.characters(codec="utf-8"))
awkward = st.lists(
    st.sampled_from(["## What", "## Why", "\\## What", "\\\\## What", "---", "", "\r", "# x", " ", "a"])
    | texts.filter(lambda text: "\n" not in text),
    max_size=8,
).map("\n".join)
titles = texts.map(
    lambda text: re.sub(r"[\x00-\x1f\x7f]", "", text).strip()[:MOST_TITLE_CHARS].strip()
).filter(bool)


@given(
    kind=st.sampled_from(ProposalType),
    title=titles,
    why=awkward | texts,
    body=(awkward | texts).filter(lambda text: bool(text.strip())),
    decided=st.none()
    | st.tuples(st.sampled_from([Status.ACCEPTED, Status.MERGED, Status.REJECTED]), texts.filter(bool)),
)
def test_a_file_is_read_back_exactly(
    kind: ProposalType, title: str, why: str, body: str, decided: tuple[Status, str] | None
) -> None:
    """B18, whatever the texts hold."""
    status, outcome = decided or (Status.OPEN, "")
    made = proposal(type=kind, title=title, why=why, body=body, status=status, outcome=outcome)
    assert Proposal.parse(made.render()) == made
    assert Proposal.parse(made.render()).render() == made.render()
    draft = read_draft(made.render())
    assert draft == Draft(type=kind, title=title, why=why, body=body)


@pytest.mark.parametrize("body", [*B18, "x" * MOST_TEXT_CHARS])
def test_b18_a_body_comes_back_byte_for_byte(body: str) -> None:
    made = proposal(title="x", why="", body=body)
    assert Proposal.parse(made.render()).body == body


def test_a_file_reads_like_this() -> None:
    assert proposal(status=Status.REJECTED, outcome='said "no"\ntwice').render() == (
        "---\n"
        'title: "Parser rewrite"\n'
        "type: ANTI_PATTERN\n"
        "task: task-03\n"
        "session: s1\n"
        "date: 2026-02-07\n"
        "status: rejected\n"
        'outcome: "said \\"no\\"\\ntwice"\n'
        "---\n"
        "# Parser rewrite\n\n"
        "## Why\n\nIt cost six times the context.\n\n"
        "## What\n\nDo not rewrite the parser.\n"
    )
    assert "Why" not in proposal(why="").render()


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_file_that_a_person_wrote_is_read(line_end: str, mark: str) -> None:
    text = "\n".join(
        [
            "---",
            "# a remark",
            "title:  'It''s ours'  ",
            "type: anti-pattern",
            "",
            "---",
            "Prose that nobody asked for.",
            "## Why",
            "Because.",
            "## What",
            "",
            "",
            "Never.",
        ]
    )
    found = read_draft(mark + text.replace("\n", line_end))
    assert found == Draft(type=ProposalType.ANTI_PATTERN, title="It's ours", why="Because.", body="Never.")


def test_a_file_without_the_two_headings_is_all_what() -> None:
    head = "---\ntitle: x\ntype: RAG\n---\n"
    for text in ("# x\n\nAll of it.\n", "All of it.", "\n\nAll of it.\n\n"):
        assert read_draft(head + text) == Draft(type=ProposalType.RAG, title="x", body="All of it.")
    only_what = read_draft(head + "## What\nThis.\n")
    assert only_what is not None
    assert (only_what.body, only_what.why) == ("This.", "")


def test_a_text_without_front_matter_is_no_file() -> None:
    assert read_draft("use fixtures\n---\n") is None
    assert read_draft("") is None


@pytest.mark.parametrize(
    ("text", "field", "line"),
    [
        ("---\ntitle: x\n", "front matter", 1),
        ("", "front matter", 1),
        ("---\njust words\n---\nx", "just words", 2),
        ('---\ntype: RAG\ntitle: "x\n---\nx', "title", 3),
        ("---\ntype: RAG\n---\nx", "title", 1),
        ("---\ntype: RAG\ntitle:\n---\nx", "title", 3),
        (
            "---\ntype: RAG\ntitle: x\ntask: t\nsession: s\ndate: 2026-01-01\nstatus: lost\n---\nx",
            "status",
            7,
        ),
    ],
)
def test_a_file_that_cannot_be_read_names_the_line(text: str, field: str, line: int) -> None:
    with pytest.raises(UnreadableMessage) as caught:
        Proposal.parse(text)
    assert (caught.value.field, caught.value.line) == (field, line)


def test_a_file_without_a_status_is_open() -> None:
    text = "---\ntype: RAG\ntitle: x\ntask: t\nsession: s\ndate: 2026-01-01\n---\nx"
    assert Proposal.parse(text).status is Status.OPEN


@pytest.mark.parametrize(
    "changes",
    [
        {"title": ""},
        {"title": " x"},
        {"title": "a\nb"},
        {"title": "a" * (MOST_TITLE_CHARS + 1)},
        {"body": ""},
        {"body": " \n"},
        {"body": "\ud800"},
        {"why": "\ud800"},
        {"body": "x" * MOST_TEXT_CHARS, "why": "y"},
        {"date": "7.2.2026"},
        {"date": "٢٠٢٦-02-07"},
        {"status": Status.REJECTED},
        {"outcome": "why not"},
        {"status": Status.REJECTED, "outcome": "\ud800"},
    ],
)
def test_a_proposal_that_cannot_be_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(BadField):
        proposal(**changes)


def test_ids_in_a_proposal_are_ids() -> None:
    """B43."""
    for task_id in ("../x", "fallback-s1", ""):
        with pytest.raises(BadId):
            proposal(task_id=task_id)
    assert proposal(task_id=CONDUCTOR, session_id=CONDUCTOR).task_id == CONDUCTOR


@pytest.mark.parametrize("text", ["PATTERN", "pattern", " Pattern "])
def test_a_type_is_read_as_people_write_it(text: str) -> None:
    assert parse_type(text) is ProposalType.PATTERN
    assert parse_type("claude-md") is parse_type("Claude md") is ProposalType.CLAUDE_MD


def test_there_are_seven_types_and_nothing_else_is_one() -> None:
    assert list(ProposalType) == [
        "PATTERN",
        "ANTI_PATTERN",
        "MEMORY",
        "CLAUDE_MD",
        "RAG",
        "MEMORY_MCP",
        "DOCUMENTATION",
    ]
    with pytest.raises(BadField, match="DOCUMENTATION"):
        parse_type("IDEA")


@pytest.mark.parametrize("actor", [Actor.OWNER, Actor.CONDUCTOR])
@pytest.mark.parametrize("act", Act)
def test_a_musician_proposes_and_the_conductor_decides(act: Act, actor: Actor) -> None:
    """D21: a musician applies nobody's proposal, its own least of all."""
    if actor is Actor.CONDUCTOR or act is Act.PROPOSE:
        check_may(act, actor, session_id="s1")
        return
    with pytest.raises(NotConductor):
        check_may(act, actor, session_id="s1")


@pytest.mark.parametrize(("status", "act"), list(product(Status, [Act.ACCEPT, Act.MERGE, Act.REJECT])))
def test_a_proposal_is_decided_once(status: Status, act: Act) -> None:
    if status is Status.OPEN:
        assert (
            next_status(status, act, proposal_id=1)
            is {
                Act.ACCEPT: Status.ACCEPTED,
                Act.MERGE: Status.MERGED,
                Act.REJECT: Status.REJECTED,
            }[act]
        )
        return
    with pytest.raises(ProposalDecided) as caught:
        next_status(status, act, proposal_id=1)
    assert caught.value.status == status


def test_the_table_has_one_row_for_each_act_and_each_end() -> None:
    assert [rule.act for rule in TABLE] == [Act.PROPOSE, Act.ACCEPT, Act.MERGE, Act.REJECT]
    assert {rule.target for rule in TABLE} == set(Status)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Parser rewrite", "parser-rewrite"),
        ("  Café: don't — ever!  ", "cafe-dont-ever"),
        ("../../outside", "outside"),
        ("日本", "proposal"),
        ("x" * 90, "x" * MOST_SLUG_CHARS),
        ("a word " * 20, "a-word-" * 8 + "a"),
    ],
)
def test_a_name_is_made_of_the_title_s_words(title: str, name: str) -> None:
    assert slug(title) == name


@given(title=st.text() | st.sampled_from(B43))
def test_b43_no_title_makes_a_name_that_leaves_its_folder(title: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug(title))
    assert len(slug(title)) <= MOST_SLUG_CHARS
    assert re.fullmatch(r"2026-02-07-[a-z0-9-]+\.md", file_name("2026-02-07", title, ()))


def test_a_name_that_is_taken_gets_a_number() -> None:
    names: list[str] = []
    for _ in range(3):
        names.append(file_name("2026-02-07", "Parser rewrite", names))
    assert names == [
        "2026-02-07-parser-rewrite.md",
        "2026-02-07-parser-rewrite-2.md",
        "2026-02-07-parser-rewrite-3.md",
    ]


def test_merging_keeps_both_texts_and_names_the_source() -> None:
    other = proposal(
        type=ProposalType.MEMORY, title="Leave it", body="Leave\nit.", why="Time.", task_id="task-05"
    )
    both = merged(proposal(), other, "docs/x.md")
    assert both == replace(
        proposal(),
        body=(
            "Do not rewrite the parser.\n\n---\n\n"
            "Merged from `docs/x.md` (MEMORY, task-05): Leave it\n\nLeave\nit."
        ),
        why="It cost six times the context.\n\nTime.",
    )
    assert merged(proposal(), replace(other, why=" "), "y.md").why == proposal().why
    assert merged(proposal(), replace(other, why=proposal().why), "y.md").why == proposal().why
