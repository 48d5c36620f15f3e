"""A session in the same repository that is no musician is left alone, whatever else is going on there."""

from typing import TYPE_CHECKING

from musician.testing import Part, PrintClient, Received, ScriptedModel, say, use

if TYPE_CHECKING:
    from tests.claude_code.conftest import Hall

OURS = "mcp__plugin_musician_"


def errands(hall: "Hall") -> Part:
    """What a musician may not do, and a session of the user's may."""
    return Part(
        use("Bash", command="git push -q origin trunk && echo pushed"),
        use(
            "Bash",
            command="git branch -q aside && git branch -q -D aside && echo branched",
        ),
        use("mcp__knowledge__ingest_data", text="bells are loud"),
        say("All errands are done."),
    )


def played(hall: "Hall", name: str, *, with_plugin: bool) -> ScriptedModel:
    model, home = hall.played(errands(hall), name)
    with PrintClient(
        home, hall.root, "run my errands", plugins=[hall.plugin] if with_plugin else []
    ) as client:
        result = client.end()
    assert (result.code, result.text) == (0, "All errands are done.")
    return model


def said(received: Received) -> list[str]:
    """What the tools and the hooks added."""
    return [message.everything for message in received.news]


def test_nothing_is_said_to_it_but_its_id_nothing_is_denied_and_nothing_is_kept_of_it(hall: "Hall") -> None:
    before = hall.person("timeline", "--json")
    plain = played(hall, "plain", with_plugin=False)
    hall.git("push", "-q", "--delete", "origin", "trunk")
    foreign = played(hall, "foreign", with_plugin=True)
    assert len(foreign.main) == len(plain.main) == 4
    for with_plugin, without in zip(foreign.main[1:], plain.main[1:], strict=True):
        assert said(with_plugin) == said(without)
    first = foreign.main[0]
    added = [line for line in first.all_text.splitlines() if first.session_id in line]
    assert len(added) == 1
    assert "trunk" in hall.git("ls-remote", "origin")
    assert hall.ingested.read_text() == "bells are loud\n" * 2
    assert hall.state() == "watching"
    assert hall.person("timeline", "--json") == before
