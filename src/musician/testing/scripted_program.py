"""The program behind ``scripted_agent``: JSON lines in, JSON lines out, and nothing but the standard library.

It is told ``open`` with a token, ``play`` with an item, ``steer``, ``interrupt`` and, after it asked for
permission, ``answer``. It plays the acts that its script has for the item, in order; see
``scripted_agent.Act``. It keeps what it was told to play in a file beside the script, by its token, so that
another process can go on from there.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from typing import Any

_PACE_S = 0.02


class Interrupted(Exception):
    pass


class ScriptedProgram:
    def __init__(self, script: Path) -> None:
        self.script = json.loads(script.read_text(encoding="utf-8"))
        self.folder = script.parent
        self.told: Queue[dict[str, Any]] = Queue()
        self.steers: list[str] = []
        self.is_deaf = False
        self.token = ""

    def run(self) -> None:
        threading.Thread(target=self.listen, daemon=True).start()
        while True:
            told = self.told.get()
            if "open" in told:
                self.open(told["open"])
            elif "play" in told:
                self.play(told["play"])
            elif "steer" in told:
                self.say(steered=False)  # between two pieces

    def say(self, **what: Any) -> None:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()

    def listen(self) -> None:
        for line in sys.stdin:
            self.told.put(json.loads(line))
        os._exit(0)

    def open(self, token: str) -> None:
        is_known = bool(token) and self.memory(token).exists()
        self.token = token if is_known else f"scripted-{os.getpid()}-{time.monotonic_ns()}"
        self.memory(self.token).touch()
        self.say(opened=self.token)

    def memory(self, token: str) -> Path:
        return self.folder / f"{token}.memory"

    def play(self, item: str) -> None:
        """Play an item. Each time is counted: a script may have a list of acts for each."""
        with self.memory(self.token).open("a", encoding="utf-8") as memory:
            memory.write(f"{item}\n")
        playings = self.script.get(item, [[]])
        before = self.folder / f"{item}.playings"
        number = int(before.read_text() or 0) if before.exists() else 0
        before.write_text(str(number + 1))
        self.steers.clear()
        self.is_deaf = False
        try:
            ended = self.act(playings[min(number, len(playings) - 1)])
        except Interrupted:
            ended = {"ending": "stopped"}
        self.say(ended=ended)

    def act(self, acts: list[list[Any]]) -> dict[str, Any]:
        for name, *given in acts:
            self.attend()
            if name in ("done", "failed", "lost", "unplayable", "limited", "refused", "spent", "stopped"):
                return {
                    "ending": name,
                    "detail": given[0] if given else "",
                    "wait_s": (given[1:] or [None])[0],
                }
            getattr(self, f"do_{name}")(*given)
        self.attend()
        return {"ending": "done"}

    def attend(self, *, within_s: float = 0.0) -> dict[str, Any] | None:
        """Handle a message; return it if it is the answer to a request for permission."""
        try:
            told = self.told.get(timeout=within_s) if within_s else self.told.get_nowait()
        except Empty:
            return None
        if "interrupt" in told and not self.is_deaf:
            raise Interrupted
        if "steer" in told:
            self.steers.append(told["steer"])
            self.say(steered=True)
        return told if "answer" in told else None

    def wait(self, over: Callable[[], object]) -> None:
        while not over():
            self.attend(within_s=_PACE_S)

    def do_say(self, text: str) -> None:
        self.say(said=f"{text}\n")

    def do_spend(self, usage: dict[str, Any]) -> None:
        self.say(used=usage)

    def do_tool(self, name: str, what: str) -> None:
        done = subprocess.run(["bash", "-c", what], capture_output=True, text=True, check=False)
        self.say(tool=[name, what, done.stdout, done.returncode != 0])

    def do_run(self, command: str) -> None:
        argv = ["bash", "-euc", command]
        with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=sys.stderr, process_group=0) as running:
            try:
                self.wait(lambda: running.poll() is not None)
            except Interrupted:
                os.killpg(running.pid, signal.SIGKILL)
                raise

    def do_ask(self, name: str, given: dict[str, Any]) -> None:
        self.say(ask=[name, given])
        while True:
            told = self.attend(within_s=_PACE_S)
            if told is not None:
                self.do_say(f"leave: {told['answer'] or 'given'}")
                return

    def do_hear(self) -> None:
        self.wait(lambda: self.steers)
        self.do_say(f"heard: {self.steers.pop(0)}")

    def do_recall(self) -> None:
        self.do_say("played: " + ", ".join(self.memory(self.token).read_text(encoding="utf-8").splitlines()))

    def do_wait(self) -> None:
        self.wait(lambda: False)

    def do_hang(self) -> None:
        self.is_deaf = True
        self.wait(lambda: False)

    def do_complain(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)  # noqa: T201

    def do_crash(self, code: int) -> None:
        os._exit(code)


if __name__ == "__main__":
    ScriptedProgram(Path(sys.argv[1])).run()
