"""Queries as spans of OpenTelemetry, sent by OTLP over HTTP.

A span goes on with its client's trace where the query came with a ``traceparent``. What else the
library reads from the environment holds: ``OTEL_SERVICE_NAME``, ``OTEL_RESOURCE_ATTRIBUTES``,
``OTEL_EXPORTER_OTLP_HEADERS``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from surplus.engine.errors import ConfigError
from surplus.engine.serving.reporting.report_params import ReportParams
from surplus.engine.serving.reporting.sink import Sink
from surplus.engine.serving.seen_query import SeenQuery
from surplus.engine.serving.trouble import Trouble
from surplus.engine.version import version

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as error:
    raise ConfigError("spans need OpenTelemetry: pip install 'surplus-engine[otel]'") from error

_TIMEOUT_S = 5.0
_OURS = "surplus"


class Spans(Sink):
    """Sends a span a query, with spans of its parts below it.

    Raises
    ------
    ConfigError
        If OpenTelemetry is not installed; already when this module is imported.
    """

    def __init__(self, params: ReportParams) -> None:
        self._provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=params.traces_url, timeout=_TIMEOUT_S)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer(_OURS, version())
        self._parents = TraceContextTextMapPropagator()

    def record(self, queries: Sequence[SeenQuery]) -> None:
        """Queue their spans, on the wall's clock as it is now."""
        wall_ns = time.time_ns() - time.monotonic_ns()
        for query in queries:
            self._record(query, wall_ns)

    def _record(self, query: SeenQuery, wall_ns: int) -> None:
        span = self._tracer.start_span(
            f"infer {query.model}",
            context=self._parents.extract({"traceparent": query.trace_parent}),
            kind=SpanKind.SERVER,
            start_time=wall_ns + query.received_ns,
            attributes=_attributes(query),
        )
        for name, start_ns, end_ns in _parts(query):
            part = self._tracer.start_span(
                name, context=set_span_in_context(span), start_time=wall_ns + start_ns
            )
            part.end(wall_ns + end_ns)
        _tell_trouble(span, query.trouble)
        span.end(wall_ns + query.answered_ns)

    def close(self) -> None:
        """Send what is left, for some seconds at most."""
        self._provider.shutdown()


def _resource() -> Resource:
    found = Resource.create({SERVICE_VERSION: version()})
    if str(found.attributes[SERVICE_NAME]).startswith("unknown_service"):
        return found.merge(Resource({SERVICE_NAME: _OURS}))
    return found


def _attributes(query: SeenQuery) -> dict[str, str | int]:
    found: dict[str, str | int] = {
        "surplus.model": query.model,
        "surplus.model_version": query.version,
        "surplus.outcome": "ok" if query.trouble is None else query.trouble.value,
    }
    if query.id:
        found["surplus.request_id"] = query.id
    if query.waited_ns >= 0:
        found["surplus.waited_ns"] = query.waited_ns
    return found


def _parts(query: SeenQuery) -> list[tuple[str, int, int]]:
    """What its time went to, in order; of one that was not answered only that it was decoded."""
    decode, (_, start_ns, end_ns), encode = query.stages
    if query.trouble not in (None, Trouble.LATE):
        return [decode]
    began_ns = start_ns + min(max(0, query.waited_ns), end_ns - start_ns)
    wait = [("wait for a lane", start_ns, began_ns)] if began_ns > start_ns else []
    return [decode, *wait, ("compute", began_ns, end_ns), encode]


def _tell_trouble(span: Span, trouble: Trouble | None) -> None:
    """A late answer is an answer: only what was not answered is an error."""
    if trouble not in (None, Trouble.LATE):
        span.set_status(StatusCode.ERROR, str(trouble))
