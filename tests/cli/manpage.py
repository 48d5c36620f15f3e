"""The man page, generated from the commands themselves as the reference is."""

import re
from collections.abc import Iterator

import click

from musician.cli.main import program
from tests.cli.reference import EXIT_CODES, prose, value_of

_HEAD = r"""'\" t
.\" Generated from the commands; a test keeps it so.
.TH MUSICIAN 1
.SH NAME
musician \- an orchestra for coding agents
.SH SYNOPSIS
.B musician
.RI [ options ] " command " [ arguments ]
.SH DESCRIPTION
"""

_TAIL = r""".SH FILES
.TP
.I .musician/config.toml
The settings of a repository. Every line shows a default.
.TP
.I .musician/comms.db
The database of a repository.
.TP
.I docs/implementation/reports/
Reports of finished tasks and plans.
.SH SEE ALSO
.BR git (1)
"""


def render_man_page() -> str:
    """The whole program as one page of the manual."""
    parts = [_HEAD + _text(program.help or ""), ".SH COMMANDS", *_sections(program, "musician")]
    parts += [
        ".SH EXIT STATUS",
        *(f".TP\n.B {code}\n{_text(meaning)}" for code, meaning in EXIT_CODES.items()),
        _TAIL,
    ]
    return "\n".join(parts)


def _sections(command: click.Command, path: str) -> Iterator[str]:
    if path != "musician":
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        words = [path, *(each.metavar or str(each.name).upper() for each in arguments)]
        yield f".SS {_quoted(' '.join(words))}\n{_text(command.help or '')}"
        for option in command.params:
            if isinstance(option, click.Option):
                names = _text(f"{', '.join(option.opts)}{value_of(option)}")
                yield f".TP\n.B {_quoted(names)}\n{_text(option.help or '')}"
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            if (found := command.get_command(context, name)) is not None:
                yield from _sections(found, f"{path} {name}")


def _text(text: str) -> str:
    """Return prose as groff reads it: its own signs escaped, no line that begins like a request."""
    escaped = prose(text).replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
    return re.sub(r"^\.", r"\\&.", escaped, flags=re.MULTILINE).replace("\n\n", "\n.PP\n")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
