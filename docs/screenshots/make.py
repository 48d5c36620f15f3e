"""Makes the pictures of the dashboard that README and docs/DASHBOARD.md show: `make screenshots`.

It plays `musician demo --scripted`, has a second plan wait for a review there, and looks at both with Chromium.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
MUSICIAN = (sys.executable, "-m", "musician")
MOST_BYTES = 150_000
WIDE, PHONE = (1120, 760), (390, 760)

PLAN = """\
---
plan: farewell
test: "true"
---
# Say goodbye

## Phase 1: The words

### task-11: Say goodbye in three languages
#### Step 1: Write the words
Write `farewell.py`.
#### Checkpoint 1: they can be said

### task-12: Wave
#### Step 1: Draw a hand
Draw it.
#### Step 2: Have it move
Move it.
#### Checkpoint 1: it waves

## Phase 2: The manners

### task-13: Say it politely
#### Step 1: Ask for the name
Ask for it.
#### Checkpoint 1: it is polite

### task-14: Say it in time
- after: task-13
#### Step 1: Look at the clock
Look at it.
#### Checkpoint 1: nobody misses a train
"""
BEFORE = '"""Says goodbye."""\n\n\ndef farewell(name):\n    return "Bye, " + name\n'
AFTER = '''"""Says goodbye in three languages."""

WORDS = {"en": "Goodbye", "de": "Auf Wiedersehen", "fr": "Au revoir"}


def farewell(name: str, language: str = "en") -> str:
    """Return what is said to somebody who leaves."""
    return f"{WORDS[language]}, {name}!"
'''


def main(kept: Path | None = None) -> None:
    with TemporaryDirectory(prefix="musician-screenshots-") as folder:
        if kept is None:
            kept = Path(folder) / "pigeonpost"
            run(Path(folder), "demo", "--scripted", "--keep", os.fspath(kept))
        project = next(
            path.parent for path in (kept / ".musician", *kept.glob("*/.musician")) if path.is_dir()
        )
        play(project)
        with subprocess.Popen(
            (*MUSICIAN, "dashboard"), cwd=project, stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                assert server.stdout is not None
                found = re.search(r"http\S+", server.stdout.readline())
                assert found is not None
                with sync_playwright() as driver:
                    browser = driver.chromium.launch(
                        executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                    )
                    shoot(browser, found[0])
                    browser.close()
            finally:
                server.terminate()


def run(folder: Path, *words: str, **variables: str) -> None:
    subprocess.run((*MUSICIAN, *words), cwd=folder, env={**os.environ, **variables}, check=True)


def play(project: Path) -> None:
    """A person plays tasks of a second plan by hand, one up to its submission; what is finished is brought back."""
    (project / "FAREWELL.md").write_text(PLAN, encoding="utf-8")
    (project / "farewell.py").write_text(BEFORE, encoding="utf-8")
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("add", "FAREWELL.md", "farewell.py"), ("commit", "-qm", "Plan the farewell")):
        subprocess.run(("git", *who, *words), cwd=project, check=True)
    run(project, "plan", "lock", "FAREWELL.md")
    session = {"MUSICIAN_SESSION": "ada-1"}
    run(project, "claim", "task-11", **session)
    run(project, "inbox", "task-11", "--ack", **session)
    (project / ".musician/trees/farewell/task-11/farewell.py").write_text(AFTER, encoding="utf-8")
    for words in (
        ("step", "11", "start", "1"),
        ("step", "11", "done", "1", "--commit"),
        ("checkpoint", "11"),
    ):
        run(project, words[0], f"task-{words[1]}", *words[2:], **session)
    session = {"MUSICIAN_SESSION": "ben-1"}
    run(project, "claim", "task-12", **session)
    run(project, "inbox", "task-12", "--ack", **session)
    run(project, "step", "task-12", "start", "1", **session)
    run(project, "plan", "restore", "pigeonpost")


def shoot(browser: Browser, address: str) -> None:
    base = address.partition("/enter")[0]
    state = None
    for name, path, size, scheme in (
        ("home", "/", WIDE, "light"),
        ("task", "/tasks/task-03", WIDE, "light"),
        ("review", "/tasks/task-11/review", WIDE, "light"),
        ("dark", "/tasks/task-01", WIDE, "dark"),
        ("phone", "/", PHONE, "light"),
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
        page.screenshot(path=file)
        assert file.stat().st_size <= MOST_BYTES, f"{file.name} is too large for a repository"
        state = context.storage_state()
        context.close()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
