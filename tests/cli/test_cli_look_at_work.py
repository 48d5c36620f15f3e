"""Who reviews is told where the work is, what it changed, and the commands that show it and answer it (AUDIT-N3)."""

import os
import pty
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from musician import service
from musician.project import Project
from musician.protocol.states import State
from musician.testing.waiting import HANG_S
from tests.surroundings import Call, git

ODD = "def greet(name): return name  # \x1b]0;title\x07 \u202e}\n"


def tree_of(folder: Path) -> Path:
    return folder / ".musician" / "trees" / "greeter" / "task-01"


def submit(folder: Path, call: Call) -> None:
    (tree_of(folder) / "greeter.py").write_text("def greet(name): return name\n")
    call("step", "1", "start", "1")
    call("step", "1", "done", "1", "--commit")
    call("checkpoint", "1")


def test_a_review_says_where_the_work_is_and_how_to_see_it(claimed: Path, call: Call) -> None:
    """AUDIT-N3"""
    submit(claimed, call)
    shown = call("review", "show", "1").out.splitlines()
    assert f"its work: branch musician/greeter/task-01, tree {tree_of(claimed)}" in shown
    assert "  greeter.py (+1 -0)" in shown
    assert "look at it: musician review diff task-01 (or checkout, open)" in shown
    assert "+def greet(name): return name" in call("review", "diff", "1").out
    assert shown[-4:] == [
        "answer it with one of:",
        "  musician review approve task-01",
        '  musician review reject task-01 "what is wrong"',
        '  musician review fix task-01 "what to do"',
    ]


def test_the_work_is_in_the_document_too(claimed: Path, call: Call) -> None:
    """AUDIT-N3"""
    submit(claimed, call)
    work = call("review", "show", "1", "--json").json["work"]
    assert work["commit"] == git(claimed, "rev-parse", "musician/greeter/task-01").strip()
    assert work["files"] == [{"path": "greeter.py", "added": 1, "removed": 0}]


def test_what_was_never_begun_has_no_work_to_look_at(claimed: Path, call: Call) -> None:
    assert call("review", "show", "2", "--json").json["work"] is None
    assert "its work" not in call("review", "show", "2").out


def change(folder: Path) -> None:
    """Everything a change may have: what acts on a terminal, a binary file, a new name, an odd one."""
    tree = tree_of(folder)
    (tree / "greeter.py").write_text(ODD)
    (tree / "blob").write_bytes(b"\0\xff\x1b[31m")
    (tree / "test_greeter.py").rename(tree / "test_\x1b[2Jgreeter.py")


def on_a_terminal(command: tuple[str, ...], *words: str, expect: int = 0, **variables: str) -> str:
    """What a person sees who is asked nothing."""
    leader, follower = pty.openpty()
    ran = subprocess.Popen(
        [*command, *words], stdin=follower, stdout=follower, stderr=follower, env={**os.environ, **variables}
    )
    os.close(follower)
    seen = b""
    try:
        while chunk := os.read(leader, 65536):
            seen += chunk
    except OSError:  # the other side is closed
        pass
    os.close(leader)
    assert ran.wait(HANG_S) == expect, seen
    return seen.decode()


def test_a_diff_hides_nothing_and_acts_on_no_terminal_whatever_git_is_configured_to_run(
    claimed: Path, call: Call, command: tuple[str, ...]
) -> None:
    """An external program, a text conversion, colours, prefixes: none of a configuration's is heeded."""
    for name, value in {
        "diff.external": "touch ran; false",
        "diff.odd.textconv": "touch ran; false",
        "color.ui": "always",
        "diff.noprefix": "true",
        "core.pager": "touch ran; false",
    }.items():
        git(claimed, "config", name, value)
    (claimed / ".git" / "info" / "attributes").write_text("* diff=odd\n")
    change(claimed)
    call("step", "1", "start", "1")
    call("step", "1", "done", "1", "--commit")
    shown = call("review", "diff", "1").out
    assert r"+def greet(name): return name  # ␛]0;title␇ \u202e}" in shown
    assert "+++ b/greeter.py" in shown
    assert "Binary files /dev/null and b/blob differ" in shown
    assert "rename to " in shown
    assert "\x1b" not in shown
    assert call("review", "diff", "1", "--json").json["diff"].count(ODD) == 1
    stat = call("review", "diff", "1", "--stat").out
    assert stat.splitlines()[-1].strip().startswith("3 files changed, 1 insertion(+)")
    paged = on_a_terminal(command, "review", "diff", "1", GIT_PAGER="sed s/^/paged:/")
    assert "paged:\x1b[1mdiff --git" in paged
    assert "\x1b]0;title" not in paged
    assert not (claimed / "ran").exists()
    plain = on_a_terminal(command, "review", "diff", "1", GIT_PAGER="no-such-pager", NO_COLOR="1")
    assert "␛]0;title" in plain
    assert "\x1b" not in plain


