"""``dataclass`` for values, made without generating code.

A value is frozen, slotted and keyword-only. The standard decorator writes and compiles the source of its methods anew
for every class; with some 290 classes that was nearly half of every start. Here the methods close over a class's names:
a class is made in a tenth of the time, an instance in about the same.

To a type checker, and to whoever reads a class, it is the standard decorator. ``fields``, ``replace``, ``asdict`` and
``is_dataclass`` of the standard library work on such values: what they need is made when it is first asked for. What is
no value (mutable, or with positional fields) is handed to the standard decorator.

Not kept of the standard: a made-up docstring, ``InitVar``, and of ``field()`` what shows and hashes.
``tests/protocol/test_values.py`` holds the two against each other.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, get_origin

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def dataclass(*, frozen=False, slots=False, kw_only=False):
        """As :func:`dataclasses.dataclass`."""
        if frozen and slots and kw_only:
            return _value
        import dataclasses

        return dataclasses.dataclass(frozen=frozen, slots=slots, kw_only=kw_only)

    def replace(value, /, **changes):
        """As :func:`dataclasses.replace`."""
        names = getattr(value, "__value_fields__", None)
        if names is None:
            import dataclasses

            return dataclasses.replace(value, **changes)
        return type(value)(**{name: getattr(value, name) for name in names} | changes)


_NONE = object()
_FIELDS = "__value_fields__"
"""On a class: each field's default as it was written, or :data:`_NONE`; a base's fields come first."""


def as_dict(value: object) -> dict[str, Any]:
    """Return a value's fields by name; what is within them stays as it is."""
    return {name: getattr(value, name) for name in getattr(value, _FIELDS)}


def _value(cls: type) -> type:
    written = dict(vars(cls))
    own = {
        name: written.pop(name, _NONE) for name, kind in cls.__annotations__.items() if not _is_shared(kind)
    }
    inherited: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= vars(base).get(_FIELDS, {})
    fields = inherited | own
    for name in ("__dict__", "__weakref__"):
        written.pop(name, None)
    standard = _StandardFields()
    made = type(cls)(
        cls.__name__,
        cls.__bases__,
        {
            "__repr__": _shown,
            **_comparing(tuple(name for name, each in fields.items() if getattr(each, "compare", True))),
            **written,
            "__slots__": tuple(name for name in own if name not in inherited),
            "__match_args__": (),
            "__setattr__": _refuse_to_set,
            "__delattr__": _refuse_to_delete,
            "__getstate__": _state,
            "__setstate__": _set_state,
            "__dataclass_fields__": standard,
            _FIELDS: fields,
        },
    )
    made.__qualname__ = cls.__qualname__
    standard.of = made
    made.__init__ = _init_of(made, fields)  # type: ignore[misc]
    return made


def _is_shared(kind: object) -> bool:
    """Whether an annotation says that it is the class's, and no field."""
    return (kind if isinstance(kind, str) else str(get_origin(kind) or kind)).startswith(
        ("ClassVar", "typing.ClassVar")
    )


def _init_of(cls: type, fields: dict[str, Any]) -> Callable[..., None]:
    defaults: dict[str, Any] = {}
    makers: dict[str, Callable[[], object]] = {}
    for name, each in fields.items():
        if type(each).__module__ != "dataclasses":
            defaults |= {} if each is _NONE else {name: each}
        elif callable(each.default_factory):  # it is what ``field()`` returns
            makers[name] = each.default_factory
        elif type(each.default).__module__ != "dataclasses":
            defaults[name] = each.default
    setters = tuple(
        (name, getattr(cls, name).__set__) for name in fields if getattr(fields[name], "init", True)
    )
    after = getattr(cls, "__post_init__", None)

    def init(self: object, /, **given: object) -> None:
        if len(given) != len(setters):
            given = defaults | given
            for name in makers.keys() - given:
                given[name] = makers[name]()
        try:
            for name, put in setters:
                put(self, given[name])
        except KeyError as missing:
            raise TypeError(f"{cls.__name__} misses its argument {missing}") from None
        if len(given) != len(setters):
            unknown = ", ".join(given.keys() - fields)
            raise TypeError(f"{cls.__name__} has no argument {unknown}")
        if after is not None:
            after(self)

    return init


def _comparing(names: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    compared = attrgetter(*names) if names else bool

    def equals(self: object, other: object) -> Any:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: object) -> int:
        return hash(compared(self))

    return {"__eq__": equals, "__hash__": hashed}


def _shown(self: Any) -> str:
    named = (f"{name}={getattr(self, name)!r}" for name in getattr(self, _FIELDS))
    return f"{self.__class__.__qualname__}({', '.join(named)})"


def _refuse_to_set(_self: object, name: str, _value: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: object) -> list[object]:
    return [getattr(self, name) for name in getattr(self, _FIELDS)]


def _set_state(self: object, state: list[object]) -> None:
    for name, value in zip(getattr(self, _FIELDS), state, strict=True):
        object.__setattr__(self, name, value)


class _StandardFields:
    """The attributes that the standard library's functions look for, made on first use."""

    of: type

    def __get__(self, instance: object, owner: type) -> dict[str, Any]:
        import dataclasses

        defaults = vars(self.of)[_FIELDS]
        kinds: dict[str, Any] = {}
        for base in reversed(self.of.__mro__):
            kinds |= {
                name: kind for name, kind in vars(base).get("__annotations__", {}).items() if name in defaults
            }
        written = {name: each for name, each in defaults.items() if each is not _NONE}
        plain: Any = type(self.of.__name__, (), {"__annotations__": kinds, **written})
        found: dict[str, Any] = dataclasses.dataclass(init=False, repr=False, eq=False)(
            plain
        ).__dataclass_fields__
        type.__setattr__(self.of, "__dataclass_fields__", found)
        return found
