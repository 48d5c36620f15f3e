"""The constants that callers name and the SQL that backends bring are the same queries, parameter by parameter."""

import pkgutil
import re
from collections.abc import Mapping
from importlib import import_module

import pytest

from musician.store import queries
from musician.store.query import Command, Query
from musician.store.sqlite.named import load_queries

CONSTANTS: Mapping[str, Command | Query[object]] = {
    name: constant
    for module in pkgutil.iter_modules(queries.__path__)
    for noun in import_module(f"{queries.__name__}.{module.name}").__dict__.values()
    if isinstance(noun, type)
    for name, constant in vars(noun).items()
    if isinstance(constant, Command | Query)
}
BACKENDS: Mapping[str, Mapping[str, str]] = {"sqlite": load_queries()}

_COMMENT = re.compile(r"^--.*$", re.MULTILINE)
_PARAMETER = re.compile(r":([a-z_]\w*)")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_brings_exactly_the_queries_there_are(backend: str) -> None:
    """DATA-6."""
    assert sorted(BACKENDS[backend]) == sorted(CONSTANTS)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_takes_the_parameters_that_callers_give(backend: str) -> None:
    """DATA-6."""
    assert {
        name: frozenset(_PARAMETER.findall(_COMMENT.sub("", sql))) for name, sql in BACKENDS[backend].items()
    } == {name: constant.parameters for name, constant in CONSTANTS.items()}


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_reads_is_a_query_and_what_writes_a_command(backend: str) -> None:
    """DATA-6."""
    reads = {
        name
        for name, sql in BACKENDS[backend].items()
        if _COMMENT.sub("", sql).split()[0] in ("SELECT", "PRAGMA")
    }
    assert reads == {name for name, constant in CONSTANTS.items() if isinstance(constant, Query)}