def test_only_what_came_since_a_person_judged_is_shown_if_that_is_asked(claimed: Path, call: Call) -> None:
    submit(claimed, call)
    all_of_it = call("review", "diff", "1", "--since-review")
    assert "no person has judged task-01 yet: this is all of it" in all_of_it.err
    assert "+def greet(name)" in all_of_it.out
    call("review", "reject", "1", "add a farewell")
    call("inbox", "1", "--ack")
    (tree_of(claimed) / "farewell.py").write_text("BYE = 1\n")
    call("checkpoint", "1")
    since = call("review", "diff", "1", "--since-review").out
    assert "+BYE = 1" in since
    assert "greet" not in since
    assert "+def greet" in call("review", "diff", "1").out
    with closing(Project(str(claimed))) as project:  # a rule judges, and nobody has looked
        service.judge(project.store, "task-01", State.REVIEW_FAILED, "say it twice")
    call("inbox", "1", "--ack")
    (tree_of(claimed) / "farewell.py").write_text("BYE = 2\n")
    call("checkpoint", "1")
    since = call("review", "diff", "1", "--since-review").out
    assert "+BYE = 2" in since
    assert "+BYE = 1" not in since
    assert "greet" not in since


def test_a_scratch_tree_is_a_persons_own_and_is_not_removed_with_what_they_did(
    claimed: Path, call: Call
) -> None:
    submit(claimed, call)
    place = Path(call("review", "checkout", "1", "--json").json["tree"])
    assert (place / "greeter.py").read_text() == "def greet(name): return name\n"
    assert "checkouts" not in git(claimed, "worktree", "list")
    assert "musician" not in git(claimed, "status", "--porcelain")
    (place / "mine.py").touch()
    assert "mine.py" not in git(claimed, "log", "--all", "--name-only")
    assert "holds changed or new files" in call("review", "checkout", "1", expect=4).err
    git(place, "add", "mine.py")
    git(place, "commit", "-qm", "mine")
    assert "holds commits" in call("review", "checkout", "1", "--remove", expect=4).err
    git(place, "reset", "-q", "--hard", "HEAD~")
    (tree_of(claimed) / "greeter.py").write_text("later\n")
    git(tree_of(claimed), "commit", "-qam", "later")
    assert "--remove" in call("review", "checkout", "1").out
    assert (place / "greeter.py").read_text() == "later\n"
    call("review", "checkout", "1", "--remove")
    assert not place.exists()
    call("review", "checkout", "1", "--remove", expect=4)


def test_the_users_tools_open_the_change_and_none_that_the_repository_names(
    claimed: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(claimed, call)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    git(claimed, "config", "diff.tool", "evil")
    git(claimed, "config", "difftool.evil.cmd", f"touch '{tmp_path}/ran'")
    assert "neither a difftool nor an editor" in call("review", "open", "1", expect=2).err
    monkeypatch.setenv("EDITOR", f'sh -c \'cat "$@" > "{tmp_path}/read"\' -')
    call("review", "open", "1")
    assert (tmp_path / "read").read_text() == "def greet(name): return name\n"
    mine = tmp_path / "gitconfig"
    mine.write_text(f'[diff]\ntool = mine\n[difftool "mine"]\ncmd = cp -r "$REMOTE" \'{tmp_path}/seen\'\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(mine))
    git(claimed, "config", "difftool.mine.cmd", f"touch '{tmp_path}/ran'")
    call("review", "open", "1")
    assert (tmp_path / "seen" / "greeter.py").exists()
    assert not (tmp_path / "ran").exists()


def test_files_of_any_name_are_listed_one_a_line_and_opened(
    claimed: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line end broke the list, a name that begins with a dash was an option of the editor's, one in bytes was left
    out."""
    names = [b"--force", b"a\nb.txt", b"t\tb", b"c\xff.bin", b"d 'e"]
    for name in names:
        Path(tree_of(claimed), os.fsdecode(name)).write_text("x\n")
    submit(claimed, call)
    listed = call("review", "show", "1").out
    for shown in ("--force", "a\\nb.txt", "t\\tb", "c\\xff.bin", "d 'e", "greeter.py"):
        assert f"\n  {shown} (+1 -0)\n" in listed, listed
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f'sh -c \'printf "%s\\0" "$@" > "{tmp_path}/opened"\' -')
    call("review", "open", "1")
    opened = (tmp_path / "opened").read_bytes().split(b"\0")[:-1]
    assert set(opened) == {b"./" + name for name in (*names, b"greeter.py")}


def test_what_has_no_work_is_refused_with_what_to_do(claimed: Path, call: Call) -> None:
    for what in ("diff", "checkout", "open"):
        assert "musician status task-02" in call("review", what, "2", expect=4).err
        call("review", what, "9", expect=3)


def test_a_message_a_verification_and_a_step_are_shown_whole_by_their_numbers(
    claimed: Path, call: Call
) -> None:
    submit(claimed, call)
    found = call("review", "show", "1", "--json").json
    message = call("show", "message", str(found["message"]["id"]))
    assert "REVIEW REQUEST" in message.out
    number = found["verification"]["id"]
    assert f"verification {number} of checkpoint 1" in call("review", "show", "1").out
    verified = call("show", "verification", str(number)).out
    assert "`python3 -m unittest -q`: passed in" in verified
    assert call("show", "verification", str(number), "--json").json["result"]["passed"] is True
    step = call("show", "step", "1", "1").out
    assert step.startswith("step 1: Write it\n")
    assert f"look at it: git show {found['work']['commit'][:12]}" in step
    for kind in ("message", "verification"):
        call("show", kind, "999", expect=3)
    call("show", "step", "1", "9", expect=3)
    call("show", "step", "9", "1", expect=3)
