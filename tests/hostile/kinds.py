"""The kinds of repository a user may have, one line each: what makes it so, and what must come of a plan there.

``make`` is bash, run in a fresh repository that already holds what every user has to lose (:data:`WORLD`); where it
ends is where the user stands. Whatever the kind, nothing of the user's may change but by the promised fast-forward
(``snapshot.py``). Of ``refused``, ``kept_back`` and ``asks`` the one that is set says how it comes out, and which words
the user reads; none of them is: the plan is complete and the user's branch is at its end. What is one more of what its
part of the list has another of is played at night (``_more``).
"""

from dataclasses import dataclass

__all__ = ["KINDS", "PLAN", "WORLD", "Kind"]

WORLD = r"""
set -e
git() { command git -c core.hooksPath=/dev/null "$@"; }
export GIT_CONFIG_NOSYSTEM=1
command git config --global user.name Ada
command git config --global user.email ada@example.org
command git config --global init.defaultBranch main
command git config --global protocol.file.allow always
command git config --global advice.detachedHead false
begin() {
  git init -q "${@:2}" "$1"; cd "$1"
  mkdir dir build
  echo a > a.txt; echo b > b.txt; echo u > "dir/ü ö.txt"; echo plan > PLAN.md
  printf '*.ignored\n/build/\n' > .gitignore
  echo mine > keep.ignored; echo mine > build/out
  [ -z "$PLAN" ] || cp "$PLAN" PLAN.md
  git add -A; git commit -qm first
  git branch other; git tag v1
  echo stashed >> b.txt; git stash -q
  for hook in pre-commit commit-msg post-commit post-checkout post-merge pre-merge-commit post-index-change \
    reference-transaction pre-rebase post-rewrite pre-push; do
    printf '#!/bin/sh\necho %s >> "%s/hooks-that-ran"\nexit 1\n' $hook "$W" > "$(git rev-parse --git-dir)/hooks/$hook"
    chmod +x "$(git rev-parse --git-dir)/hooks/$hook"
  done
}
seed() { ( begin "$W/seed"; ) ; }
commit() { git add -A; git commit -qm "${1:-more}"; }
submodule() { seed; git submodule add -q "$W/seed" sub; commit; }
become_submodule() { seed; git init -q "$W/outer"; cd "$W/outer"; git submodule add -q "$W/seed" sub; commit; cd sub; }
linked() { git worktree add -q "$@" ../linked -b linked; cd ../linked; }
folders() { mkdir in out; echo i > in/i; echo o > out/o; commit; }
two_sides() {
  git checkout -q other; echo theirs > a.txt; git commit -qam theirs
  git checkout -q main; echo ours > a.txt; git commit -qam ours
}
filter() {
  git config filter.big.clean "$1"; git config filter.big.smudge "$2"; git config filter.big.required true
}
shadows() {
  local folder=$1; shift; mkdir -p "$folder"
  for module in "$@"; do
    printf 'open("%s/imported", "a").write(__name__ + "\\n")\nraise ImportError(__name__)\n' "$W" > "$folder/$module.py"
  done
}
OTHERS="anyio apsw click coverage junitparser markdown_it mcp mdit_py_plugins psutil rapidfuzz rich yaml"
PYTHONS="ast asyncio dataclasses enum json os pathlib re sitecustomize socket sqlite3 subprocess tempfile types typing"
measured() { echo "x = 1" > "$W/new.py"; (cd /; "$PYTHON" -I -m coverage run --data-file="$W/data" "$W/new.py"); }
configured() { while [ $# -gt 0 ]; do git config "$1" "$2"; shift 2; done; }
begin "$W/project"
"""

PLAN = """\
---
plan: p
test: "{test}"
---
# P
## Phase 1: A
### task-01: T
#### Step 1: S
```bash run
{step}
```
"""

