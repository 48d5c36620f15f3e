"""The command ``dashboard``: serves the web page until it is interrupted."""

import sys

import click

from musician.cli.context import App
from musician.cli.options import command
from musician.cli.render import show
from musician.own_python import install_extra
from musician.protocol.errors import BadField, ExtraMissing


@command("dashboard")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Listen on this port; by default on that of the last time, or a free one.",
)
@click.option("--read-only", is_flag=True, help="Show everything, and take no orders.")
@click.pass_obj
def dashboard(app: App, port: int | None, read_only: bool) -> None:
    """Serve a web page on this machine on which you see and conduct.

    Prints the address to open. The token in it is the key: whoever has it may give orders.
    """
    check_can_serve()
    from musician.web.server import serve  # slow to import, and brought by an extra

    def ready(address: str) -> None:
        show(app, {"address": address}, f"dashboard: {address}", "Ctrl-C ends it; the run goes on without it")
        sys.stdout.flush()  # into a file or a pipe, it would only be written at the end

    try:
        serve(app, port=port, read_only=read_only, on_ready=ready)
    except OSError as error:
        raise BadField(
            field="port", value=port, reason=f"it cannot be listened on ({error.strerror})"
        ) from error


def check_can_serve() -> None:
    """Raise :class:`ExtraMissing` unless what serves the page is installed."""
    try:
        import musician.web.server  # noqa: F401  # slow to import, and brought by an extra
    except ImportError as error:
        raise ExtraMissing(what="the dashboard", command=install_extra("dashboard")) from error
