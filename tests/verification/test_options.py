"""The options of runners, held against what the runners say of themselves."""

import re
import subprocess
import sys

from musician.verification.options import PYTEST, UNITTEST, Options

_FORM = re.compile(r"(?<!\S)(--?[a-z][\w-]*)([= ]\S+)?", re.IGNORECASE)


def shown(*command: str) -> dict[str, str]:
    """The options that a runner's help names, each with its value's form: "", "=x", " x" or "=[x]"."""
    asked = [sys.executable, "-m", *command, "--help"]
    help_text = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    found: dict[str, str] = {}
    for line in re.findall(r"^  (-.*)$", help_text, re.MULTILINE):
        forms = re.split(r"\s{2,}", line)[0]
        found |= {form[1]: form[2] or "" for form in _FORM.finditer(forms)}
    return found


def wrongly_known(options: Options, of_runner: dict[str, str]) -> list[str]:
    return [
        f"{name}{value}"
        for name, value in of_runner.items()
        if name
        not in (options.flags if not value else options.maybe if value[1:].startswith("[") else options.value)
    ]


def test_every_option_of_pytest_is_known_for_what_it_is() -> None:
    plugins_of_ours = ("-p", "no:cacheprovider", "-p", "no:typeguard")
    options = shown("pytest", *plugins_of_ours)
    assert {"-k", "--tb", "--cov", "-n", "--maxfail", "-x"} <= options.keys()
    assert wrongly_known(PYTEST, options) == []


def test_every_option_of_unittest_is_known_for_what_it_is() -> None:
    options = shown("unittest") | shown("unittest", "discover")
    assert {"-k", "-s", "--locals"} <= options.keys()
    assert wrongly_known(UNITTEST, options) == []


def test_no_option_is_known_for_two_things() -> None:
    for options in (PYTEST, UNITTEST):
        assert not options.value & options.flags
        assert not options.maybe & (options.value | options.flags)
