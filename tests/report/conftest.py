import random

import pytest

from surplus.placement.timeline import Span, SpanKind, Timeline

_TYPES = ["Conv", "Relu", "Gemm", "RoiAlign", "NonMaxSuppression", "Gather", "Concat", "Slice"]


def span(name, start, end, resource="cpu", lanes=(0,), category="Conv", **fields):
    kind = SpanKind.COPY if "->" in resource else SpanKind.TASK
    fields = {"ready_ns": start, "index": 0} | fields
    return Span(
        kind=kind,
        name=name,
        category="copy" if kind is SpanKind.COPY else category,
        resource=resource,
        lanes=lanes,
        start_ns=start,
        end_ns=end,
        **fields,
    )


@pytest.fixture
def make_span():
    return span


@pytest.fixture
def detector_like():
    """3,300 spans: a chain of long tasks on one device, tiny ones on two lanes, copies."""
    draw = random.Random(5)
    spans, clock = [], {"emulated:gpu": 0, 0: 200_000, 1: 300_000, "link": 0}
    for index in range(1200):
        length = draw.choice([4_000, 9_000, 60_000])
        start = clock["emulated:gpu"] + draw.choice([0, 0, 15_000])
        clock["emulated:gpu"] = start + length
        kind = draw.choice(_TYPES[:4])
        spans.append(span(f"gpu{index}", start, start + length, "emulated:gpu", category=kind))
    for index in range(1900):
        lane = index % 2
        start = clock[lane] + draw.choice([0, 1_000, 40_000])
        clock[lane] = start + draw.choice([3_000, 7_000])
        kind = draw.choice(_TYPES[3:])
        spans.append(span(f"cpu{index}", start, clock[lane], "cpu", (lane,), kind))
    for index in range(200):
        start = clock["link"] + draw.choice([20_000, 200_000])
        clock["link"] = start + 30_000
        spans.append(span(f"t{index}", start, clock["link"], "gpu->host"))
    return Timeline.of(spans, "predicted by comm_sd")
