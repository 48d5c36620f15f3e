"""``trace``: a plan as nested spans, shown, or taken by a real OTLP endpoint on loopback."""

import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.surroundings import Call, git

PLAN = """\
---
plan: song
test: test -s one.txt
---
# Song

## Overview
Short.

## Phase 1: Verses

### task-01: A verse
#### Step 1: Sing
```bash run
echo secret-words > one.txt; echo secret-words
```
"""


class Collector:
    def __init__(self) -> None:
        self.got: list[ExportTraceServiceRequest] = []
        self.status = 200

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler) -> None:  # noqa: N805 - the library's name; ``self`` is the collector's
                body = handler.rfile.read(int(handler.headers["Content-Length"]))
                if handler.headers.get("Content-Encoding") == "gzip":
                    import gzip

                    body = gzip.decompress(body)
                self.got.append(ExportTraceServiceRequest.FromString(body))
                handler.send_response(self.status)
                handler.end_headers()

            def log_message(handler, *_: object) -> None:  # noqa: N805
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1/traces"

    def spans(self) -> list[tuple[str, bytes, bytes]]:
        return [
            (span.name, span.span_id, span.parent_span_id)
            for request in self.got
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


@pytest.fixture
def played(repository: Path, call: Call) -> Path:
    (repository / "PLAN.md").write_text(PLAN)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "a plan")
    call("init")
    call("run", "PLAN.md")
    return repository


def test_a_plan_is_shown_as_what_took_how_long(played: Path, call: Call) -> None:
    shown = call("trace").out
    names = [line.rsplit("  ", 1)[0] for line in shown.splitlines()]
    assert names == [
        "invoke_workflow song",
        "  task task-01",
        "    invoke_agent shell",
        "      step 1",
    ]
    assert "secret-words" not in shown + call("trace", "song", "--json").out
    assert call("trace", "other", expect=3).err.startswith("musician: no plan 'other' is locked")


@pytest.mark.deep
def test_a_collector_gets_one_tree_and_the_same_one_again(
    played: Path, call: Call, collector: Collector
) -> None:
    for _ in range(2):
        assert "4 spans sent" in call("trace", "--otlp", collector.url).out
    first, again = collector.spans()[:4], collector.spans()[4:]
    assert first == again
    ids = {span_id for _, span_id, _ in first}
    assert [parent for _, _, parent in first if parent not in ids] == [b""]
    (attributes,) = (
        {each.key: each.value.string_value for each in span.attributes}
        for span in collector.got[0].resource_spans[0].scope_spans[0].spans
        if span.name == "invoke_agent shell"
    )
    assert attributes["gen_ai.operation.name"] == "invoke_agent"
    assert attributes["gen_ai.conversation.id"].startswith("musician-")
    assert b"secret-words" not in collector.got[0].SerializeToString()


def test_what_a_collector_does_not_take_is_a_failure(
    played: Path, call: Call, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the environment names it, it is found there."""
    collector.status = 400
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector.url)
    assert "not taken by the collector" in call("trace", "--otlp", expect=1).out
    assert collector.got


@pytest.mark.parametrize(
    ("words", "module", "extra"),
    [
        (("trace", "--otlp"), "musician.reporting.otlp", "otel"),
        (("dashboard",), "musician.web.server", "dashboard"),
        (("demo", "--dashboard"), "musician.web.server", "dashboard"),
        (("top",), "musician.top.app", "top"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_without_its_packages_it_says_how_this_python_gets_them(
    played: Path,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    module: str,
    extra: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    said = call(*words, expect=2)
    told = said.err
    assert said.out == "", "before anything is begun"
    assert told.endswith(f": {sys.executable} -m pip install 'musician[{extra}]'\n")
