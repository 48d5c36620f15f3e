"""A check of ``doctor``, and the order in which checks run."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from musician.cli.context import App
from musician.plugin.finding import Finding, Level
from musician.protocol.errors import MusicianError
from musician.protocol.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One check. ``look`` yields findings, made by :func:`ok`, :func:`warn` and :func:`fail`.

    An error that ``look`` raises becomes a finding of the level ``worst``. The check is left out if one of those it
    ``needs`` has failed, because it would only repeat the same problem in other words.
    """

    name: str
    look: Callable[[App], Iterable[Finding]]
    needs: tuple[str, ...] = ()
    worst: Level = Level.FAIL

    def findings(self, app: App) -> Iterator[Finding]:
        try:
            for finding in self.look(app):
                yield replace(finding, check=self.name)
        except MusicianError as error:
            yield Finding(check=self.name, level=self.worst, found=error.message, remedy=error.remedy)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            yield Finding(
                check=self.name,
                level=self.worst,
                found=f"{where}it cannot be read ({error.strerror or error})",
                remedy="check its permissions",
            )


def make_all(checks: Sequence[Diagnosis], app: App) -> Iterator[Finding]:
    """Run the checks in order and yield their findings."""
    failed: set[str] = set()
    for check in checks:
        if failed.isdisjoint(check.needs):
            for finding in check.findings(app):
                if finding.level is Level.FAIL:
                    failed.add(check.name)
                yield finding
        else:
            failed.add(check.name)


def ok(found: str) -> Finding:
    return Finding(check="", level=Level.OK, found=found)


def warn(found: str, remedy: str) -> Finding:
    return Finding(check="", level=Level.WARN, found=found, remedy=remedy)


def fail(found: str, remedy: str) -> Finding:
    return Finding(check="", level=Level.FAIL, found=found, remedy=remedy)
