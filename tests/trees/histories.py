"""Random histories of a plan's branches, of everything that a merge may meet, written by one ``git fast-import``."""

import random
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

Tree = dict[str, tuple[str, bytes]]
"""What a commit holds: mode and content (of a submodule: its commit)."""

FILE, PROGRAM, LINK, SUBMODULE = "100644", "100755", "120000", "160000"

FOLDERS = ("", "src/", "src/deep/", "docs ü/")
NAMES = ("a.txt", "b.c", "c.bin", "d.gen", "e e.txt")
ATTRIBUTES = (
    "*.gen -merge", "*.txt merge=union", "* text=auto", "*.c text eol=crlf", "*.txt -text", "*.bin binary",
    "*.c merge=theirs", "*.txt merge=refuse", "*.gen merge=nowhere", "* !merge", "*.c merge=binary", "b.c -diff",
)  # fmt: skip
SETTINGS = {
    "merge.renames": ("false", "true", "copies"),
    "diff.renames": ("false", "copies"),
    "merge.directoryRenames": ("true", "false", "conflict"),
    "merge.conflictStyle": ("diff3", "zdiff3", "merge"),
    "merge.renormalize": ("true", "false"),
    "merge.default": ("union", "theirs", "binary"),
    "merge.renameLimit": ("1",),
    "merge.ff": ("only", "false"),
    "pull.twohead": ("ours", "resolve", "recursive"),
    "diff.algorithm": ("minimal", "patience", "histogram"),
    "core.autocrlf": ("true", "input"),
    "core.ignoreCase": ("true",),
    "merge.suppressDest": ("*",),
}
DRIVERS = {"merge.theirs.driver": "cat %B > %A", "merge.refuse.driver": "exit 1"}


@dataclass
class Histories:
    """Branches by their names, each with its commits' trees; parents are earlier commits' marks."""

    dice: random.Random
    lines: list[bytes] = field(default_factory=list)
    tips: dict[str, int] = field(default_factory=dict)
    trees: dict[int, Tree] = field(default_factory=dict)

    def commit(self, branch: str, tree: Tree, *parents: int) -> int:
        mark = len(self.trees) + 1
        self.trees[mark], self.tips[branch] = tree, mark
        head = [
            f"commit refs/heads/{branch}",
            f"mark :{mark}",
            f"committer A <a@b> {1_700_000_000 + mark} +0000",
        ]
        self.lines += [f"{line}\n".encode() for line in head] + [_data(f"commit {mark}".encode())]
        words = ["from", "merge", "merge"]
        self.lines += [f"{word} :{parent}\n".encode() for word, parent in zip(words, parents, strict=False)]
        self.lines.append(b"deleteall\n")
        for path, (mode, content) in tree.items():
            name = '"' + path.replace('"', '\\"') + '"'
            if mode == SUBMODULE:
                self.lines.append(f"M {mode} {content.decode()} {name}\n".encode())
            else:
                self.lines += [f"M {mode} inline {name}\n".encode(), _data(content)]
        self.lines.append(b"\n")
        return mark

    def write(self, folder: Path, settings: Mapping[str, str]) -> None:
        configured = "".join(_set(key, to) for key, to in settings.items())
        with (folder / ".git" / "config").open("a") as file:
            file.write(configured)
        subprocess.run(
            ["git", "fast-import", "--quiet", "--force"], input=b"".join(self.lines), cwd=folder, check=True
        )


def _set(key: str, to: str) -> str:
    section, *inside, name = key.split(".")
    within = f' "{".".join(inside)}"' if inside else ""
    return f'[{section}{within}]\n\t{name} = "{to}"\n'


def _data(content: bytes) -> bytes:
    return f"data {len(content)}\n".encode() + content + b"\n"


def first_tree(dice: random.Random) -> Tree:
    tree: Tree = {}
    for folder in FOLDERS:
        for name in dice.sample(NAMES, 3):
            tree[folder + name] = FILE, _content(dice, name)
    tree["src/lib"] = SUBMODULE, b"1" * 40
    tree["link"] = LINK, b"src"
    if dice.random() < 0.5:
        tree[".gitattributes"] = FILE, _attributes(dice)
    return tree


def _content(dice: random.Random, name: str) -> bytes:
    if name.endswith(".bin"):
        return bytes(dice.randrange(256) for _ in range(40)) + b"\0"
    end = dice.choice(("\n", "\n", "\r\n"))
    return "".join(f"line {number} of {name}{end}" for number in range(dice.choice((1, 6, 12)))).encode()


def _attributes(dice: random.Random) -> bytes:
    return "".join(f"{line}\n" for line in dice.sample(ATTRIBUTES, dice.choice((1, 2, 3)))).encode()


