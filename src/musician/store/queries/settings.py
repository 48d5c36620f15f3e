"""What the database's own guards must know (D40)."""

from typing import NamedTuple

from musician.store.query import Command, Query


class SettingRow(NamedTuple):
    name: str
    value: object


class KeptSettings:
    keep_setting = Command("name value")
    settings = Query(SettingRow)
