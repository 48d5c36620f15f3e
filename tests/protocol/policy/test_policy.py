"""What a musician's session may do and may not, by any tool (D21)."""

from dataclasses import replace

import pytest

from musician.protocol.policy.forbidden import GRANTABLE, Act, Refusal, worded_grants
from musician.protocol.policy.tool_calls import is_own_tool, judge
from tests.protocol.policy.surroundings import HERE, TREE, act_of

FINE = (
    "",
    "   # git push",
    "ls -la",
    'echo "git push"',
    "echo 'git push' # git push",
    "echo git push",
    "printf '%s\\n' 'git push'",
    "git log --grep push",
    "git log --oneline -5 -- push",
    "git log $RANGE",
    "grep push x",
    "grep -rn 'git push' .",
    "xargs grep git push",
    "rg 'git reset --hard'",
    "git status",
    "git st",
    "git me",
    "git",
    "git --version",
    "git help push",
    "git push --help",
    "git commit -m 'git push'",
    'git commit -am "say: git push"',
    "git commit --amend --no-edit",
    "git add -A && git commit -m x",
    "git add $FILES",
    "git diff main...HEAD",
    "git show main:CLAUDE.md",
    "git stash",
    "git stash list",
    "git stash show -p",
    "git branch",
    "git branch --show-current",
    "git branch -a",
    "git branch -vv --sort=-committerdate",
    "git branch --contains HEAD",
    "git branch --list 'x*'",
    "git branch -u origin/x",
    "git worktree list",
    "git reset",
    "git reset HEAD a.py",
    "git reset -- a.py",
    "git reset -q HEAD",
    "git restore --staged a.py",
    "git clean -n",
    "git clean --dry-run",
    "git checkout",
    "git switch",
    "git restore",
    "git symbolic-ref HEAD",
    "git fetch",
    "git fetch --prune origin",
    "git fetch git@host:a/b",
    "git fetch origin main",
    "git fetch origin main:",
    "git pull",
    "git merge main",
    "git rebase --abort",
    "git gc",
    "git tag v1",
    "git rm old.py",
    "git reflog",
    "git config user.name Ada",
    "git config alias.z status; git z",
    "git config --list",
    "git submodule update --init",
    "git bisect start",
    "git remote add x y",
    "git -C",
    "which git",
    "command -v git push",
    "type git",
    "man git push",
    "make push",
    "$MAKE clean",
    "$X",
    '"$VENV/bin/python" -m pytest',
    "npm run push",
    "gh pr view",
    "gh pr list",
    "musician status",
    "musician inbox task-03",
    "python -m pytest -m musician",
    "python -m",
    "cat CLAUDE.md",
    "cp CLAUDE.md /tmp/x",
    "grep x CLAUDE.md > out",
    "sed s/a/b/ CLAUDE.md",
    "head -3 < MEMORY.md",
    "cat temp/task-03-status",
    "echo x > temp/scratch",
    "echo x > status",
    "rm -rf build dist",
    "rm -f a.py",
    "rm /repo/.git/index.lock",
    "rm",
    "find . -name '*.pyc' -delete",
    "find . -exec grep push {} +",
    "sqlite3 -readonly /repo/.musician/comms.db 'select 1'",
    "sqlite3 'file:/repo/.musician/comms.db?mode=ro' .dump",
    "sqlite3 /repo/.musician/comms.db 'SELECT task_id FROM orchestration_tasks;'",
    "sqlite3 other.db 'delete from x'",
    "cat > notes.md <<'EOF'\ngit push\n$(git push)\nEOF",
    "cat > notes.md <<EOF\ngit push\nEOF",
    "cat <<EOF",
    "python - <<'EOF'\nprint('git push')\nEOF",
    "bash script.sh push",
    "bash",
    "bash -c",
    "bash -x script.sh",
    'eval "$(direnv hook bash)"',
    "for f in *.py; do echo $f; done",
    "case $x in push) echo git;; esac",
    '[ -n "$x" ] && ls',
    "echo ${x%push} $((1+1)) $1 $@ $? $",
    "a=(one two); echo ${a[@]}",
    "echo {a,b}{c,d}",
    "read x; echo $x",
    "cd; cd -; ls",
    "trap - EXIT",
    "ls 2>/dev/null >&2",
    "exec 3<>x",
    "env -S",
    "printf '%s' x | xargs ls",
    "$(exit) ls",
    "export X",
    "su -",
    "~/bin/x ~ada",
    "watch",
    "declare -a x",
    "x=; echo $x",
    "env",
    "GIT_CONFIG_GLOBAL=/dev/null pytest",
    "xargs",
    "xargs -I",
    "find . -exec",
    "echo 'unfinished",
    'echo "unfinished',
    "echo `unfinished",
    "echo $'a\\",
    "echo $(unfinished",
    "echo \\",
    "x=(unfinished",
    "ls >",
    "time",
    "function",
    "function f",
    ")",
    "echo $'\\q\\n\\'x'",
    'echo a\\"b "a\\$b\\q"',
    "echo $'plain'",
)


