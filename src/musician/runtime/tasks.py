"""Unwraps a single error of a task group."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def raising_one() -> Iterator[None]:
    """Raise the error itself where a task group would raise a group of one, so that callers can match its type."""
    try:
        yield
    except BaseExceptionGroup as group:
        inner: BaseException = group
        while isinstance(inner, BaseExceptionGroup) and len(inner.exceptions) == 1:
            inner = inner.exceptions[0]
        raise inner from None
