"""Starts Musician's side of a Claude Code event with as little of Python as possible.

Rendered at installation. Run as `python -I -S -X utf8 boot.py EVENT`, or with `monitor` or `statusline`. Without the
site module and the environment, an interpreter starts in half the time and imports only from the folders named here.
"""

import os
import sys

PACKAGES: tuple[str, ...] = ()
VERSION = ""


def main() -> int:
    if not all(map(os.path.isdir, PACKAGES)):
        # The program was removed without its plugin. The user's other work must go on, so nothing is refused.
        sys.stderr.write(
            f"musician {VERSION} is gone: install it again, or take it out of Claude Code's settings\n"
        )
        return 0
    sys.path += dict.fromkeys(map(os.path.dirname, PACKAGES))
    if sys.argv[1:2] == ["monitor"]:
        from musician.plugin import monitor

        return monitor.program(sys.argv[2:])
    if sys.argv[1:] == ["statusline"]:
        from musician.plugin import statusline

        return statusline.program(())
    from musician.hooks import entry

    return entry.program(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
