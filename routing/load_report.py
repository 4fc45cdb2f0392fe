"""What a server says of its load with an answer.

References
----------
Open Request Cost Aggregation, as Triton's clients ask for it: a header of the request names the
format, and the answer has the report in a header of its own; ours has it behind gRPC's answers.
"""

from __future__ import annotations

from collections.abc import Iterable

ASK = ("endpoint-load-metrics-format", "TEXT")
"""A header of the request that asks for it."""

_HEADER = "endpoint-load-metrics"
_WAIT = "named_metrics.wait_ns="


def wait_ns_in(metadata: Iterable[tuple[str, str | bytes]]) -> int | None:
    """How long the server says a new query would wait there, ns; None if it says nothing."""
    for name, value in metadata:
        if name != _HEADER or not isinstance(value, str):
            continue
        for said in value.removeprefix("TEXT ").split(","):
            text = said.strip().removeprefix(_WAIT)
            if text != said.strip() and text.isascii() and text.isdigit():
                return int(text)
    return None
