"""The source of leashes: a fork server, which is started when the first leash is needed."""

import sys
from collections.abc import Mapping, Sequence

from musician.processes import leash
from musician.processes.fork_server import Forked, ForkServer


def start_on_leash(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], pipes: tuple[int, int, int]
) -> Forked:
    """A leash that waits to play ``argv``; see :meth:`ForkServer.start`. To let go of it ends all it holds."""
    return _kennel.start(argv, cwd=cwd, env=env, pipes=pipes)


def close_kennel() -> None:
    """End the kennel, if there is one; leashes that still hold something are not touched."""
    _kennel.close()


_kennel = ForkServer((sys.executable, "-I", "-S", leash.__file__, leash.KENNEL))
