"""Starts Musician's side of a Claude Code event with as little of Python as it needs.

Rendered at installation. Run as `python -I -S -X utf8 boot.py EVENT`, or with `monitor` or `statusline`: without site
and environment an interpreter starts in half the time and finds nothing but what stands here.
"""

import os
import sys

PACKAGES: tuple[str, ...] = ()
VERSION = ""


def main() -> int:
    if not all(map(os.path.isdir, PACKAGES)):
        # Whoever removed the program has not taken the plugin along: their other work must go on.
        sys.stderr.write(
            f"musician {VERSION} is gone: install it again, or take it out of Claude Code's settings\n"
        )
        return 0
    sys.path += dict.fromkeys(map(os.path.dirname, PACKAGES))
    if sys.argv[1:] == ["monitor"]:
        from musician.plugin import monitor

        return monitor.program(())
    if sys.argv[1:] == ["statusline"]:
        from musician.plugin import statusline

        return statusline.program(())
    from musician.hooks import entry

    return entry.program(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