@pytest.mark.parametrize("command", FINE)
def test_reading_building_and_committing_are_not_refused(command: str) -> None:
    assert act_of(command) is None


@pytest.mark.parametrize("command", ["git $X", "git $X origin", "git pu?h", "for c in a b; do git $c; done"])
def test_a_git_command_that_nobody_can_read_is_refused_until_all_it_may_do_is_granted(command: str) -> None:
    refusal = judge("Bash", {"command": command}, HERE)
    assert refusal is not None
    assert refusal.untold
    assert "write the command out" in str(refusal)
    assert act_of(command, replace(HERE, grants=frozenset({Act.PUSH, Act.DISCARD}))) is Act.BRANCH
    assert act_of(command, replace(HERE, grants=frozenset(GRANTABLE))) is None


@pytest.mark.parametrize(
    "command",
    [
        "(" * 60 + "git push",
        "$(" * 60,
        "`" + "env sh " * 40,
        "x" * 300_000,
        "ls\n" * 20_000,
        "echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
        "echo {" + "a," * 100 + "}",
        "git a",
    ],
    ids=range(8),
)
def test_what_is_too_long_or_too_deep_to_be_read_is_refused(command: str) -> None:
    refusal = judge("Bash", {"command": command}, replace(HERE, aliases={"a": "!git a"}))
    assert refusal is not None
    assert refusal.untold or refusal.act is Act.PUSH


