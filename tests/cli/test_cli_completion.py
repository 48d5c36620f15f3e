"""A shell completes commands, options and tasks, by the script that one command prints."""

import subprocess
from pathlib import Path

import pytest

from tests.surroundings import Call

IN_BASH = """
eval "$($MUSICIAN completion bash)"
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_musician_completion musician
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("musician ta", {"task"}),
        ("musician plan gr", {"graph"}),
        ("musician run --ev", {"--events"}),
        ("musician review show task-0", {"task-01", "task-02"}),
        ("musician status task-02", {"task-02"}),
        ("musician log task-01", {"task-01"}),
        ("musician plan show ''", {"greeter"}),
        ("musician plan pause gr", {"greeter"}),
        ("musician timeline --plan ''", {"greeter"}),
        ("musician work task-01 --agent sh", {"shell"}),
        ("musician no-such-command x", set()),
    ],
)
def test_bash_completes_what_the_program_knows(
    ready: Path, command: tuple[str, ...], tmp_path: Path, words: str, completed: set[str]
) -> None:
    program = tmp_path / "bin" / "musician"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec " + " ".join(command) + ' "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-c", IN_BASH.format(words=words)],
        env={"PATH": path, "MUSICIAN": str(program), "HOME": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert (set(done.stdout.split()), done.stderr) == (completed, "")


@pytest.mark.parametrize(
    ("shell", "said"), [("bash", "complete -o nosort"), ("zsh", "compdef"), ("fish", "complete ")]
)
def test_each_shell_has_its_script_and_ones_own_is_known(
    call: Call, monkeypatch: pytest.MonkeyPatch, shell: str, said: str
) -> None:
    script = call("completion", shell).out
    assert said in script
    assert "_MUSICIAN_COMPLETE" in script
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    assert call("completion").out == script
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert "complete -o nosort" in call("completion").out


def test_what_is_put_away_is_completed_too(ready: Path, call: Call, program: Call) -> None:
    def completed(words: str) -> list[str]:
        env = {
            "_MUSICIAN_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        return program(cwd=ready, env={"PATH": "/usr/bin:/bin", **env}).out.split()

    call("plan", "archive", "greeter", "--abandon", "for the test")
    assert completed("musician log ") == []
    assert completed("musician plan restore ") == ["plain,greeter"]
    assert completed("musician status --plan greeter ") == ["plain,task-01", "plain,task-02"]


def test_a_zsh_without_completion_is_given_it_and_the_first_line_is_for_its_loader(call: Call) -> None:
    first, second, *_ = call("completion", "zsh").out.splitlines()
    assert first == "#compdef musician"
    assert "compinit" in second


def test_nothing_is_completed_where_there_is_no_repository(tmp_path: Path, program: Call) -> None:
    env = {
        "PATH": "/usr/bin:/bin",
        "_MUSICIAN_COMPLETE": "bash_complete",
        "COMP_WORDS": "musician status t",
        "COMP_CWORD": "2",
    }
    done = program(cwd=tmp_path, env=env)
    assert (done.out.strip(), done.err) == ("", "")


def test_the_version_says_what_it_found(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, *found = call("--version").out.splitlines()
    assert first.startswith("musician, version ")
    named = {line.split()[0]: line.split(maxsplit=1)[1].strip() for line in found}
    assert list(named) == ["from", "python", "sqlite", "git", "agents", "system"]
    assert named["agents"].startswith("shell")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git     none on PATH" in call("--version").out
