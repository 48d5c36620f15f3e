"""``run`` on a terminal: a real one, whose screen is kept as a terminal would keep it."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from musician.testing.waiting import HANG_S

Call = Callable[..., Any]

CONTROL = re.compile(r"\x1b\[(?P<parameters>[0-9;?]*)(?P<final>[A-Za-z])")

PLAN = """\
---
plan: greeter
---
# Greet people

## Phase 1: Both

### task-01: Make one ✓
#### Step 1: Make it
```bash run
touch one; echo '::context 21%'; {wait}
```
#### Checkpoint 1: it is there
- test: `test -e one`

### task-02: Make another
#### Step 1: Make it
```bash run
touch two
```
#### Checkpoint 1: it is there
- test: `test -e two`
"""

BECOME_FOREGROUND = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    " os.execv(sys.executable, [sys.executable, '-m', 'musician', *sys.argv[1:]])"
)


def is_playing(said: str) -> object:
    """Whether the table shows that task-01's only step was begun."""
    return re.search(r"task-01 [^\n]*step 1 of 1", CONTROL.sub("", said))


def fits(frame: str, columns: int, rows: int) -> bool:
    lines = CONTROL.sub("", frame).replace("\r", "").split("\n")
    return max(map(len, lines)) <= columns and len(lines) <= rows and "task-01" in frame


class Screen:
    """What a terminal shows and has scrolled away; it fails on any control sequence that leaves something behind."""

    def __init__(self, columns: int) -> None:
        self.columns, self.lines, self.row, self.column = columns, [""], 0, 0

    def feed(self, text: str) -> None:
        place = 0
        while place < len(text):
            found = CONTROL.match(text, place)
            if found:
                self._control(found["parameters"], found["final"])
                place = found.end()
            else:
                self._character(text[place])
                place += 1

    def _control(self, parameters: str, final: str) -> None:
        match final, parameters:
            case "m", _:
                pass
            case "A", _:
                self.row = max(0, self.row - int(parameters or 1))
            case "K", "":
                self.lines[self.row] = self.lines[self.row][: self.column]
            case "K", "2":
                self.lines[self.row] = ""
            case "J", "":
                self.lines[self.row] = self.lines[self.row][: self.column]
                del self.lines[self.row + 1 :]
            case _:
                raise AssertionError(f"CSI {parameters}{final}")

    def _character(self, character: str) -> None:
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row, self.column = self.row + 1, 0
            self.lines += [""] * (self.row + 1 - len(self.lines))
        else:
            assert character.isprintable(), repr(character)
            if self.column == self.columns:
                self._character("\n")
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
            self.column += 1

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines).rstrip()


class Terminal:
    """A pseudo-terminal with a command in its foreground."""

    def __init__(self, *arguments: str, columns: int = 100, rows: int = 30, **env: str) -> None:
        self.master, slave = os.openpty()
        self.columns = columns
        self.resize(columns, rows, of=slave)
        self.before = termios.tcgetattr(slave)
        kept = {
            name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", BECOME_FOREGROUND, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**kept, "TERM": "xterm-256color", **env},
        )
        self._slave = slave
        self.said = ""

    def resize(self, columns: int, rows: int, *, of: int | None = None) -> None:
        fcntl.ioctl(
            self.master if of is None else of, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0)
        )

    def read(self, timeout_s: float) -> bool:
        """Whether something came."""
        if not select.select([self.master], [], [], timeout_s)[0]:
            return False
        self._pending = getattr(self, "_pending", b"") + os.read(self.master, 65536)
        whole = self._pending.decode(errors="ignore")
        self._pending = self._pending[len(whole.encode()) :]
        self.said += whole
        return True

    def until(self, condition: Callable[[str], object]) -> None:
        end_s = time.monotonic() + HANG_S
        while not condition(self.said):
            assert time.monotonic() < end_s, self.said
            self.read(0.1)

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def press(self, key: bytes) -> None:
        """Type it when a key is waited for: what is typed before that is thrown away."""
        self.until(lambda _: not termios.tcgetattr(self._slave)[3] & termios.ICANON)
        self.type(key)

    def end(self) -> int:
        """Read to its end; the exit code."""
        end_s = time.monotonic() + HANG_S
        while self.process.poll() is None:
            assert time.monotonic() < end_s, self.said
            self.read(0.1)
        while self.read(0.0):
            pass
        if self.process.returncode not in (0, 130):
            print(self.said[-4000:])  # noqa: T201  # why it ended so is on its screen alone
        return self.process.returncode

    @property
    def screen(self) -> str:
        found = Screen(self.columns)
        found.feed(self.said.replace("^C", ""))
        return found.text

    def check_whole(self) -> None:
        """It is as it was before."""
        assert termios.tcgetattr(self._slave) == self.before

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self._slave)


