"""The JSON form of a measurement."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from surplus.loadgen.confidence import confidence_of
from surplus.loadgen.distribution import percentile_curve, time_parts
from surplus.loadgen.errors import ResultError
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.record import Records
from surplus.loadgen.stats import LoadSummary

FORMAT = "loadgen-result/1"


def to_json(measured: Measurement, params: MeasureParams) -> str:
    """Write what was measured and how; times in nanoseconds, rates per second."""
    return json.dumps(to_document(measured, params), indent=1)


def to_document(measured: Measurement, params: MeasureParams) -> dict[str, Any]:
    """What ``to_json`` writes."""
    loop = asdict(params.loop)
    load = {"loop": "open" if params.is_open else "closed"} | loop.pop("load") | loop
    if params.process is not None:
        load |= params.process.describe()
    load |= {"seed": params.seed, "protocol": params.transport.protocol}
    first = params.models[0]
    name = first.name if len(params.models) == 1 else ", ".join(m.name for m in params.models)
    target: dict[str, Any] = {"url": params.url, "model": name, "version": first.version}
    target["models"] = [model.describe() for model in params.models]
    parts = [
        {"name": part.name, "version": part.version} | _figures(part.summary, part.records)
        for part in measured.models
    ]
    whole = {"format": FORMAT, "target": target, "load": load}
    return whole | _figures(measured.summary, measured.records) | {"models": parts}


def read_result(path: Path, formats: Sequence[str] = (FORMAT,)) -> dict[str, Any]:
    """What a file of ``to_json`` says, or one of another of our formats.

    Raises
    ------
    ResultError
        If it is none; it names the file.
    OSError
        If it cannot be read.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{path}: {error}") from error
    if not isinstance(document, dict) or not str(document.get("format")).startswith("loadgen-"):
        raise ResultError(f"{path}: not a result of loadgen ({' or '.join(formats)})")
    if document["format"] not in formats:
        found, wanted = document["format"], " or ".join(formats)
        raise ResultError(f"{path}: is {found}, which cannot be used for this: {wanted} can")
    for key in ("target", "load", "summary") if document["format"] == FORMAT else ():
        if not isinstance(document.get(key), dict):
            raise ResultError(f"{path}: {key}: is missing")
    return document


def _figures(summary: LoadSummary, records: Records) -> dict[str, Any]:
    confidence = confidence_of(records)
    return {
        "summary": summary.to_dict(),
        "confidence": None if confidence is None else asdict(confidence),
        "percentiles": percentile_curve(records),
        "timeline": time_parts(records),
    }
