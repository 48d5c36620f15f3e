"""A scripted model on loopback: the Messages API, and OpenAI's two, as far as clients use them.

Each request is recorded first and answered second. The main conversation takes the script's steps in order;
subagents take those of ``sub``; the client's own requests (a title, a summary) get a fixed text. A request
without a step left, and a step whose function raises, is answered with an error that ends the client's turn
at once, and is reported by :meth:`ScriptedModel.check`: a script that does not fit is a defect of the test,
never a hang.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from musician.testing.dialect import Dialect
from musician.testing.openai_chat import CHAT
from musician.testing.openai_responses import RESPONSES
from musician.testing.received import Received, RequestKind
from musician.testing.script import Reply, Script, ScriptedFailure, Step, say
from musician.testing.waiting import HANG_S, NotInTime
from musician.testing.wire import MESSAGES, failure_body

_MOST_REQUESTS = 2_000
_MOST_BODY_BYTES = 32 * 1024 * 1024
_MOST_HELD_BYTES = 512 * 1024 * 1024
_TOLD_CHARS = 300
_BYTES_A_TOKEN = 4

_AUX = say("aux")
_NONE: Mapping[str, str] = {}

_DIALECTS = {"/v1/messages": MESSAGES, "/v1/responses": RESPONSES, "/v1/chat/completions": CHAT}


class ScriptProblem(AssertionError):
    """The script did not fit what the client asked."""


class ScriptedModel:
    """A server on 127.0.0.1, at a port of its own, from entering to leaving. ``url`` is the client's base URL."""

    def __init__(self, main: Script, *, sub: Script = ()) -> None:
        self._steps = {RequestKind.MAIN: _Steps(main), RequestKind.SUB: _Steps(sub)}
        self._changed = threading.Condition()
        self._requests: list[Received] = []
        self._problems: list[str] = []
        self._held_bytes = 0
        self._holds: set[threading.Event] = set()
        self._closed = False
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """The server's address, for the client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    # -- looking ----------------------------------------------------------------------------------------------

    @property
    def requests(self) -> tuple[Received, ...]:
        """Everything received so far, oldest first."""
        with self._changed:
            return tuple(self._requests)

    @property
    def main(self) -> tuple[Received, ...]:
        """The main conversation's requests."""
        return tuple(each for each in self.requests if each.kind is RequestKind.MAIN)

    def wait_for(
        self, wanted: Callable[[Received], object], *, after: int = 0, within_s: float = HANG_S
    ) -> Received:
        """Return the first wanted request, past or to come, of those numbered above ``after``."""

        def found() -> Received | None:
            return next((each for each in self._requests if each.number > after and wanted(each)), None)

        with self._changed:
            seen = self._changed.wait_for(found, timeout=within_s)
            if seen is None:
                raise NotInTime(f"no such request within {within_s:g} s. {self._told()}")
        return seen

    def check(self) -> None:
        """Raise :class:`ScriptProblem` if a request did not fit the script."""
        with self._changed:
            if self._problems:
                raise ScriptProblem(self._told())

    def told(self) -> str:
        """Return the end of the conversation, for a failure's message."""
        with self._changed:
            return self._told()

    def _told(self) -> str:
        last = [
            f"{each.number} {each.kind}: …{each.news_text[-_TOLD_CHARS:]}" for each in self._requests[-3:]
        ]
        problems = "".join(f"{problem}. " for problem in self._problems)
        return f"{problems}{len(self._requests)} requests; the last: {last}"

    # -- its life ---------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if error is None:
            self.check()
        else:  # whatever has failed, what was asked last says most of why
            error.add_note(f"The model: {self.told()}")

    def close(self) -> None:
        """Stop the server. Held requests are released; no more answers are sent."""
        with self._changed:
            self._closed = True
            for hold in self._holds:
                hold.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    # -- answering (the server's threads) ---------------------------------------------------------------------

    def answer(
        self, body: dict[str, Any], *, size_bytes: int, session_id: str, agent_id: str
    ) -> tuple[int, Step]:
        """Record a request; return its number and the step that answers it, once nothing holds it any more."""
        with self._changed:
            received = Received(
                number=len(self._requests) + 1,
                at_s=time.monotonic(),
                body=body,
                size_bytes=size_bytes,
                session_id=session_id,
                agent_id=agent_id,
            )
            self._held_bytes += size_bytes
            if received.number > _MOST_REQUESTS or self._held_bytes > _MOST_HELD_BYTES:
                return received.number, self._problem("the client asks without an end")
            self._requests.append(received)
            self._changed.notify_all()
            step = self._pick(received)
        self._stand(step)
        return received.number, step

    def _pick(self, received: Received) -> Step:
        if received.kind is RequestKind.AUX:
            return _AUX
        try:
            step = self._steps[received.kind].take(received)
        except Exception as error:  # whatever a test's own function raises is told to the test
            return self._problem(f"request {received.number}: {type(error).__name__}: {error}")
        return step or self._problem(f"request {received.number} ({received.kind}) has no step in the script")

    def _problem(self, text: str) -> ScriptedFailure:
        self._problems.append(text)
        return ScriptedFailure(message=text)

    def _stand(self, step: Step) -> None:
        if not isinstance(step, Reply):
            return
        if step.hold is not None:
            with self._changed:
                self._holds.add(step.hold)
                if self._closed:
                    step.hold.set()
            step.hold.wait()
        time.sleep(step.delay_s)


class _Steps:
    """The remaining steps of one script."""

    def __init__(self, script: Script) -> None:
        self._every = script if callable(script) else None
        self._left: Iterator[Step | Callable[[Received], Step]] = iter(() if callable(script) else script)

    def take(self, received: Received) -> Step | None:
        step = self._every or next(self._left, None)
        return step(received) if callable(step) else step


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that was killed while it was being answered."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Log nothing: a request's headers contain the key."""

    def do_GET(self) -> None:
        self._send_json(404, failure_body(ScriptedFailure(status=404, kind="not_found_error")))

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        if length > _MOST_BODY_BYTES:
            self.close_connection = True
            self._send_json(413, failure_body(ScriptedFailure(status=413, kind="request_too_large")))
            return
        raw = self.rfile.read(length)
        path = self.path.partition("?")[0]
        if path in _DIALECTS:
            self._message(_DIALECTS[path], raw)
        elif path == "/v1/messages/count_tokens":
            self._send_json(200, {"input_tokens": len(raw) // _BYTES_A_TOKEN})
        else:
            self.do_GET()

    def _message(self, dialect: Dialect, raw: bytes) -> None:
        asked = json.loads(raw)
        number, step = self.server.model.answer(
            dialect.read(asked),
            size_bytes=len(raw),
            session_id=self.headers.get("x-claude-code-session-id", ""),
            agent_id=self.headers.get("x-claude-code-agent-id", ""),
        )
        if isinstance(step, ScriptedFailure):
            self._send_json(step.status, dialect.failure(step), step.headers)
            return
        message = dialect.body(step, number=number, asked=asked)
        if not asked.get("stream"):
            self._send_json(200, message)
            return
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in dialect.events(message):
            self.wfile.write(event)
            self.wfile.flush()

    def _send_json(self, status: int, document: dict[str, Any], headers: Mapping[str, str] = _NONE) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
