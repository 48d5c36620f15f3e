"""Run the benchmarks, all or some, and print one table."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import (
    dashboard,
    fleet,
    foresight,
    gate,
    hooks,
    launch,
    mcp,
    scale,
    service,
    startup,
    task,
    urgent,
    verification,
    wakeup,
)
from benchmarks.figures import Figure, as_document, as_table

__all__ = ["BENCHMARKS", "main"]

Measure = Callable[[], tuple[Figure, ...]]

BENCHMARKS: dict[str, tuple[Measure, Measure]] = {
    "service": (partial(service.measure, service.Size()), partial(service.measure, service.TINY)),
    "wakeup": (partial(wakeup.measure, wakeup.Size()), partial(wakeup.measure, wakeup.TINY)),
    "scale": (partial(scale.measure, scale.Size()), partial(scale.measure, scale.TINY)),
    "gate": (partial(gate.measure, gate.Size()), partial(gate.measure, gate.TINY)),
    "task": (partial(task.measure, task.Size()), partial(task.measure, task.TINY)),
    "verification": (
        partial(verification.measure, verification.Size()),
        partial(verification.measure, verification.TINY),
    ),
    "hooks": (partial(hooks.measure, hooks.Size()), partial(hooks.measure, hooks.TINY)),
    "startup": (partial(startup.measure, startup.Size()), partial(startup.measure, startup.TINY)),
    "launch": (partial(launch.measure, launch.Size()), partial(launch.measure, launch.TINY)),
    "foresight": (partial(foresight.measure, foresight.Size()), partial(foresight.measure, foresight.TINY)),
    "fleet": (partial(fleet.measure, fleet.Size()), partial(fleet.measure, fleet.TINY)),
    "urgent": (partial(urgent.measure, urgent.Size()), partial(urgent.measure, urgent.TINY)),
    "dashboard": (partial(dashboard.measure, dashboard.Size()), partial(dashboard.measure, dashboard.TINY)),
    "mcp": (partial(mcp.measure, mcp.Size()), partial(mcp.measure, mcp.TINY)),
}
"""In full, and tiny."""


def main(argv: Sequence[str] | None = None) -> int:
    """Always 0 if everything could be measured: whether goals are met is for people to read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; by default all"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--tiny", action="store_true", help="only show that it runs; the figures mean nothing"
    )
    options = parser.parse_args(argv)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)} (there are {', '.join(BENCHMARKS)})")
    figures: list[Figure] = []
    for name in options.names or BENCHMARKS:
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        full, tiny = BENCHMARKS[name]
        figures += tiny() if options.tiny else full()
    print(as_table(figures))
    if options.json is not None:
        options.json.write_text(json.dumps(as_document(figures), indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
