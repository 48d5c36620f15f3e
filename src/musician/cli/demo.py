"""The demo: the commands a user would type, on a fresh copy of the bundled project, and what came of it.

Everything that is shown as typed is really run that way; only the surroundings are cleaned first, so that no
database, session or setting of the user's gets in.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from textwrap import wrap

import click

from musician import service
from musician.cli.context import App
from musician.cli.dashboard import check_can_serve
from musician.cli.faults import FAILED
from musician.cli.options import agent_option, command
from musician.cli.render import aligned, lines, show
from musician.demo.retelling import Episode, retell
from musician.demo.story import PLAN_NAME, prepare
from musician.protocol.messages.kinds import MessageType
from musician.store.opening import open_store
from musician.store.port import Store
from musician.trees.git import Git
from musician.trees.root import find_root

JOBS = 3
"""As many musicians as the plan's first phase has tasks."""

TEST_LIMIT_S = 60
_PLAN_ID = "pigeonpost"
_KEPT_VARIABLES = frozenset({"MUSICIAN_DEBUG"})
_WIDTH, _NARROWEST = 110, 40
_INDENT = 16
_WAITS_FOR_YOU = (
    "It waits for you: approve the work on the page, or send it back. Any key goes on then; Ctrl-C ends."
)


@command("demo")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Play in DIR, new or empty, and keep it; without it all is removed at the end.",
)
@agent_option("Play with this agent instead of the shell agent.")
@click.option(
    "--scripted",
    is_flag=True,
    help="Play with the agent's real program (claude, codex or opencode), whose model is a script: no login, no cost.",
)
@click.option("--dashboard", is_flag=True, help="Serve its web page meanwhile, and wait for you to look.")
@click.pass_obj
def demo(app: App, keep: Path | None, agent: str | None, *, scripted: bool, dashboard: bool) -> None:
    """The whole story on a bundled project: parallel tasks, a review that sends work back, a kill, a handoff."""
    if dashboard:
        check_can_serve()
    with (
        _folder(keep) as folder,
        _surroundings(agent or "claude", folder) if scripted else nullcontext(),
        redirect_stdout(sys.stderr) if app.json else nullcontext(),
    ):
        agent = agent or ("claude" if scripted else None)
        code, episodes = _play(folder, agent, kept=keep is not None, scripted=scripted, dashboard=dashboard)
    document = {
        "folder": None if keep is None else str(folder),
        "exit_code": code,
        "episodes": [{"title": episode.title, "text": episode.text} for episode in episodes],
    }
    show(app, document)
    click.get_current_context().exit(code)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Where to play. The current folder and the environment are as before afterwards."""
    before, variables = Path.cwd(), dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="musician-demo-", ignore_cleanup_errors=True) as temporary:
        folder = Path(os.path.abspath(keep)) if keep is not None else Path(temporary) / "pigeonpost"
        for name in variables:
            if name == "PYTHONPATH" or (name.startswith("MUSICIAN_") and name not in _KEPT_VARIABLES):
                del os.environ[name]
        os.environ["TMPDIR"] = temporary  # what a killed musician cannot remove itself goes with the rest
        try:
            yield folder
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(variables)


def _surroundings(agent: str, folder: Path) -> AbstractContextManager[None]:
    from musician.demo.scripted import surroundings  # slow to import, and only --scripted needs it

    return surroundings(agent, folder, Path(os.environ["TMPDIR"], "home"))


def _play(
    folder: Path, agent: str | None, *, kept: bool, scripted: bool, dashboard: bool
) -> tuple[int, tuple[Episode, ...]]:
    """The demo from beginning to end: its exit code and what happened."""
    by_hand = dashboard and _is_watched()
    prepare(folder, by_hand=by_hand)
    os.chdir(folder)
    troubles = "five" if scripted else "three"
    opening = (
        "A small post office whose tests fail, a plan that mends it,"
        f" and {troubles} things that go wrong on purpose."
    )
    lines("\n".join(wrap(opening, _width())))
    lines(f"It is played in {folder}{'' if kept else ', which is removed at the end'}.")
    _typed("-m", "unittest", "-q", told=_last_words)
    if scripted:
        _hurry(folder)
    code = _musician("init")
    if code == 0:
        run = ("run", PLAN_NAME, "--jobs", str(JOBS), *(() if agent is None else ("--agent", agent)))
        with _dashboard() if dashboard else nullcontext():
            code = _musician(*run)
            while by_hand and code == FAILED:
                click.echo(f"\n{_WAITS_FOR_YOU}", err=True)
                click.getchar()  # not `pause`, which would take Ctrl-C for a key and go round for ever
                code = _musician(*run)
    if scripted:
        told = "The model was a script on this machine: tokens and price are made up, and nothing was paid."
        lines("\n" + "\n".join(wrap(told, _width())))
    episodes = _episodes(folder)
    if code == 0:
        code = _typed("-m", "unittest", "-q", told=_last_words)
        _typed("-m", "pigeonpost", "Zoë Brandt", "Saint-Élan", "12")
    _sum_up(folder, code, episodes, kept=kept)
    return code, episodes


@contextmanager
def _dashboard() -> Iterator[None]:
    """Serve the page of the folder we stand in. On a terminal a person begins and ends it."""
    argv = (sys.executable, "-m", "musician", "dashboard")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, process_group=0, text=True) as server:
        try:
            address = server.stdout.readline() if server.stdout else ""
            if not address:
                raise click.exceptions.Exit(server.wait())  # it has said why
            lines(f"\n{address.rstrip()}")
            click.pause("Open it; any key begins …", err=True)
            yield
            click.pause("Any key ends the dashboard …", err=True)
        finally:
            server.terminate()


def _is_watched() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _hurry(folder: Path) -> None:
    from musician.demo.scripted import SETTINGS

    config = find_root(folder).config
    config.parent.mkdir()
    config.write_text(SETTINGS, encoding="utf-8")


def _musician(*arguments: str) -> int:
    """One of our own commands, as if it was typed; its exit code."""
    from musician.cli.main import run  # here, because it imports this module

    lines(f"\n$ {shlex.join(('musician', *arguments))}")
    return run(arguments)


def _typed(*arguments: str, told: Callable[[str], str] = str) -> int:
    """A Python command of the project's; its exit code."""
    lines(f"\n$ {shlex.join(('python3', *arguments))}")
    ran = subprocess.run(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUTF8": "1"},
        encoding="utf-8",
        errors="replace",
        timeout=TEST_LIMIT_S,
    )
    lines(told(ran.stdout.rstrip()))
    return ran.returncode


