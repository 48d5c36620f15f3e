"""Starts Musician's side of a Claude Code event with as little of Python as it needs.

Rendered at installation. Run as `python -I -S -X utf8 boot.py EVENT`: without site and environment an interpreter
starts in half the time and finds nothing but what stands here.
"""

import os
import sys

FOLDERS: tuple[str, ...] = ()
VERSION = ""


def main() -> int:
    sys.path += FOLDERS
    if not all(os.path.isdir(folder) for folder in FOLDERS):
        # Whoever removed the program has not taken the plugin along: their other work must go on.
        sys.stderr.write(
            f"musician {VERSION} is gone from here: `claude plugin uninstall musician` or install it\n"
        )
        return 0
    from musician.hooks.entry import program

    return program(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