@pytest.fixture
def terminal(repository: Path, call: Call) -> Iterator[Call]:
    """Run the plan on a terminal of its own."""
    opened: list[Terminal] = []

    def run(wait: str = "true", **how: Any) -> Terminal:
        if not opened:
            (repository / "PLAN.md").write_text(PLAN.format(wait=wait), encoding="utf-8")
            for arguments in (("add", "-A"), ("commit", "-qm", "plan")):
                subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *arguments], check=True)
            call("init")
        opened.append(Terminal("run", "PLAN.md", **how))
        return opened[-1]

    yield run
    for each in opened:
        each.close()


def test_a_terminal_sees_one_table_and_is_left_with_the_final_one(terminal: Call) -> None:
    shown = terminal()
    assert shown.end() == 0
    shown.check_whole()
    assert "━" in shown.said
    assert "\x1b[36mworking" in shown.said
    assert re.search(r"phase|0 of 2 tasks complete", shown.said)
    final = re.sub(r"in \d+:\d\d", "in 0:00", shown.screen)
    assert final.split("\n") == [
        "",
        "TASK     STATE     MUSICIAN          SESSIONS  TITLE",
        "task-01  complete  musician-task-01  1         Make one ✓",
        "task-02  complete  musician-task-02  1         Make another",
        "",
        "greeter is complete: 2 of 2 tasks complete, 2 sessions, in 0:00.",
        "Merged and verified; your branch trunk was moved to the result.",
        "smoothness of phase 1 (Both): 0.0 on average of 2 submissions, the roughest 0 of 9",
        "What happened, by time: musician timeline. The reports: docs/implementation/reports/",
        "All of it on one page: docs/implementation/reports/greeter-summary.md",
    ]


@pytest.mark.deep
def test_the_window_may_change_its_size(terminal: Call) -> None:
    shown = terminal("sleep 600", columns=130)
    shown.until(is_playing)
    before = len(shown.said)
    shown.resize(50, 12)
    # Frames of the old size may still be on their way; what counts is the last whole one.
    shown.until(lambda said: any(fits(each, 50, 12) for each in said[before:].split("\x1b[J")[1:-1][-1:]))
    shown.resize(0, 0)
    before = len(shown.said)
    shown.until(lambda said: said[before:].count("\x1b[J") > 1)
    shown.type(b"\x03")
    assert shown.end() == 130
    shown.check_whole()


def test_ctrl_c_ends_it_with_the_state_saved_and_the_terminal_whole(terminal: Call) -> None:
    shown = terminal("sleep 600")
    shown.until(is_playing)
    shown.type(b"\x03")
    assert shown.end() == 130
    shown.check_whole()
    assert "State saved; nothing is lost." in shown.screen
    assert "Traceback" not in shown.said
    assert shown.screen.count("TASK ") == 1


def test_a_kill_leaves_the_terminal_whole(terminal: Call) -> None:
    """Nothing that would have to be undone was ever done to it; ``Screen`` refuses what would."""
    shown = terminal("sleep 600")
    shown.until(is_playing)
    shown.process.send_signal(signal.SIGKILL)
    assert shown.end() == -signal.SIGKILL
    shown.check_whole()
    assert "step 1 of 1" in shown.screen


@pytest.mark.deep
def test_a_terminal_that_is_closed_ends_the_run(terminal: Call, call: Call) -> None:
    """SIGHUP, and every write fails from then on."""
    shown = terminal("sleep 600")
    shown.until(is_playing)
    os.close(shown._slave)
    os.close(shown.master)
    assert shown.process.wait(HANG_S) == 130
    shown.master, shown._slave = os.openpty()  # for the end of the test
    assert call("status", "task-01", "--json").json["sessions"][0]["exit_reason"].startswith("interrupted")


@pytest.mark.parametrize("wish", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_who_wants_no_colour_gets_plain_lines(terminal: Call, wish: dict[str, str]) -> None:
    shown = terminal(**wish)
    assert shown.end() == 0
    assert "\x1b" not in shown.said
    assert "task-01  working          musician-task-01 claimed it" in shown.said
