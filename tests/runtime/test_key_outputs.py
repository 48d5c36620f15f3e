"""Whatever a file is called, the message that names it can be written and read again (D14)."""

import pytest

from musician.protocol.messages.particulars import KeyOutput
from musician.runtime.tasktree import key_outputs

NAMES = {
    "a\nb": "a\\nb",
    "tab\there": "tab\\there",
    " ": "./\\x20",
    " both ends ": "./\\x20both ends\\x20",
    "esc\x1b[1m": "esc\\x1b[1m",
    "line\u2028end": "line\\u2028end",
    "~home": "./~home",
    "c:/x": "./c:/x",
    "a\\..\\b": "a\\.\\x2e\\b",
    "ü ö (created)": "ü ö (created)",
    "plain/path.py": "plain/path.py",
}


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_left_out_of_the_key_outputs(name: str) -> None:
    """AUDIT-N16: one with a newline or a tab was, without a word."""
    (found,) = key_outputs([(name, "created")])
    assert found.path == NAMES[name]
    assert KeyOutput.parse(found.render()) == found
