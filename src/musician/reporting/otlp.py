"""Sends spans to a collector by OTLP over HTTP, with OpenTelemetry's own SDK, which is an extra (``otel``).

A span's ids follow from its key, so that what is sent twice is the same span twice. Nothing is sent unless somebody
asks for it.
"""

from collections.abc import Sequence
from hashlib import blake2b
from importlib.metadata import version

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from musician.reporting.spans import Span

MOST_AT_ONCE = 500
LIMIT_S = 10
"""For one request, its repetitions included."""
_NS = 1_000_000_000


def send(spans: Sequence[Span], *, url: str | None, trace: str) -> bool:
    """Send all; False if the collector did not take them. Blocks.

    ``url`` is where traces are taken, None where OpenTelemetry's own variables say. Spans with the same ``trace`` are
    one trace.
    """
    scope = InstrumentationScope("musician", version("musician"))
    resource = Resource.create({"service.name": "musician", "service.version": version("musician")})
    exporter = OTLPSpanExporter(endpoint=url, timeout=LIMIT_S)
    made = [_made(span, trace, resource, scope) for span in spans]
    try:
        return all(
            exporter.export(made[first : first + MOST_AT_ONCE]) is SpanExportResult.SUCCESS
            for first in range(0, len(made), MOST_AT_ONCE)
        )
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]


def _made(span: Span, trace: str, resource: Resource, scope: InstrumentationScope) -> ReadableSpan:
    error = {"error.type": span.error} if span.error else {}
    return ReadableSpan(
        name=span.name,
        context=_context(trace, span.key),
        parent=_context(trace, span.parent) if span.parent else None,
        resource=resource,
        instrumentation_scope=scope,
        kind=SpanKind.INTERNAL,
        attributes={**span.attributes, **error},
        status=Status(StatusCode.ERROR if span.error else StatusCode.UNSET),
        start_time=int(span.start_s * _NS),
        end_time=int(span.end_s * _NS),
    )


def _context(trace: str, key: str) -> SpanContext:
    return SpanContext(
        trace_id=_number(trace, 16),
        span_id=_number(f"{trace}/{key}", 8),
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )


def _number(text: str, size_bytes: int) -> int:
    """Never 0, which stands for no id."""
    return int.from_bytes(blake2b(text.encode(), digest_size=size_bytes).digest()) or 1
