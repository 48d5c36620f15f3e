"""Makes the pictures of the dashboard that README and docs/DASHBOARD.md show: `make screenshots`.

It plays `musician demo`, then a second plan there, and looks at both with Chromium while the run goes on. A picture
ends where a part of its page does, so that it cuts no line in two.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

from musician.project import Project
from musician.top.app import Top

HERE = Path(__file__).parent
MUSICIAN = (sys.executable, "-m", "musician")
MOST_BYTES = 150_000
WIDE, PHONE, EDGE = (1120, 760), (390, 760), 8

PLAN = """\
---
plan: farewell
test: python3 -m unittest -q
---
# Say goodbye

## Phase 1: The words

### task-11: Say goodbye in three languages
```yaml task
review: human
```
#### Step 1: Write the words
```bash run
echo "::context 22%"
cp "$PARTS/farewell.py" "$PARTS/test_farewell.py" .
mv test_farewell.py tests/
```
#### Checkpoint 1: they can be said

### task-12: Wave
#### Step 1: Draw a hand
```bash run
echo "::context 31%"
cp "$PARTS/wave.py" .
```
#### Step 2: Have it move
```bash run
echo "::context 47%"
sleep 600
```

### task-13: Say it by post
#### Step 1: Write the letter
```bash run
echo "::context 18%"
cp "$PARTS/letter.py" farewell.py
```
#### Step 2: Find the stamps
```bash run
echo "::question Shall the letter be signed by the pigeon, too?"
sleep 600
```

### task-14: Keep a guest book
#### Step 1: Bind the pages
```bash run
echo "::context 9%"
cp "$PARTS/wave.py" guests.py
```

## Phase 2: The manners

### task-15: Say it politely
#### Step 1: Ask for the name
```bash run
true
```

### task-16: Say it in time
```yaml task
after: [task-15]
```
#### Step 1: Look at the clock
```bash run
true
```
"""
BEFORE = '"""Says goodbye."""\n\n\ndef farewell(name):\n    return "Bye, " + name\n'
PARTS = {
    "farewell.py": '''"""Says goodbye in three languages."""

WORDS = {"en": "Goodbye", "de": "Auf Wiedersehen", "fr": "Au revoir"}


def farewell(name: str, language: str = "en") -> str:
    """Return what is said to somebody who leaves."""
    return f"{WORDS[language]}, {name}!"
''',
    "test_farewell.py": """\
import unittest

from farewell import farewell


class Farewell(unittest.TestCase):
    def test_it_is_said_in_the_language_that_is_asked_for(self):
        self.assertEqual(farewell("Zoë", "fr"), "Au revoir, Zoë!")
""",
    "letter.py": '"""Says goodbye by post."""\n\n\ndef farewell(name):\n    return f"Dear {name},\\n\\nfarewell."\n',
    "wave.py": "HAND = 5\n",
}
MOST_S = 180.0
"""Until the second plan has come to where it is looked at."""


def main(kept: Path | None = None) -> None:
    with TemporaryDirectory(prefix="musician-screenshots-") as folder:
        if kept is None:
            kept = Path(folder) / "pigeonpost"
            run(Path(folder), "demo", "--keep", os.fspath(kept))
        project = next(
            path.parent for path in (kept / ".musician", *kept.glob("*/.musician")) if path.is_dir()
        )
        played = play(project)
        try:
            wait(project, played)
            look(project)
        finally:
            played.terminate()
            played.wait()


def look(project: Path) -> None:
    with subprocess.Popen((*MUSICIAN, "dashboard"), cwd=project, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http\S+", server.stdout.readline())
            assert found is not None
            picture = asyncio.run(draw_terminal(project))
            with sync_playwright() as driver:
                browser = driver.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                shoot(browser, found[0])
                shoot_terminal(browser, picture)
                browser.close()
        finally:
            server.terminate()


def run(folder: Path, *words: str) -> None:
    subprocess.run((*MUSICIAN, *words), cwd=folder, check=True)


def play(project: Path) -> "subprocess.Popen[bytes]":
    """Have a second plan played until one task is done, one waits for a review, one has a question and one runs on."""
    parts = project.parent / "parts"
    parts.mkdir()
    for name, text in PARTS.items():
        (parts / name).write_text(text, encoding="utf-8")
    (project / "FAREWELL.md").write_text(PLAN, encoding="utf-8")
    (project / "farewell.py").write_text(BEFORE, encoding="utf-8")
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("add", "FAREWELL.md", "farewell.py"), ("commit", "-qm", "Plan the farewell")):
        subprocess.run(("git", *who, *words), cwd=project, check=True)
    return subprocess.Popen(
        (*MUSICIAN, "run", "FAREWELL.md", "--jobs", "4"),
        cwd=project,
        env={**os.environ, "PARTS": os.fspath(parts)},
        stdout=subprocess.DEVNULL,
    )


def wait(project: Path, played: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + MOST_S
    while not has_come_there(project):
        if played.poll() is not None or time.monotonic() > until:
            raise AssertionError("the second plan did not come there")
        time.sleep(1)


def has_come_there(project: Path) -> bool:
    done = subprocess.run((*MUSICIAN, "status", "--json"), cwd=project, capture_output=True, check=True)
    told = json.loads(done.stdout)
    states = [task["state"] for task in told["tasks"] if task["plan_id"] == "farewell"]
    return len(told["needs_human"]) == 2 and "complete" in states and bool(told["ahead"])


def shoot(browser: Browser, address: str) -> None:
    base = address.partition("/enter")[0]
    state = None
    for name, path, size, scheme, last in (
        ("home", "/", WIDE, "light", "#plans"),
        ("task", "/plans/pigeonpost/tasks/task-03", WIDE, "light", "#evidence"),
        ("review", "/tasks/task-11/review", WIDE, "light", ".verdict"),
        ("dark", "/plans/pigeonpost/tasks/task-01", WIDE, "dark", "#life"),
        ("phone", "/", PHONE, "light", "#needs"),
    ):
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, storage_state=state
        )
        page = context.new_page()
        page.goto(address if state is None else base)
        page.goto(base + path)
        if name == "review":
            page.locator(".diff").first.wait_for()
        file = HERE / f"{name}.png"
        end = page.locator(last).bounding_box()
        assert end is not None
        height = end["y"] + end["height"] + EDGE
        page.screenshot(path=file, full_page=True, clip={"x": 0, "y": 0, "width": size[0], "height": height})
        assert file.stat().st_size <= MOST_BYTES, f"{file.name} is too large for a repository"
        state = context.storage_state()
        context.close()


async def draw_terminal(project: Path) -> str:
    """Draw ``musician top`` as it shows the change that waits for a review."""
    opened = Project(os.fspath(project))
    top = Top(opened)
    async with top.run_test(size=(100, 30)) as pilot:
        for keys in ((), ("slash", *"task-11", "enter"), ("d",), ("G",), ("enter",)):
            await pilot.press(*keys)
            await asyncio.sleep(1)
        picture = top.export_screenshot(title="musician top")
    opened.close()
    return picture


def shoot_terminal(browser: Browser, picture: str) -> None:
    page = browser.new_page(viewport={"width": 1120, "height": 760})
    page.set_content(picture)
    file = HERE / "top.png"
    page.locator("svg").screenshot(path=file)
    assert file.stat().st_size <= MOST_BYTES, f"{file.name} is too large for a repository"
    page.close()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
