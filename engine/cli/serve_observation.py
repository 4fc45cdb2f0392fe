"""Options of ``engine serve``: who may look at the server, and what is told of single queries."""

from __future__ import annotations

import argparse
from typing import Any

from surplus.engine.serving.reporting.report_params import EVERY, ReportParams
from surplus.engine.serving.server_params import METRICS_PORT


def add_observation(parser: argparse.ArgumentParser) -> None:
    """Metrics, spans, the log (docs/how_to/observe.md)."""
    metrics = parser.add_mutually_exclusive_group()
    metrics.add_argument(
        "--metrics-port",
        type=int,
        metavar="N",
        help=f"port for Prometheus and the status page, over HTTP (default {METRICS_PORT}, or none"
        " where that is taken); 0 lets the system choose",
    )
    metrics.add_argument(
        "--no-metrics",
        action="store_true",
        help="have no such port, no /metrics elsewhere, and remember no query",
    )
    add = parser.add_argument
    add(
        "--otlp",
        default="",
        metavar="URL",
        help="send spans of queries to this OpenTelemetry collector, by OTLP over HTTP"
        " (http://HOST:4318): those whose client's trace is recorded, and some others",
    )
    add(
        "--log-queries",
        action="store_true",
        help="log a line of some queries: what became of each, and where its time went",
    )
    add(
        "--sample-every",
        type=int,
        default=EVERY,
        metavar="N",
        help="one query of N is among those spans and lines; 1 is all, 0 none (default"
        " %(default)s)",
    )
    add(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="how standard error is written: lines of text, or of JSON (default %(default)s)",
    )


def observation_params(args: argparse.Namespace) -> dict[str, Any]:
    """Those of ``ServerParams``; has the log written as it is asked for from now on."""
    if args.log_format == "json":
        from surplus.engine.serving.json_log import log_as_json

        log_as_json()
    return {
        "metrics": not args.no_metrics,
        "metrics_port": _metrics_port(args),
        "needs_metrics_port": args.metrics_port is not None,
        "reports": ReportParams(args.otlp, args.sample_every, args.log_queries),
    }


def _metrics_port(args: argparse.Namespace) -> int | None:
    if args.no_metrics:
        return None
    return METRICS_PORT if args.metrics_port is None else int(args.metrics_port)
