"""Parses text that may or may not be Python, and never executes it."""

import ast
from collections.abc import Iterable

CODE_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def parsed(source: bytes | str) -> list[ast.stmt]:
    """Return the statements; none if the text does not parse."""
    try:
        return ast.parse(source).body
    except CODE_UNPARSABLE:
        return []


def walked(statements: Iterable[ast.stmt]) -> Iterable[ast.AST]:
    """Return all nodes in the statements."""
    return (node for each in statements for node in ast.walk(each))
