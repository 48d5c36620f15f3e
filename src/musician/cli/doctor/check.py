"""A check of ``doctor``, and the order in which checks run."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from musician.cli.context import App
from musician.plugin.check_result import CheckResult, Level
from musician.protocol.errors import MusicianError
from musician.protocol.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check. ``look`` yields results, made by :func:`ok`, :func:`warn` and :func:`fail`.

    An error that ``look`` raises becomes a result of the level ``worst``. The check is left out if one of those it
    ``needs`` has failed, because it would only repeat the same problem in other words.
    """

    name: str
    look: Callable[[App], Iterable[CheckResult]]
    needs: tuple[str, ...] = ()
    worst: Level = Level.FAIL

    def results(self, app: App) -> Iterator[CheckResult]:
        try:
            for result in self.look(app):
                yield replace(result, check=self.name)
        except MusicianError as error:
            yield CheckResult(check=self.name, level=self.worst, found=error.message, remedy=error.remedy)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            yield CheckResult(
                check=self.name,
                level=self.worst,
                found=f"{where}it cannot be read ({error.strerror or error})",
                remedy="check its permissions",
            )


def make_all(checks: Sequence[Check], app: App) -> Iterator[CheckResult]:
    """Run the checks in order and yield their results."""
    failed: set[str] = set()
    for check in checks:
        if failed.isdisjoint(check.needs):
            for result in check.results(app):
                if result.level is Level.FAIL:
                    failed.add(check.name)
                yield result
        else:
            failed.add(check.name)


def ok(found: str) -> CheckResult:
    return CheckResult(check="", level=Level.OK, found=found)


def warn(found: str, remedy: str) -> CheckResult:
    return CheckResult(check="", level=Level.WARN, found=found, remedy=remedy)


def fail(found: str, remedy: str) -> CheckResult:
    return CheckResult(check="", level=Level.FAIL, found=found, remedy=remedy)
