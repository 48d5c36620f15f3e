"""Nothing in the source is there for its tests alone: a rule that no surface reaches is not kept by anybody."""

from functools import cache
from pathlib import Path

import jinja2
import jinja2.nodes

import musician
from musician import service
from musician.cli.main import COMMANDS
from musician.hooks.entry import EVENTS
from musician.mcp_server.tools import CONDUCTORS_TOOLS, TOOLS
from tests.reachability import Source, Unit, commands, reached

PACKAGE = Path(musician.__file__).parent

APART = ("musician.testing", "musician.verification.inside", "musician.plugin.template")
"""Shipped for others' tests, run by the project's own Python, and run by the client."""

FOR_TESTS = {("musician.store.sqlite.store", "SqliteStore.connection")}
"""A test stands where a raw writer does, on the store's own connection."""


def modules(folder: Path) -> dict[str, Path]:
    """The modules below a package's folder, by name."""
    found = {}
    for path in folder.rglob("*.py"):
        parts = [*path.relative_to(folder.parent).with_suffix("").parts]
        if "demo.project" not in ".".join(parts):  # what the demo is played on
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def surfaces(source: Source) -> set[Unit]:
    roots = {("musician.__main__", "main"), ("musician.hooks.git_guard", "main"), *commands(source)}
    roots |= {("musician.service", name) for name in vars(service)["__all__"]}
    roots |= {(f"musician.cli.{module}", name.replace("-", "_")) for name, module in COMMANDS.items()}
    roots |= {
        (f"musician.hooks.{module}", name)
        for module in EVENTS.values()
        for name in ("answer", "trouble", "is_quiet")
    }
    for name, tool in TOOLS.items():
        roots.add((f"musician.mcp_server.{'verifying' if tool.runs_tests else 'acts'}", name))
    roots |= {("musician.mcp_server.conducting", name) for name in CONDUCTORS_TOOLS}
    roots |= {unit for unit in source.bodies if "." in unit[1] and unit[1].rpartition(".")[2] in shown()}
    roots |= {unit for unit in source.bodies if unit[0].startswith("musician.top.") and _is_called(unit[1])}
    return roots | {unit for unit in source.bodies if unit[0].startswith(APART)}


def _is_called(name: str) -> bool:
    """Whether the terminal's library calls it: by a key, for an event, or to build a screen."""
    return name.rpartition(".")[2].startswith(
        ("action_", "check_action", "on_", "compose", "get_default_screen")
    )


@cache
def shown() -> frozenset[str]:
    """The attributes that the dashboard's templates read, of whatever they are given."""
    parse = jinja2.Environment(autoescape=True).parse
    texts = (path.read_text(encoding="utf-8") for path in (PACKAGE / "web" / "templates").iterdir())
    return frozenset(node.attr for text in texts for node in parse(text).find_all(jinja2.nodes.Getattr))


def test_everything_is_reached_from_a_surface() -> None:
    """PROOF-11: commands, hooks, tools, what is shipped for others, and the verbs of ``musician.service``."""
    source = Source(modules(PACKAGE))
    dead = set(source.bodies) - reached(source, surfaces(source)) - FOR_TESTS
    assert sorted(unit for unit in dead if not _is_excused(unit[1])) == []


def _is_excused(name: str) -> bool:
    return name in ("", "TYPE_CHECKING", "__all__")


def test_what_nothing_names_is_found(tmp_path: Path) -> None:
    """PROOF-11: a function, a method and what only these name; not what a value's method may be."""
    package = tmp_path / "made_up"
    package.mkdir()
    (package / "main.py").write_text(
        "from made_up.parts import Part, helper\n"
        "def main(part: Part) -> None:\n    part.play()\n"
        "def unused() -> None:\n    helper()\n"
    )
    (package / "parts.py").write_text(
        "class Part:\n    def play(self) -> None: ...\n    def rest(self) -> None: ...\n"
        "    def __len__(self) -> int: ...\n"
        "def helper() -> None: ...\n"
    )
    source = Source(modules(package))
    dead = set(source.bodies) - reached(source, [("made_up.main", "main")])
    assert dead == {("made_up.main", "unused"), ("made_up.parts", "helper"), ("made_up.parts", "Part.rest")}
