"""Queries for the settings that the database's guards use (D40)."""

from typing import NamedTuple

from musician.store.query import Command, Query


class SettingRow(NamedTuple):
    name: str
    value: object


class KeptSettings:
    keep_setting = Command("name value")
    settings = Query(SettingRow)
