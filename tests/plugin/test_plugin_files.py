"""The plugin's files: what the skill says is what the program does, and all of it is shipped."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from musician import service
from musician.hooks.entry import EVENTS
from musician.hooks.stop import MONITOR
from musician.plugin.rendering import TEMPLATE
from musician.protocol.states import CLAIMABLE, State
from musician.protocol.transitions import TABLE
from musician.store.sqlite.store import SqliteStore

SKILL = TEMPLATE / "plugin" / "skills" / "musician"
REFERENCES = sorted((SKILL / "references").glob("*.md"))
MOST_SKILL_BYTES = 1200
"""Of SKILL.md, which every musician's session is given; all the plugin adds until it works is 6,000 bytes."""

_BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SQL = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _table() -> str:
    """The table with one line for all states that an event changes in the same way."""
    sources: dict[str, list[str]] = {}
    for row in TABLE:
        told = [
            f"{row.target}: {row.event} by {row.actor}",
            *([str(row.guard)] if row.guard else []),
            *([" or ".join(sorted(row.messages))] if row.messages else []),
        ]
        sources.setdefault("; ".join(told), []).append(row.source or "(none)")
    return "\n".join(f"{', '.join(states)} → {told}" for told, states in sources.items())


def test_the_skills_state_machine_is_the_protocols_table() -> None:
    """Derived from the one table (DESIGN 3); MUSICIAN_REWRITE=1 writes it anew."""
    path = SKILL / "references" / "state-machine.md"
    claimable = ", ".join(f"'{state}'" for state in sorted(CLAIMABLE, key=list(State).index))
    blocks = iter([_table(), f"WHERE state IN ({claimable})"])
    wanted = _BLOCK.sub(lambda _: f"```\n{next(blocks)}\n```", path.read_text(encoding="utf-8"))
    if os.environ.get("MUSICIAN_REWRITE") == "1":
        path.write_text(wanted, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == wanted
    assert "needs_review, error → review_approved: approve by the conductor" in wanted


@pytest.mark.parametrize("path", REFERENCES, ids=lambda path: path.stem)
def test_a_reference_has_the_sections_it_lists(path: Path) -> None:
    """The sources' sectioned form: one section is found and read without the others."""
    text = path.read_text(encoding="utf-8")
    listed = re.findall(r"^- ([a-z-]+)$", text.partition("<sections>")[2].partition("</sections>")[0], re.M)
    assert listed
    assert re.findall(r'^<section id="([a-z-]+)">$', text, re.M) == listed
    for tag in ("section", "core", "context", "mandatory", "skill", "metadata"):
        assert len(re.findall(rf"^<{tag}\b", text, re.M)) == len(re.findall(rf"^</{tag}>$", text, re.M))
    assert text.startswith(f'<skill name="musician-{path.stem}"')


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore.create(tmp_path / "comms.db")
    service.open_task(made, "task-03", title="Greet", instruction_path="docs/tasks/task-03.md")
    yield made
    made.close()


def test_every_query_of_the_skill_runs_and_the_instructions_is_the_one_a_session_gets(
    store: SqliteStore,
) -> None:
    """S-BOOT-4: the query that is given is the one that finds the instruction, whatever else was sent."""
    text = (SKILL / "references" / "database-queries.md").read_text(encoding="utf-8")
    queries = [found.format(task_id="task-03", session_id="sess-aaa") for found in _SQL.findall(text)]
    assert len(queries) == 9
    service.send(store, "task-03", "mind the accents")
    connection = apsw.Connection(str(store.path))
    answers = [list(connection.execute(query)) for query in queries]
    connection.close()
    claim, fallback, instruction = answers[:3]
    assert (claim, fallback) == ([], [])
    assert instruction == [(service.messages_of(store, "task-03")[0].message,)]
    assert service.task_row(store, "task-03").state == "working"


def test_the_skill_names_what_is_there_and_is_short() -> None:
    """S-SKILL-1: its description says when a session becomes a musician."""
    text = (SKILL / "SKILL.md").read_text(encoding="utf-8")
    assert len(text.encode()) <= MOST_SKILL_BYTES
    head = text.split("---\n")[1]
    assert "disable-model-invocation: true" in head
    assert re.search(r"^description: .*execute task instructions", head, re.M)
    named = text.partition("references: ")[2].partition(" (.md)")[0].split(", ")
    assert sorted(named) == [path.stem for path in REFERENCES]
    assert list((SKILL / "examples").glob("*.md"))
    agent = (TEMPLATE / "plugin" / "agents" / "subagent.md").read_text(encoding="utf-8")
    assert "name: subagent" in agent
    assert "`musician:subagent`" in text


def test_the_gate_knows_the_monitor_by_what_it_is_called() -> None:
    monitor, _ = json.loads((TEMPLATE / "plugin" / "monitors" / "monitors.json").read_text())
    assert monitor["description"] == MONITOR


def test_every_event_the_hooks_answer_is_registered_once() -> None:
    """Only PreToolUse may block by failing, and only Stop may wait for a conductor."""
    registered = json.loads((TEMPLATE / "plugin" / "hooks" / "hooks.json").read_text())["hooks"]
    assert set(registered) == set(EVENTS)
    for event, entries in registered.items():
        ((hook,),) = [entry["hooks"] for entry in entries]
        assert hook["args"][-1] == event
        assert (hook.get("onFailure") == "block") == (event == "PreToolUse")
        assert (hook["timeout"] == 86400) == (event == "Stop")
        assert "command" in hook
        assert entries[0].get("matcher", "*") == "*"
