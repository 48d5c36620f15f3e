"""The settings file ``.musician/config.toml``: read into :class:`Settings`, and written once with every default.

What a setting means and may be is ``protocol.settings``; here is only the file around it.
"""

import json
from pathlib import Path

from musician.protocol.errors import WrongSettings
from musician.protocol.settings import Described, Settings, describe, from_mapping

_HEAD = """\
# Musician's settings for this repository. Every line that begins with "#" and a
# name shows a default: take the "#" away to change it.
"""


def load_settings(path: Path) -> Settings:
    """The settings in a file; the defaults if there is none. :class:`WrongSettings` says what to mend."""
    try:
        return parse_settings(path.read_text(encoding="utf-8-sig"), name=path.name)
    except FileNotFoundError:
        return Settings()
    except UnicodeDecodeError as error:
        raise WrongSettings(name=path.name, reason=f"this is not TOML ({error})") from error
    except OSError as error:
        raise WrongSettings(name=path.name, reason=f"cannot be read ({error.strerror})") from error


def parse_settings(text: str, *, name: str) -> Settings:
    """The settings in a file's text; a file that says nothing, as ``musician init`` writes it, is not parsed."""
    headings = {f"[{section}]" for section in Settings.__slots__}
    if all(line[:1] in ("", "#") or line in headings for line in text.splitlines()):
        return Settings()
    import tomllib

    try:
        return from_mapping(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise WrongSettings(name=name, reason=f"this is not TOML ({error})") from error


def render_defaults() -> str:
    """A file that changes nothing and shows everything that can be changed."""
    lines = [_HEAD.rstrip()]
    section = ""
    for setting in describe():
        here, _, key = setting.name.partition(".")
        if here != section:
            lines += ["", f"[{here}]"]
            section = here
        lines += [f"# {setting.meaning} ({_span(setting)})", f"#{key} = {json.dumps(setting.default)}"]
    return "\n".join(lines) + "\n"


def _span(setting: Described) -> str:
    if isinstance(setting.default, bool):
        return "true or false"
    return f"{setting.least:,.10g} to {setting.most:,.10g} {setting.unit}".rstrip()
