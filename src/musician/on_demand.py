"""Names of a package whose modules are imported when a name is first asked for (PEP 562).

For packages of which a short process uses a small part: importing all of one would take longer than all that it does.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def on_demand(package: str, homes: Mapping[str, str]) -> tuple[list[str], Callable[[str], object]]:
    """The package's ``__all__`` and ``__getattr__``; ``homes`` are its modules, each with the names it gives.

    A name is asked for once and then an attribute like any other; :class:`AttributeError` for one that nobody gives.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def found(name: str) -> object:
        module = home_of.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(home_of), found
