"""What a musician's session may not do, however it is spelled, and what it may (D21)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.policy.forbidden import GRANTABLE, Act, Refusal, worded_grants
from musician.protocol.policy.tool_calls import Surroundings, is_own_tool, judge

TREE = "/repo/.musician/trees/task-03"
HERE = Surroundings(
    cwd=TREE,
    root="/repo",
    tree=TREE,
    database="/repo/.musician/comms.db",
    aliases={"p": "push", "pf": "push --force", "sh": "!git push", "st": "status", "bad": "'", "me": "me"},
    variables={"HOME": "/home/ada", "PWD": TREE, "MUSICIAN_DB": "/repo/.musician/comms.db"},
)


def act_of(command: str, where: Surroundings = HERE) -> Act | None:
    """What a shell command is refused for."""
    refusal = judge("Bash", {"command": command}, where)
    return None if refusal is None else refusal.act


PUSHES = (
    "git push",
    "git -C . push origin HEAD",
    "git -c x=y push",
    "git --git-dir=.git --work-tree . push",
    "git --no-pager -C /x push --dry-run",
    "/usr/bin/git push",
    "\\git push",
    "g'i't \"pu\"sh",
    "$'\\x67it' $'push'",
    "$'\\147it\\u0020'; $'gi\\x74' push",
    'git $"push"',
    "sh -c 'git push'",
    'bash -lc "cd x && git push"',
    "bash -o pipefail -c 'git push'",
    "bash --norc -c 'git push'",
    "env X=1 git push",
    "env -i -u Y PATH=/bin git push",
    "env -S 'git push'",
    "env -Sgit push",
    "X=1 Y=2 git push",
    "command git push",
    "command -p git push",
    "builtin command git push",
    "exec git push",
    "nohup git push &",
    "sudo -u ada -- git push",
    "sudo GIT_TRACE=1 git push",
    "timeout 5 git push",
    "timeout -k 1 5 git push",
    "nice -n 5 git push",
    "time git push",
    "time -p git push",
    "flock lock git push",
    "flock lock -c 'git push'",
    "su -c 'git push' ada",
    "watch -n 1 git push",
    "echo x | xargs git push",
    "echo push | xargs git",
    "echo push | xargs -I% git %",
    "xargs -I{} git push {} < remotes",
    "xargs git push",
    "find . -name x -exec git push {} \\;",
    "find . -execdir sh -c 'git push' {} +",
    "$(git push)",
    "echo $(git push)",
    'echo "now: $(git push 2>&1)"',
    "echo `git push`",
    "echo `echo \\`git push\\``",
    "diff <(git push) x",
    "tee >(git push)",
    "git $(echo push)",
    "git `printf push`",
    "$(echo git) push",
    "G=git; $G push",
    "G=git P=push; ${G} ${P}",
    "export G=git; $G push",
    "cmd='git push'; $cmd origin",
    'cmd=(git push); "${cmd[@]}"',
    "c=push; eval git $c",
    "eval 'git push'",
    "{git,push}",
    "git {push,origin}",
    "ls; git push",
    "ls && git push || true",
    "ls | git push",
    "ls |& git push",
    "ls\ngit push",
    "ls & git push",
    "(cd x; git push)",
    "{ git push; }",
    "! git push",
    "if git push; then ls; fi",
    "if true; then git push; fi",
    "for x in a b; do git push $x; done",
    "for c in push; do git $c; done",
    "while ! git push; do sleep 1; done",
    "case $x in (a) git push;; esac",
    "case $x in a|b) git push;; esac",
    "x=$(case $y in a) git push;; esac)",
    "f() { git push; }; f",
    "function f { git push; }; f",
    "trap 'git push' EXIT",
    "cat <<EOF\n$(git push)\nEOF",
    "sh <<EOF\ngit push\nEOF",
    "bash -s <<'EOF'\ngit push\nEOF",
    "bash <<-EOF\n\tgit push\n\tEOF",
    "cat <<'EOF' | sh\ngit push\nEOF",
    "echo 'git push' | bash",
    "sh <<< 'git push'",
    "cat <<A <<B; git push\na\nA\nb\nB",
    "echo $((1 << 2)); git push",
    "echo $((1 + $(git push)))",
    "((i << 2))\ngit push",
    "$((git push) )",
    "echo ${x:-$(git push)}",
    'echo "${x:-`git push`}"',
    "git \\\npush",
    "git push\necho '",
    "git -c alias.z=push z",
    "git p",
    "git P origin",
    "git pf",
    "git sh",
    "git -c alias.q='!git push' q",
    "git config --global alias.z push && git z",
    "git config set alias.z push; git z",
    "git send-pack origin",
    "/usr/lib/git-core/git-push",
    "git subtree push --prefix x",
    "git lfs push origin",
    "git svn dcommit",
    "git submodule foreach --recursive 'git push'",
    "git bisect run git push",
    "gh pr create --fill",
    "gh pr merge -R a/b 3",
    "jj git push",
    "$X push",
    "git.exe push",
    "busybox sh -c 'git push'",
    "git bad",
    "function f() { git push; }; f",
    "echo $(echo a; git push)",
    "x=1 sh -c 'git push'",
    "((git push))",
    "/usr/bin/gi? push",
    "echo ${x:-$((1 + $(git push)))}",
    "cat <<EOF\n$(sh <<X\ngit push\nX\n)\nEOF",
)

BRANCHES = (
    "git branch new",
    "git branch -f new HEAD",
    "git branch -m old new",
    "git branch --copy old new",
    "git branch $NAME",
    "git checkout -b new",
    "git checkout -B new origin/x",
    "git checkout --orph new",
    "git checkout --detach",
    "git switch -c new",
    "git switch main",
    "git worktree add ../x",
    "git worktree move a b",
    "git update-ref refs/heads/x HEAD",
    "git symbolic-ref HEAD refs/heads/x",
    "git fetch origin main:new",
    "git fetch . +HEAD:refs/heads/new",
    "git pull origin main:new",
    "git stash branch new",
    "git fast-import < dump",
    "echo abc > .git/refs/heads/new",
    "echo 'ref: refs/heads/x' > /repo/.git/HEAD",
    "cp x /repo/.git/worktrees/task-03/HEAD",
)

DISCARDS = (
    "git reset --hard",
    "git reset --har HEAD~1",
    "git reset --keep HEAD~1",
    "git reset HEAD~1",
    "git reset --soft HEAD^",
    "git reset $X",
    "git clean -fd",
    "git clean -xdf .",
    "git checkout -- a.py",
    "git checkout a.py",
    "git checkout HEAD a.py",
    "git checkout .",
    "git restore a.py",
    "git restore -SW a.py",
    "git restore --staged --worktree a.py",
    "git switch -f main",
    "git stash drop",
    "git stash clear",
    "git branch -D x",
    "git branch --merged | xargs git branch -d",
    "git branch --del x",
    "git worktree remove x",
    "git worktree prune",
    "git update-ref -d refs/heads/x",
    "git rebase -i HEAD~3",
    "git pull --rebase",
    "git filter-branch --all",
    "git reflog expire --all",
    "git gc --prune=now",
    "git prune",
    "git read-tree -u --reset HEAD",
    "git tag -d v1",
    "git rm -rf .",
    "rm -rf .git",
    "rm -rf /repo/.git/objects",
    "rm -rf .",
    "rm -rf *",
    "rm -rf ./*",
    "rm -rf /repo",
    "rm -rf /",
    "rm -rf ../../..",
    "cd /repo && rm -rf ./*",
    "mv /repo/.git /tmp/x",
    "$X reset --hard",
    "git stash $X",
)

MEMORIES = (
    "echo x > CLAUDE.md",
    "echo x >> docs/MEMORY.md",
    "echo x >| ~/.claude/CLAUDE.md",
    "cat a &> CLAUDE.local.md",
    "for x in a; do echo $x; done > CLAUDE.md",
    "{ echo a; } 2>&1 >> claude.md",
    "(echo a) > CLAUDE.md",
    "echo x | tee -a CLAUDE.md",
    "sed -i s/a/b/ CLAUDE.md",
    "sed -Ei.bak s/a/b/ CLAUDE.md",
    "perl -pi -e s/a/b/ MEMORY.md",
    "cp x CLAUDE.md",
    "cp ../CLAUDE.md .",
    "mv CLAUDE.md x",
    "ln -sf x CLAUDE.md",
    "rm CLAUDE.md",
    "git rm CLAUDE.md",
    "git mv x CLAUDE.md",
    "dd if=x of=CLAUDE.md",
    "curl -o CLAUDE.md http://x",
    "install -t . x/CLAUDE.md",
    'echo x > "$DIR/CLAUDE.md"',
    "cat > CLAUDE.md <<'EOF'\nx\nEOF",
    "truncate -s 0 MEMORY.md",
)

BOOKS = (
    "sqlite3 /repo/.musician/comms.db \"UPDATE orchestration_tasks SET state='complete'\"",
    'sqlite3 "$MUSICIAN_DB" < x.sql',
    "sqlite3 /repo/.musician/comms.db 'select 1; delete from history'",
    "cd /repo && sqlite3 .musician/comms.db",
    "rm /repo/.musician/comms.db-wal",
    "rm -rf /repo/.musician",
    "rm -rf /repo/.musi*/ ; rm -rf /repo/.musician/locks",
    "echo x > /repo/.musician/config.toml",
    "echo 'step 2 completed' >> temp/task-03-status",
    "echo x >> /repo/temp/task-03-deviations",
    "cd /repo/temp; tee task-04-HANDOFF < x",
    "mkdir -p .musician && echo x > .musician/y",
    "GIT_CONFIG_COUNT=0 ./deploy",
    "unset GIT_CONFIG_COUNT; ./deploy",
    "env -u GIT_CONFIG_COUNT ./deploy",
    "MUSICIAN_SESSION= ./deploy",
)

CONDUCTS = (
    "musician send task-03 'go on' --grant push",
    "musician review approve task-03",
    "musician --db x review reject task-03 no",
    "python -m musician proposals merge 3",
    ".venv/bin/python3.11 -m musician stop task-04",
    "musician plan amend PLAN.md",
    "musician run PLAN.md",
    "python -m musician send task-03 x",
)

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
    "git stash pop",
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


@pytest.mark.parametrize(
    ("act", "command"),
    [
        (act, command)
        for act, commands in (
            (Act.PUSH, PUSHES),
            (Act.BRANCH, BRANCHES),
            (Act.DISCARD, DISCARDS),
            (Act.MEMORY, MEMORIES),
            (Act.BOOKKEEPING, BOOKS),
            (Act.CONDUCT, CONDUCTS),
        )
        for command in commands
    ],
)
def test_a_shell_command_is_refused_for_what_it_would_do(act: Act, command: str) -> None:
    """D21.1, D21.3, however it is spelled."""
    assert act_of(command) is act


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
        "`" + "eval " * 40,
        "x" * 300_000,
        "ls\n" * 5_000,
        "echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
        "echo {" + "a," * 100 + "}",
        "git a",
        "a=(" + "x " * 80 + "); echo ${a[@]}",
    ],
    ids=range(9),
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
    """D21.2, D21.3 for the client's own tools and those of servers."""
    refusal = judge(tool, given, HERE)
    assert (None if refusal is None else refusal.act) is act


