"""docs/ARCHITECTURE.md and docs/GLOSSARY.md are true of the tree: what they name is there, and no row stands twice."""

import re
from collections import Counter
from pathlib import Path

import musician

SOURCE = Path(musician.__file__).parent
ARCHITECTURE = Path(__file__).parents[1] / "docs" / "ARCHITECTURE.md"
GLOSSARY = ARCHITECTURE.with_name("GLOSSARY.md")
TEXT = ARCHITECTURE.read_text(encoding="utf-8")
_NAMED = re.compile(r"`((?:\w[\w-]*/)*(?:[\w*-]+\.(?:py|sql)|\w[\w-]*/))`")
"""A file, or a folder by its slash; not what begins with one or with a dot: the system's and the project's own."""


def named(text: str) -> list[str]:
    """Every path in a document, below the package. A bare name lies beside the path before it in its line."""
    found = []
    for line in text.splitlines():
        folder = ""
        for name in _NAMED.findall(line):
            whole = name if "/" in name else f"{folder}{name}"
            folder = whole[: whole.rstrip("/").rfind("/") + 1]
            found.append(whole)
    return found


def test_every_path_that_is_named_exists() -> None:
    paths = named(TEXT) + named(GLOSSARY.read_text(encoding="utf-8"))
    assert "protocol/transitions.py" in paths
    assert "trees/merge.py" in paths, "a bare name"
    tops = (SOURCE, ARCHITECTURE.parents[1])
    assert [path for path in paths if not any(any(top.glob(path.rstrip("/"))) for top in tops)] == []


def test_no_word_of_the_glossary_is_explained_twice() -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| `", GLOSSARY.read_text(encoding="utf-8"), flags=re.M)
    assert "claim epoch" in rows
    assert [word for word, count in Counter(rows).items() if count > 1] == []


def test_every_table_of_the_database_is_named() -> None:
    schema = (SOURCE / "store" / "sqlite" / "schema.sql").read_text(encoding="utf-8")
    tables = set(re.findall(r"^CREATE TABLE (\w+)", schema, re.M))
    assert "journal" in tables
    listed = TEXT[TEXT.index("## What the database holds") : TEXT.index("The first newer program")]
    assert tables == {name for name in re.findall(r"`(\w+)`", listed) if "." not in name}


def test_every_document_it_links_exists() -> None:
    linked = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    assert linked
    assert [name for name in linked if not (ARCHITECTURE.parent / name).is_file()] == []


def test_no_question_is_answered_in_two_rows() -> None:
    first = [row.split("|")[1:3] for row in TEXT.splitlines() if row.startswith("| ") and "`" in row]
    questions = Counter(re.sub(r"'s\b|\W", "", question) for question, *_ in first)
    files = Counter(path for _, answer in first for path in _NAMED.findall(answer)[:1] if "/" in path)
    assert [each for each, count in (questions + files).items() if count > 1] == []


def test_our_own_python_is_started_in_one_place() -> None:
    """AUDIT-U12: what starts it elsewhere may find modules of the user's in place of ours."""
    known = {
        "own_python.py",  # the one place
        "__main__.py",  # itself, as it was started
        "forking.py",  # names it, for ps to show
        "processes/kennel.py",  # isolated, and without packages
        "hooks/git_hooks.py",  # the same, in a script of git's
        "plugin/rendering.py",  # names it in files of the client's, with -I
        "runtime/musician/environment.py",  # names it to agents
        "runtime/verifying.py",  # names it to tests
        "cli/demo.py",  # what a user types, in the demo's own project
    }
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if "sys.executable" in path.read_text(encoding="utf-8") and "demo/project" not in str(path)
    }
    assert found <= known


def test_a_list_of_names_stands_in_a_packages_face_alone() -> None:
    """What a module gives is what it names without an underscore; ``__all__`` beside that would say it twice."""
    listed = {path for path in SOURCE.rglob("*.py") if "\n__all__" in path.read_text(encoding="utf-8")}
    assert {path for path in listed if path.name != "__init__.py"} == set()


def test_a_driver_is_handed_its_world() -> None:
    """What stands below an entrance and reached for the real one would leave a simulation unnoticed."""
    entrances = {
        "runtime/world.py",  # makes it
        "runtime/conductor/conduct.py",
        "runtime/musician/work.py",
        "runtime/fleet.py",
        "runtime/manual/takeup.py",
        "runtime/manual/manual_session.py",
        "runtime/takeover.py",
        "runtime/again.py",
        "runtime/adding.py",
        "runtime/locking.py",
        "runtime/archiving.py",
        "runtime/cleaning.py",
    }
    drivers = {
        str(path.relative_to(SOURCE)): path.read_text("utf-8") for path in SOURCE.rglob("runtime/**/*.py")
    }
    assert {path for path, text in drivers.items() if re.search(r"\bWORLD\b", text)} == entrances
    assert {path for path, text in drivers.items() if re.search(r"\bMACHINE\b", text)} == {"runtime/world.py"}
    elsewhere = re.compile(r"(?<!: World = )\bWORLD\b")
    for path in entrances - {"runtime/world.py"}:
        lines = [line for line in drivers[path].splitlines() if not line.startswith("from ")]
        assert not elsewhere.search("\n".join(lines)), f"{path}: by default only, never in the middle"
