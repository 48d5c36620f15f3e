"""Whether values hold what their declarations promise: a test of one field does not see that another is None."""

from dataclasses import fields, is_dataclass
from typing import get_type_hints

from typeguard import check_type


def check_fields(value: object) -> None:
    """Check every field of a value, and of the values in it, against its declared type; ``TypeCheckError``."""
    if isinstance(value, tuple):
        for each in value:
            check_fields(each)
    elif is_dataclass(value) and not isinstance(value, type):
        hints = get_type_hints(type(value))
        for field in fields(value):
            held = getattr(value, field.name)
            check_type(held, hints[field.name])
            check_fields(held)