def test_own_tools_are_told_by_their_server() -> None:
    assert is_own_tool("mcp__plugin_musician_comms-link__step")
    assert is_own_tool("mcp__comms-link__query")
    assert not is_own_tool("mcp__comms-links__query")


def test_a_database_kept_elsewhere_is_the_programs_too() -> None:
    where = replace(HERE, database="/data/comms/comms.db")
    assert act_of("rm -rf /data/comms", where) is Act.BOOKKEEPING
    assert act_of("rm -rf /data/other", where) is None


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
    assert "ask_conductor" in str(refusal)
    assert len(str(refusal)) < 400
    assert "propose" in Refusal(act=Act.MEMORY, what="x").remedy


_PREFIXES = st.sampled_from(
    [
        "env A=1",
        "timeout 9",
        "sudo -u me",
        "nohup",
        "command",
        "exec",
        "nice -n 5",
        "xargs -n 1",
        "time",
        "A=1",
    ]
)
_WRAPPERS = st.sampled_from(
    [
        "ls; {}",
        "({})",
        "{ {}; }",
        "echo $({})",
        'echo "x $({})"',
        "if true; then {}; fi",
        "for x in a b; do {}; done",
        "{} | cat",
        "sh -c {!r}",
        "eval {!r}",
        "bash -ec {!r}",
        "cat <<EOF\n$({})\nEOF",
        "sh <<'EOF'\n{}\nEOF",
        "echo $(( 1 + 1 )); {}",
    ]
)
_HIDDEN = st.tuples(st.lists(_PREFIXES, max_size=2), st.lists(_WRAPPERS, max_size=3))


