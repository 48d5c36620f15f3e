"""The settings that the database's guards use are rows in it, so that raw writers are held to them too (D40)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from musician.store.port import Store, Tx
from musician.store.queries.settings import KeptSettings

if TYPE_CHECKING:
    from musician.protocol.settings import Settings


def guarded(settings: "Settings") -> Mapping[str, float]:
    """Those that guards use, by name."""
    return {"heartbeat.stale_after_s": settings.heartbeat.stale_after_s}


def keep_settings(store: Store, settings: "Settings") -> None:
    """Write them down."""
    with store.write() as tx:
        keep_in(tx, settings)


def keep_in(tx: Tx, settings: "Settings") -> None:
    """The same within a transaction of the caller's, before what the guards judge by them."""
    for name, value in guarded(settings).items():
        tx.run(KeptSettings.keep_setting, name=name, value=value)


def kept_settings(store: Store) -> Mapping[str, object]:
    """Return the settings that the guards use now."""
    with store.read() as tx:
        return {kept.name: kept.value for kept in tx.all(KeptSettings.settings)}