@pytest.mark.parametrize(
    ("tool", "given", "act"),
    [
        ("AskUserQuestion", {"questions": []}, Act.ASK_USER),
        ("mcp__local-rag__ingest_data", {"content": "x"}, Act.INGEST),
        ("mcp__plugin_rag_local-rag__ingest_file", {"filePath": "/x"}, Act.INGEST),
        ("mcp__memory__create_entities", {}, Act.MEMORY),
        ("mcp__plugin_x_memory__delete_observations", {}, Act.MEMORY),
        ("Write", {"file_path": "/repo/CLAUDE.md", "content": ""}, Act.MEMORY),
        ("Edit", {"file_path": "MEMORY.md"}, Act.MEMORY),
        ("MultiEdit", {"file_path": "/x/memory/MEMORY.md"}, Act.MEMORY),
        ("NotebookEdit", {"notebook_path": "/repo/temp/task-03-status"}, Act.BOOKKEEPING),
        ("Write", {"file_path": "/repo/.musician/comms.db"}, Act.BOOKKEEPING),
        ("Write", {"file_path": "/repo/src/../.musician/x"}, Act.BOOKKEEPING),
        ("mcp__serena__create_text_file", {"relative_path": "CLAUDE.md"}, Act.MEMORY),
        ("mcp__fs__write_file", {"uri": "file:///repo/CLAUDE.md"}, Act.MEMORY),
        ("mcp__serena__execute_shell_command", {"command": "git push"}, Act.PUSH),
        ("Monitor", {"cmd": "git push"}, Act.PUSH),
        ("EnterWorktree", {"name": "x"}, Act.BRANCH),
        ("Agent", {"prompt": "x", "isolation": "worktree"}, Act.BRANCH),
        ("mcp__github__create_branch", {"branch": "x"}, Act.BRANCH),
        ("mcp__git__git_create_branch", {"branch_name": "x", "repo_path": 3}, Act.BRANCH),
        ("mcp__github__push_files", {}, Act.PUSH),
        ("Write", {"file_path": TREE + "/src/a.py", "content": "git push"}, None),
        ("Write", {"file_path": TREE + "/docs/status"}, None),
        ("Write", {"file_path": 3}, None),
        ("Read", {"file_path": "/repo/CLAUDE.md"}, None),
        ("Grep", {"pattern": "git push", "path": "/repo/CLAUDE.md"}, None),
        ("mcp__fs__read_file", {"path": "/repo/CLAUDE.md"}, None),
        ("mcp__local-rag__query_documents", {"query": "ingest_data"}, None),
        ("mcp__memory__search_nodes", {}, None),
        ("Agent", {"prompt": "git push"}, None),
        ("Bash", {"command": None}, None),
        ("Bash", {}, None),
        ("ingest_data", {}, None),
        ("mcp__plugin_musician_comms-link__propose", {"path": "CLAUDE.md", "command": "git push"}, None),
    ],
)
def test_a_tool_is_refused_for_what_it_would_do(tool: str, given: dict[str, object], act: Act | None) -> None:
    """D21.2, D21.3, S-TOOL-1 for the client's own tools and those of servers."""
    refusal = judge(tool, given, HERE)
    assert (None if refusal is None else refusal.act) is act


def test_own_tools_are_told_by_their_server() -> None:
    assert is_own_tool("mcp__plugin_musician_comms-link__step")
    assert is_own_tool("mcp__comms-link__query")
    assert not is_own_tool("mcp__comms-links__query")


def test_a_database_kept_elsewhere_is_the_programs_too() -> None:
    where = replace(HERE, database="/data/comms/comms.db")
    assert act_of("rm -rf /data/comms", where) is Act.BOOKKEEPING
    assert act_of("rm -rf /data/other", where) is Act.OUTSIDE


@pytest.mark.parametrize("act", GRANTABLE)
def test_a_granted_act_is_let_through_and_no_other(act: Act) -> None:
    samples = {
        Act.PUSH: ("Bash", {"command": "git push"}),
        Act.BRANCH: ("Bash", {"command": "git branch x"}),
        Act.DISCARD: ("Bash", {"command": "git clean -f"}),
        Act.ASK_USER: ("AskUserQuestion", {}),
        Act.INGEST: ("mcp__rag__ingest_data", {}),
        Act.MEMORY: ("Write", {"file_path": "CLAUDE.md"}),
    }
    where = replace(HERE, grants=frozenset({act}))
    for sample, (tool, said) in samples.items():
        assert (judge(tool, said, where) is None) is (sample is act)


def test_a_refusal_says_what_was_tried_why_not_and_what_to_do_instead() -> None:
    refusal = judge("Bash", {"command": "ls && git push origin " + "x" * 500}, HERE)
    assert str(refusal).startswith("Refused (push): git push origin xxx")
    assert "does not publish" in str(refusal)
    assert "`ask_conductor`" in str(refusal)
    assert "`::question TEXT`" in str(refusal)  # of a session that has none of our tools
    assert len(str(refusal)) < 400
    remedy = Refusal(act=Act.MEMORY, what="x").remedy
    assert "`propose`" in remedy
    assert "`::proposal TYPE TITLE`" in remedy


def test_a_grant_is_worded_in_the_message_that_makes_it() -> None:
    said = worded_grants({Act.PUSH, Act.BRANCH}, {Act.INGEST})
    assert said == "\n\nGranted: branch, push\n\nNo longer granted: ingest"
    assert worded_grants((), ()) == ""