def changed(tree: Tree, dice: random.Random) -> Tree:
    """Return the tree with a few random changes."""
    tree = dict(tree)
    for _ in range(dice.choice((1, 1, 2, 3))):
        _change(tree, dice)
    return tree


def _change(tree: Tree, dice: random.Random) -> None:
    files = [path for path, (mode, _) in tree.items() if mode in (FILE, PROGRAM)]
    path = dice.choice(files)
    mode, content = tree[path]
    match dice.choice(
        ("edit",) * 8
        + (
            "delete",
            "rename",
            "rename",
            "folder",
            "mode",
            "add",
            "add",
            "crlf",
            "type",
            "submodule",
            "attributes",
            "swap",
            "binary",
        )
    ):
        case "edit":
            lines = content.splitlines(keepends=True) or [b"x\n"]
            at = dice.randrange(len(lines))
            lines[at : at + dice.choice((0, 1, 1, 2))] = [
                f"edited {dice.randrange(3)}\n".encode()
            ] * dice.choice((1, 1, 0, 2))
            tree[path] = mode, b"".join(lines)
        case "delete":
            del tree[path]
        case "rename":
            _put(tree, dice.choice(FOLDERS) + dice.choice(("new.txt", "moved.c", *NAMES)), tree.pop(path))
        case "folder":
            old, new = (
                dice.choice(("src/", "src/deep/", "docs ü/")),
                dice.choice(("lib/", "src/other/", "docs ü/")),
            )
            for each in [each for each in tree if each.startswith(old)]:
                _put(tree, new + each.removeprefix(old), tree.pop(each))
        case "mode":
            tree[path] = PROGRAM if mode == FILE else FILE, content
        case "add":
            _put(
                tree,
                dice.choice(FOLDERS) + dice.choice(("new.txt", "added.c", "z.gen")),
                (FILE, _content(dice, dice.choice(NAMES))),
            )
        case "crlf":
            is_crlf = b"\r\n" in content
            tree[path] = mode, content.replace(b"\r\n", b"\n") if is_crlf else content.replace(b"\n", b"\r\n")
        case "type":
            if dice.random() < 0.5:
                tree[path] = LINK, b"a.txt"
            else:
                del tree[path]
                tree[f"{path}/inside"] = mode, content
        case "submodule":
            tree["src/lib"] = SUBMODULE, dice.choice(b"1234".decode()).encode() * 40
        case "attributes":
            tree[dice.choice(("", "src/")) + ".gitattributes"] = FILE, _attributes(dice)
        case "swap":
            other = dice.choice(files)
            tree[path], tree[other] = tree[other], tree[path]
        case "binary":
            tree[path] = mode, content + bytes([0, dice.randrange(3)])


def _put(tree: Tree, path: str, entry: tuple[str, bytes]) -> None:
    """Put a file in a place; what is in its way goes."""
    parts = path.split("/")
    for number in range(1, len(parts)):
        tree.pop("/".join(parts[:number]), None)
    for each in [each for each in tree if each.startswith(f"{path}/")]:
        del tree[each]
    tree[path] = entry


def random_plan(seed: int, tasks: int, plan: str) -> tuple[Histories, dict[str, str]]:
    """Return the branches of a plan: a base, what is merged, and some tasks, one of which may have taken that in."""
    dice = random.Random(seed)
    histories = Histories(dice)
    base_tree = first_tree(dice)
    base = histories.commit("trunk", base_tree)
    merged = base
    if dice.random() < 0.5:
        merged = histories.commit(f"musician/{plan}/_integration", changed(base_tree, dice), base)
    else:
        histories.commit(f"musician/{plan}/_integration", base_tree, base)
        merged = histories.tips[f"musician/{plan}/_integration"]
    for number in range(1, tasks + 1):
        branch = f"musician/{plan}/task-{number:02}"
        tip = histories.commit(branch, changed(base_tree, dice), base)
        if dice.random() < 0.3:
            tip = histories.commit(branch, changed(histories.trees[tip], dice), tip)
        if dice.random() < 0.2:  # it has merged what was merged, somehow
            mixed = changed(histories.trees[merged] | histories.trees[tip], dice)
            _fit(mixed)
            histories.commit(branch, mixed, tip, merged)
    settings = {key: dice.choice(values) for key, values in SETTINGS.items() if dice.random() < 0.15}
    return histories, settings | DRIVERS


def _fit(tree: Tree) -> None:
    """A path cannot be a file and a folder."""
    for path in list(tree):
        if any(each.startswith(f"{path}/") for each in tree):
            del tree[path]
