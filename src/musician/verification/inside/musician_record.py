"""Writes down what pytest or unittest ran, for the program that started the command; the project cannot leave it out.

Nothing is imported before the project imports it: once ``_pytest.config`` or ``unittest.result`` is executed, it is
told to report here as well. A run is *begun* by a file and ended by its record beside it, so that a process that ends
in between is not taken for one that had nothing to say. A run inside another one (a project that tests a runner's
plugin) is part of the outer one's business and is not recorded. Names are those of a JUnit report.
"""

import atexit
import json
import os
import sys
from typing import Any


class Record(object):  # noqa: UP004  # as old as the project's Python may be
    """``outcomes`` by name: passed, failed, skipped or xfailed; a failure is not forgotten for anything later."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.outcomes: dict[str, str] = {}
        self.owner: Any = None
        self.pid = 0
        self.to_the_end = bool(os.environ.pop("MUSICIAN_TO_THE_END", ""))
        """What stops at a failure says nothing of what comes after it."""

    def begin(self, owner: Any) -> bool:
        """Whether this is a run to be recorded."""
        self.announce()
        if self.owner is not None:
            return False
        self.owner = owner
        return True

    def announce(self) -> None:
        """A runner is here: from now on its end must come with a record."""
        if not self.pid:
            self.pid = os.getpid()
            os.environ.pop("MUSICIAN_RECORD", None)  # what the tests start is the tests' own business
            atexit.register(self.write)
            with open(self._path("begun"), "w"):
                pass

    def note(self, name: str, outcome: str) -> None:
        if self.outcomes.get(name) != "failed":
            self.outcomes[name] = outcome

    def end(self, owner: Any) -> None:
        if owner is self.owner:
            self.write()
            self.owner = None

    def write(self) -> None:
        if os.getpid() != self.pid:
            return  # a fork of it
        partial = self._path("partial")
        with open(partial, "w") as file:
            json.dump(self.outcomes, file)
        os.rename(partial, self._path("record"))

    def _path(self, kind: str) -> str:
        return os.path.join(self.folder, "%s-%d" % (kind, self.pid))  # noqa: UP031


def install(folder: str) -> None:
    try:
        with open(os.path.join(folder, "seen"), "w"):
            pass
    except OSError:
        return
    record = Record(folder)
    waiting = {
        "_pytest.config": _follow_pytest,
        "unittest.main": _await_unittest,
        "unittest.result": _follow_unittest,
    }
    sys.meta_path.insert(0, Watch(waiting, record))


# -- pytest -------------------------------------------------------------------------------------------------------


def _follow_pytest(module: Any, record: Record) -> None:
    prepare = getattr(module, "_prepareconfig", None)
    if prepare is None:
        return

    def prepare_and_follow(args: Any = None, plugins: Any = None, **options: Any) -> Any:
        plugin = PytestRecord(record)
        if record.begin(plugin):
            plugins = [*(plugins or ()), plugin]
        return prepare(args, plugins, **options)

    module._prepareconfig = prepare_and_follow
    first = module.hookimpl(tryfirst=True)
    PytestRecord.pytest_sessionfinish = first(PytestRecord.pytest_sessionfinish)  # type: ignore[method-assign]


class PytestRecord(object):  # noqa: UP004
    """Registered as an object, before any conftest.py is read: no name to keep it out by."""

    def __init__(self, record: Record) -> None:
        self.record = record

    def pytest_configure(self, config: Any) -> None:
        if self.record.to_the_end:
            config.option.maxfail = 0
            config.option.continue_on_collection_errors = True

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.record.note(_junit_name(report.nodeid), "failed")
        elif report.skipped:  # a file that skips itself
            self.record.note(_junit_name(report.nodeid), "skipped")

    def pytest_runtest_logreport(self, report: Any) -> None:
        expected = hasattr(report, "wasxfail")
        if report.failed:
            self.record.note(_junit_name(report.nodeid), "failed")
        elif report.skipped:
            self.record.note(_junit_name(report.nodeid), "xfailed" if expected else "skipped")
        elif report.passed and report.when == "call":
            self.record.note(_junit_name(report.nodeid), "passed")

    def pytest_sessionfinish(self) -> None:
        self.record.end(self)


def _junit_name(node_id: str) -> str:
    """``tests/test_a.py::T::test_b[x]`` as ``tests.test_a.T::test_b[x]``."""
    path, bracket, parameters = node_id.partition("[")
    names = path.split("::")
    names[0] = names[0].replace("/", ".")
    if names[0].endswith(".py"):
        names[0] = names[0][:-3]
    names[-1] += bracket + parameters
    return "::".join(part for part in (".".join(names[:-1]), names[-1]) if part)


# -- unittest -----------------------------------------------------------------------------------------------------


def _await_unittest(module: Any, record: Record) -> None:
    """The tests are imported before the first result hears of them."""
    begin = module.TestProgram.__init__

    def announce_and_begin(self: Any, *args: Any, **options: Any) -> None:
        if record.owner is None:
            record.announce()
        begin(self, *args, **options)

    module.TestProgram.__init__ = announce_and_begin


def _follow_unittest(module: Any, record: Record) -> None:
    """The first result that hears of a run is the one that counts; results within tests are the tests' own."""
    result = module.TestResult

    def follow(name: str, tell: Any) -> None:
        own = getattr(result, name, None)
        if own is None:
            return

        def told(self: Any, *args: Any, **options: Any) -> Any:
            tell(self, *args)
            return own(self, *args, **options)

        told.__name__ = name
        setattr(result, name, told)

    def noting(outcome: str) -> Any:
        def note(self: Any, test: Any, *_: Any) -> None:
            if self is record.owner:
                record.note(_unittest_name(test), outcome)

        return note

    def note_subtest(self: Any, test: Any, _: Any, trouble: Any = None) -> None:
        if self is record.owner and trouble is not None:
            record.note(_unittest_name(test), "failed")

    def begin(self: Any, *_: Any) -> None:
        if record.begin(self) and record.to_the_end:
            self.failfast = False

    for name in ("startTestRun", "startTest"):
        follow(name, begin)
    follow("addSuccess", noting("passed"))
    for name in ("addError", "addFailure", "addUnexpectedSuccess"):
        follow(name, noting("failed"))
    follow("addSkip", noting("skipped"))
    follow("addExpectedFailure", noting("xfailed"))
    follow("addSubTest", note_subtest)
    follow("stopTestRun", lambda self, *_: record.end(self))


def _unittest_name(test: Any) -> str:
    name = str(test.id())
    failed_to_load = "unittest.loader._FailedTest."
    return name[len(failed_to_load) :] if name.startswith(failed_to_load) else name


# -- waiting for an import ----------------------------------------------------------------------------------------


class Watch(object):  # noqa: UP004
    """Lets everybody else find a module, and does something with it once it is executed."""

    def __init__(self, waiting: Any, record: Record) -> None:
        self.waiting = waiting
        self.record = record

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self.waiting:
            return None
        follow = self.waiting.pop(name)
        others: list[Any] = [
            each for each in sys.meta_path if each is not self and hasattr(each, "find_spec")
        ]
        for finder in others:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = Then(spec.loader, follow, self.record)
                return spec
        return None


class Then(object):  # noqa: UP004
    """A module's own loader, and what comes after it."""

    def __init__(self, own: Any, follow: Any, record: Record) -> None:
        self.own, self.follow, self.record = own, follow, record

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def create_module(self, spec: Any) -> Any:
        return self.own.create_module(spec)

    def exec_module(self, module: Any) -> None:
        spec = module.__spec__
        spec.loader = module.__loader__ = self.own
        self.own.exec_module(module)
        self.follow(module, self.record)
