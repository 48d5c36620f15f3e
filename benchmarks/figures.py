"""A figure, and how figures are shown."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

__all__ = ["Figure", "as_document", "as_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table.

    ``ratio`` is ``median`` over the median of ``against``; ``at_most`` is its goal, named by ``goal``. A figure
    without a goal is information.
    """

    what: str
    median: float
    unit: str
    ratio: float | None = None
    against: str = ""
    goal: str = ""
    at_most: float | None = None

    @property
    def is_met(self) -> bool | None:
        """None where there is no goal."""
        if self.at_most is None or self.ratio is None:
            return None
        return self.ratio <= self.at_most


_HEADING = ("what", "median", "", "ratio", "to", "goal", "met")
_RIGHT = frozenset({1, 3})


def as_table(figures: Iterable[Figure]) -> str:
    """Plain lines, columns padded with spaces."""
    rows = [_HEADING, *(_cells(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADING))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in _RIGHT else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def as_document(figures: Iterable[Figure]) -> list[dict[str, str | float | bool | None]]:
    """The same for programs."""
    return [{**asdict(figure), "met": figure.is_met} for figure in figures]


def _cells(figure: Figure) -> tuple[str, ...]:
    return (
        figure.what,
        f"{figure.median:.3g}" if figure.median < 100 else f"{figure.median:.0f}",
        figure.unit,
        "" if figure.ratio is None else f"{figure.ratio:.3f}",
        figure.against,
        "" if figure.at_most is None else f"{figure.goal} ≤ {figure.at_most:.3g}",
        {None: "", True: "yes", False: "NO"}[figure.is_met],
    )
