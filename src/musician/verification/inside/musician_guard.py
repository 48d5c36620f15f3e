"""Keeps the code as it is now out of a run against other code.

An editable install, or an absolute path in the environment, would otherwise let the old tree import what only the new
one has, and a test of it would pass there. What lies in the running interpreter's own environment stays importable,
also where that is inside the tree.
"""

import os
import sys
from typing import Any


def _real(path: str) -> str:
    return os.path.join(os.path.realpath(path), "")


def install(now: str) -> None:
    tree, own = _real(now), _real(sys.prefix)

    def is_new(path: str) -> bool:
        real = _real(path)
        return real.startswith(tree) and not (own != tree and real.startswith(own))

    class Guard(object):  # noqa: UP004  # as old as the project's Python may be
        def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
            hidden = False
            finders: list[Any] = list(sys.meta_path)
            for finder in finders:
                find = None if finder is self else getattr(finder, "find_spec", None)
                spec = None if find is None else find(name, path, target)
                if spec is None:
                    continue
                places = [spec.origin] if spec.has_location else list(spec.submodule_search_locations or ())
                if places and all(is_new(place) for place in places):
                    hidden = True
                    continue
                return spec
            if hidden:
                raise ModuleNotFoundError("No module named %r in the code as it was" % name, name=name)  # noqa: UP031
            return None

    sys.path[:] = [path for path in sys.path if not path or not is_new(path)]
    sys.meta_path.insert(0, Guard())