STEP = "echo work > work.txt; echo more >> a.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """``holds`` are paths that the commit at the end must have.

    ``test`` is the plan's; ``path`` is what the user has on PYTHONPATH, below the folder of all. ``awaits`` names a fault that still stands in the way: the test must fail, until who mends it deletes that.
    """

    name: str
    make: str = ""
    step: str = STEP
    holds: str = "a.txt"
    test: str = "true"
    path: str = ""
    refused: str = ""
    kept_back: str = ""
    asks: str = ""
    awaits: str = ""
    played: str = "by day"


def _kind(name: str, make: str = "", **how: str) -> Kind:
    return Kind(name=name, make=make, **how)


def _more(name: str, make: str = "", **how: str) -> Kind:
    return Kind(name=name, make=make, played="at night", **how)


# fmt: off
KINDS = (
    _kind("plain"),

    # -- other repositories in, below and around it
    _kind("submodule", 'submodule'),
    _more("submodule that is not checked out", 'submodule; git submodule -q deinit -f sub'),
    _kind("submodule with edits of the user's", 'submodule; echo mine >> sub/a.txt', refused="sub"),
    _more("link to a commit without a submodule", 'git init -q inner; (cd inner; echo i > i; commit); git add inner 2>/dev/null; git commit -qm inner'),
    _more("nested repository, ignored", "git init -q build/inner; (cd build/inner; echo i > i; commit)"),
    _kind("project is a submodule", 'become_submodule'),
    _kind("project is a submodule, worktree config", 'become_submodule; git config extensions.worktreeConfig true', refused="core.worktree"),
    _more("project inside another's tree", 'seed; cd "$W/seed"; mkdir -p build/deep; begin build/deep/project'),

    # -- where git dir and tree are
    _kind("core.worktree", 'git config core.worktree "$PWD"'),
    _kind("core.worktree, worktree config", 'configured core.worktree "$PWD" extensions.worktreeConfig true', refused="core.worktree"),
    _kind("core.worktree elsewhere, seen from here", 'mkdir "$W/tree"; git config core.worktree "$W/tree"; git reset -q --hard', refused="core.worktree"),
    _kind("core.worktree elsewhere, seen from there", 'mkdir "$W/tree"; git config core.worktree "$W/tree"; git reset -q --hard; cd "$W/tree"', refused="git repository"),
    _more("worktree config, used well", "git config extensions.worktreeConfig true; git config --worktree core.autocrlf false"),
    _kind("core.bare by worktree config", "git config extensions.worktreeConfig true; git config --worktree core.bare false; git config core.bare true; linked"),
    _kind("git dir apart", 'git init -q --separate-git-dir "$W/apart.git"'),
    _kind("bare with linked trees", 'seed; git clone -q --bare "$W/seed" "$W/proj/.bare"; echo "gitdir: ./.bare" > "$W/proj/.git"; cd "$W/proj"; git worktree add -q feature -b feature; cd feature'),
    _kind("bare", 'git clone -q --bare . "$W/bare.git"; cd "$W/bare.git"', refused="bare repository"),
    _more("linked tree", "linked"),
    _kind("linked tree of the user's, gone", 'linked; rm -r "$PWD"; cd ../project'),
    _more("linked tree of the user's, locked", 'linked --lock; rm -r "$PWD"; cd ../project'),
    _kind("subfolder", "cd dir"),
    _more("symbolic link to it", 'ln -s project "$W/link"; cd -L "$W/link"'),
    _kind("dubious ownership", 'chown -R 65534:65534 "$W/project"', refused="safe.directory"),
    _kind("dubious ownership, allowed", 'chown -R 65534:65534 "$W/project"; command git config --global safe.directory "$W/project"'),

    # -- what is checked out
    _kind("sparse, by cones", "folders; git sparse-checkout set --cone in", step="mkdir -p out; echo new > out/new; echo new > in/new", holds="out/o out/new in/new"),
    _more("sparse, by patterns", "folders; git sparse-checkout set --no-cone '/*' '!/out/'", step="mkdir -p out; echo new > out/new; echo new > in/new", holds="out/o out/new in/new"),
    _kind("detached", "git checkout -q --detach", kept_back="on no branch"),
    _kind("unborn", "git checkout -q --orphan fresh", refused="no commit yet"),
    _more("shallow", 'commit() { git commit -qam x --allow-empty; }; commit; commit; git clone -q --depth 1 "file://$PWD" "$W/shallow"; cd "$W/shallow"'),
    _kind("partial clone", 'git config uploadpack.allowFilter true; git clone -q --filter=blob:none "file://$PWD" "$W/partial"; cd "$W/partial"'),
    _more("borrowed objects", 'git clone -q --shared . "$W/shared"; cd "$W/shared"'),
    _more("packed", "git gc -q --prune=now; git pack-refs --all"),
    _kind("other object format", 'begin "$W/sha256" --object-format=sha256'),
    _kind("edited", "echo mine >> a.txt", refused="a.txt"),
    _kind("staged", "echo mine >> a.txt; git add a.txt", refused="a.txt"),
    _kind("deleted", "rm b.txt", refused="b.txt"),
    _kind("merge under way", "two_sides; git merge -q other || true", refused="merge is under way"),
    _kind("rebase under way", "two_sides; git rebase -q other 2>/dev/null || true", refused="rebase is under way"),
    _kind("another git at work", "touch .git/index.lock", refused="index.lock"),
    _kind("an edit that git is told not to see", "git update-index --skip-worktree a.txt; echo mine >> a.txt", kept_back="a.txt"),
    _more("an edit that git is told to assume away", "git update-index --assume-unchanged a.txt; echo mine >> a.txt", kept_back="a.txt"),

    # -- what is in the way
    _kind("untracked, beside", "echo mine > mine.txt"),
    _kind("untracked, in the way", "echo mine > work.txt", kept_back="work.txt"),
    _more("nested repository, untracked", "git init -q inner; (cd inner; echo i > i; commit)"),
    _kind("ignored file in the way", step="echo theirs > keep.ignored; git -c core.hooksPath= add -f keep.ignored", kept_back="keep.ignored"),
    _more("ignored folder in the way of a link", step="rm -rf build; ln -s dir build; git -c core.hooksPath= add -f build; echo more >> a.txt"),
    _more("tracked temp/", "mkdir temp; echo t > temp/t; commit", step="echo new > temp/new; echo more >> temp/t", holds="temp/new"),
    _more("temp is a file", "echo t > temp; commit"),
    _kind("temp is a link", 'mkdir -p "$W/far/temp"; ln -s "$W/far/temp" temp'),
    _kind("tracked settings of ours", "mkdir .musician; printf '[limits]\\nerror_retries = 4\\n' > .musician/config.toml; commit"),
    _kind(".musician is a file", "echo m > .musician; commit", refused=".musician"),
    _kind("docs is a file", "echo d > docs; commit", refused="docs"),
    _more("docs is ignored", "echo /docs >> .gitignore; commit"),
    _more("everything is ignored", "echo '*' > .gitignore; commit", step="echo more >> a.txt"),
    _kind("a branch named musician", "git branch musician", refused="git branch -m musician"),
    _kind("a branch named musician/p", "git branch musician/p", refused="git branch -m musician/p"),
    _more("a tag and a remote named musician", "git tag musician; git tag main; git remote add musician ../nowhere"),

    # -- what a step does to its tree's link to the repository
    _more("link gone, and a commit", step="rm .git; git -c core.hooksPath= add -A || true; git -c core.hooksPath= commit -qm stray || true; echo more >> a.txt"),
    _kind("link gone, and played once more", step='[ -e "$MUSICIAN_SCRATCH/again" ] || { touch "$MUSICIAN_SCRATCH/again"; rm .git; exit 1; }; git rev-parse HEAD > seen.txt; echo more >> a.txt', holds="a.txt seen.txt"),
    _kind("link bent to the user's", step='echo "gitdir: $MUSICIAN_ROOT/.git" > .git; echo more >> a.txt'),
    _kind("a repository in its place", step="rm .git; git init -q; echo more >> a.txt", asks="move it away"),

    # -- names and contents
    _more("names that differ by case", "echo A > A.TXT; mkdir DIR; echo x > DIR/x; commit"),
    _kind("odd names", r"""echo x > "$(printf 'new\nline')"; echo x > "$(printf '\xff\xfe')"; echo x > "- dash"; echo x > '"quoted"'; commit"""),
    _kind("links", 'ln -s /etc/passwd out; ln -s dir to-dir; ln -s nowhere dangling; ln -s loop loop; commit'),
    _kind("line ends", "echo '* text=auto eol=crlf' > .gitattributes; commit; git rm -q --cached -r .; git reset -q --hard"),
    _more("autocrlf", "git config core.autocrlf true"),
    _more("rights", "git config core.fileMode false; chmod +x b.txt"),
    _kind("filter, as LFS has", "filter 'tr a-z A-Z' 'tr A-Z a-z'; echo '*.big filter=big' > .gitattributes; echo large > x.big; commit", step="echo huge > y.big; echo more >> x.big", holds="x.big y.big"),
    _kind("filter that is not installed", "echo '*.big filter=big' > .gitattributes; echo large > x.big; commit; filter no-such-program no-such-program", refused="no-such-program"),
    # Where no file could have changed since the index was written, `git status` runs no filter and finds nothing wrong.
    _kind("filter that is not installed, all files old", "echo '*.big filter=big' > .gitattributes; echo large > x.big; commit; touch -d yesterday *; git update-index --refresh; filter no-such-program no-such-program", refused="no-such-program"),
    _more("merge driver", "git config merge.mine.driver false; echo '* merge=mine' > .gitattributes; commit"),

    _kind("modules named like ours and Python's", 'shadows . musician $OTHERS $PYTHONS; measured; commit', step="echo 'x = 1' > new.py", test="cp $W/data .coverage", holds="new.py"),
    _more("modules on PYTHONPATH", 'shadows lib $OTHERS; measured; commit', step="echo 'x = 1' > new.py", test="cp $W/data .coverage", path="project/lib", holds="new.py"),

    # -- configuration
    _kind("hooks in the project", "mkdir githooks; printf '#!/bin/sh\\nexit 1\\n' > githooks/pre-commit; chmod +x githooks/*; commit; command git config core.hooksPath githooks"),
    _more("signatures", "configured commit.gpgSign true gpg.program false tag.gpgSign true"),
    _kind("odd settings", "configured status.showUntrackedFiles no merge.ff false core.quotePath true color.ui always diff.noprefix true core.logAllRefUpdates false merge.autoStash true"),
    _kind("file system monitor", "printf '#!/bin/sh\\nexit 1\\n' > .git/monitor; chmod +x .git/monitor; configured core.fsmonitor .git/monitor core.untrackedCache true feature.manyFiles true"),
    _more("split index", "git update-index --split-index"),
    _more("replaced commit", 'git replace "$(git rev-parse HEAD)" "$(git commit-tree -m other HEAD^{tree})"'),
)
# fmt: on
