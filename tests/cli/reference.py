"""The command reference, generated from the commands themselves, so that it cannot be wrong.

Made from what the commands declare, not from click's help texts, whose layout changes with click's version.
"""

from collections.abc import Iterator

import click

from musician.cli.main import PARTS, program

EXIT_CODES = {
    "0": "done",
    "1": "something needs a person, or is not as it should be (`run`, `needs-me`, `doctor`, `wait --timeout`)",
    "2": "wrong usage, a broken plan, or surroundings that are not fit",
    "3": "unknown task or plan",
    "4": "refused by the state machine",
    "5": "the claim is blocked",
    "70": "an error of Musician's own",
    "130": "interrupted; what was done is saved",
    "141": "the reader of the output went away",
}

_HEAD = """\
# Commands

Generated from what `musician --help` shows; a test keeps it so.

A task is named by its id or its number: `task-03`, `3` and `#3` are the same. `--db` may also stand before the command.

"""


def render_reference() -> str:
    """Every command as one Markdown document."""
    rows = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    parts = [
        f"| {part} | {', '.join(f'[{name}](#musician-{name})' for name in names)} |"
        for part, names in PARTS.items()
    ]
    index = ["| | |", "|---|---|", *parts, ""]
    head = "\n".join([_HEAD.rstrip("\n"), "", *index, "| exit code | means |", "|---|---|", *rows, ""])
    return "\n".join([head, *_sections(program, "musician")])


def _sections(command: click.Command, path: str) -> Iterator[str]:
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    words = [path, *(argument.metavar or str(argument.name).upper() for argument in arguments)]
    parts = [f"## {path}", f"`{' '.join(words)}`", prose(command.help or ""), _options(command)]
    yield "\n\n".join(part for part in parts if part) + "\n"
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from _sections(found, f"{path} {name}")


def prose(text: str) -> str:
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _options(command: click.Command) -> str:
    return "\n".join(_option(param) for param in command.params if isinstance(param, click.Option))


def _option(option: click.Option) -> str:
    value = value_of(option)
    needed = " (required)" if option.required else ""
    return f"- `{', '.join(option.opts)}{value}`{needed}: {' '.join((option.help or '').split())}"


def value_of(option: click.Option) -> str:
    """Return what follows an option's name, with the blank before it; "" for a flag."""
    if isinstance(option.type, click.Choice):
        return f" {'|'.join(map(str, option.type.choices))}"
    return "" if option.is_flag or option.count else f" {option.metavar or option.type.name.upper()}"
