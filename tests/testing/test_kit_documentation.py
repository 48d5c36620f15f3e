"""docs/TESTING.md: its example is run as it stands, and it names what the kit has."""

import re
from pathlib import Path

import musician.testing

PAGE = (Path(__file__).parents[2] / "docs" / "TESTING.md").read_text(encoding="utf-8")


def test_the_example_of_the_page_does_what_it_asserts() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    exec(compile(example, "docs/TESTING.md", "exec"), {"__name__": "example"})  # noqa: S102


def test_what_the_page_names_is_there() -> None:
    named = set(re.findall(r"`([A-Z]\w+)", PAGE.partition("| part |")[2].partition("\n# ")[0]))
    assert {"ScriptedModel", "PrintClient"} <= named
    assert [name for name in named if not hasattr(musician.testing, name)] == []
