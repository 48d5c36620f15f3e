"""The lease, seen from the program that lives by it: standard input ends when the starter is gone.

The mark in the environment says that standard input is a lease and not somebody's data. It is not meant for
the program's own children: ``spawn`` takes it out of what it hands on.
"""

import os
import stat

import anyio

LEASE_VARIABLE = "MUSICIAN_LEASE"

_STDIN = 0
_DISCARD_BYTES = 4096


async def lease_lost() -> None:
    """Return when the starter has let go or died; never, where standard input is no lease."""
    if not _has_lease():
        await anyio.sleep_forever()
    while True:
        await anyio.wait_readable(_STDIN)
        if not os.read(_STDIN, _DISCARD_BYTES):
            return


def _has_lease() -> bool:
    if os.environ.get(LEASE_VARIABLE) != "1":
        return False
    try:
        return stat.S_ISFIFO(os.fstat(_STDIN).st_mode)
    except OSError:
        return False