def _wrapped(command: str, hidden: tuple[list[str], list[str]]) -> str:
    prefixes, wrappers = hidden
    # an assignment is one only in front
    command = " ".join([*sorted(prefixes, key=lambda prefix: prefix != "A=1"), command])
    for wrapper in wrappers:
        if "{!r}" in wrapper:
            quoted = command.replace("'", "'\\''")
            command = wrapper.replace("{!r}", f"'{quoted}'")
        else:
            command = wrapper.replace("{}", command)
    return command


@given(_HIDDEN)
def test_no_wrapper_hides_a_push(wrappers: tuple[list[str], list[str]]) -> None:
    """D21.1: a push is seen through whatever runs it."""
    assert act_of(_wrapped("git -C . push", wrappers)) is Act.PUSH


@given(_HIDDEN)
def test_no_wrapper_makes_a_harmless_command_suspicious(wrappers: tuple[list[str], list[str]]) -> None:
    assert act_of(_wrapped("git log --grep push", wrappers)) is None


@given(st.text(alphabet=st.characters(exclude_characters="'", codec="utf-8"), max_size=60))
def test_quoted_text_is_never_a_command(text: str) -> None:
    assert act_of(f"echo '{text}'") is None
    assert act_of(f"git commit -m '{text}'") is None


@given(st.text(alphabet="git push;&|()<>{}$`'\"\\\n #=*-~!", max_size=80))
def test_whatever_is_typed_is_judged_without_an_error(text: str) -> None:
    refusal = judge("Bash", {"command": text}, HERE)
    assert refusal is None or refusal.act in Act


def test_a_grant_is_worded_in_the_message_that_makes_it() -> None:
    said = worded_grants({Act.PUSH, Act.BRANCH}, {Act.INGEST})
    assert said == "\n\nGranted: branch, push\n\nNo longer granted: ingest"
    assert worded_grants((), ()) == ""
