"""The JSON form of a measurement."""

from __future__ import annotations

import json
from dataclasses import asdict

from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.stats import LoadSummary

FORMAT = "loadgen-result/1"


def to_json(summary: LoadSummary, params: MeasureParams) -> str:
    """Write what was measured and how; times in nanoseconds, rates per second."""
    is_open = isinstance(params.loop, OpenLoopParams)
    loop = asdict(params.loop)
    load = {"loop": "open" if is_open else "closed"} | loop.pop("load") | loop
    if is_open:
        load |= asdict(params.arrivals)
    load["protocol"] = params.transport.protocol
    target = {"url": params.url, "model": params.model, "version": params.version}
    result = {"format": FORMAT, "target": target, "load": load, "summary": summary.to_dict()}
    return json.dumps(result, indent=1)
