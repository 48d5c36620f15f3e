"""Python that may be any text: parsed where it can be, never executed."""

import ast
from collections.abc import Iterable

CODE_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def parsed(source: bytes | str) -> list[ast.stmt]:
    """Its statements; none if it does not parse."""
    try:
        return ast.parse(source).body
    except CODE_UNPARSABLE:
        return []


def walked(statements: Iterable[ast.stmt]) -> Iterable[ast.AST]:
    """All that stands in them."""
    return (node for each in statements for node in ast.walk(each))