def _last_words(output: str) -> str:
    """How many tests ran and how it ended, without the failures' texts."""
    return "\n".join(line for line in output.splitlines() if line.startswith(("Ran ", "OK", "FAILED")))


def _episodes(folder: Path) -> tuple[Episode, ...]:
    database = find_root(folder).database
    if not database.exists():
        return ()
    store = open_store(database, named=True)
    try:
        views = service.everything(store, _PLAN_ID)
        return (
            retell(views, {view.row.task_id: _urgent(store, view.row.task_id) for view in views})
            if views
            else ()
        )
    finally:
        store.close()


def _urgent(store: Store, task_id: str) -> tuple[str, ...]:
    said = service.messages_of(store, task_id)
    return tuple(each.message for each in said if each.message_type == MessageType.EMERGENCY)


def laid_out(episodes: Iterable[Episode], *, width: int) -> Iterator[str]:
    """The episodes in lines of at most ``width`` columns, the titles in a column of their own."""
    for episode in episodes:
        first, *rest = wrap(episode.text, width - _INDENT)
        yield f"  {episode.title:<{_INDENT - 2}}{first}"
        for line in rest:
            yield " " * _INDENT + line


def _width() -> int:
    """The terminal's, if it is not wider than what reads well; a pipe has no width."""
    return max(_NARROWEST, min(_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns))


def _sum_up(folder: Path, code: int, episodes: tuple[Episode, ...], *, kept: bool) -> None:
    if episodes:
        lines("\nWhat happened\n")
    for line in laid_out(episodes, width=_width()):
        lines(line)
    if not kept:
        lines("\n`musician demo --keep DIR` plays it again and keeps everything to look at.")
        return
    lines(f"\nLook around in {folder}:\n")
    for line in aligned(list(_sights(folder, code))):
        lines(f"  {line}")


def _sights(folder: Path, code: int) -> Iterator[tuple[str, str]]:
    if code != 0:
        yield f"musician run {PLAN_NAME}", "go on where it stopped"
    yield "musician status", "where every task stands"
    yield "musician timeline", "everything that happened, by time"
    yield "musician messages task-02", "the review that sent the work back, and its answer"
    yield "cat temp/task-03-HANDOFF", "what one session left for the next"
    yield "git log --graph --oneline", "one commit for every step, one merge for every task"
    listing = Git(folder).text("for-each-ref", "--format=%(refname)", "refs/musician/partial")
    for ref in listing.split()[:1]:
        yield f"git show {ref}", "what the killed musician had half written"
