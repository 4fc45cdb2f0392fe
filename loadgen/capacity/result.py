"""What a search came to, for people and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from surplus.loadgen.capacity.params import RampParams
from surplus.loadgen.capacity.search import RateFound
from surplus.loadgen.measure_params import MeasureParams

CAPACITY_FORMAT = "loadgen-capacity/1"


def statement(found: RateFound, ramp: RampParams, title: str) -> str:
    """A sentence or two: the rate, how sure it is, and what is not held any more."""
    if not found.rate_per_s:
        return f"{title}: no rate keeps {ramp.target}: {found.reason}."
    checks = [trial for trial in found.trials if trial.is_check]
    held = f"{title} answers {found.rate_per_s:,.5g} queries/s, {ramp.target}"
    if found.is_checked and ramp.checks:
        held += f"; held in {ramp.checks} of {ramp.checks} further windows"
    elif checks or found.reason:
        held += "; not held again by further windows" * (not found.reason)
    if found.reason:
        return f"{held}. Perhaps more: {found.reason}."
    return f"{held}. {found.missed_per_s:,.5g} /s were not held."


def capacity_document(found: RateFound, params: MeasureParams, ramp: RampParams) -> dict[str, Any]:
    """All of it; rates per second, times in nanoseconds."""
    process = {} if params.process is None else params.process.describe()
    return {
        "format": CAPACITY_FORMAT,
        "target": {
            "url": params.url,
            "models": [model.describe() for model in params.models],
            "protocol": params.transport.protocol,
        },
        "arrivals": {key: value for key, value in process.items() if key != "rate_per_s"},
        "asked": asdict(ramp) | {"window_ns": ramp.length_ns},
        "capacity_per_s": found.rate_per_s,
        "missed_per_s": found.missed_per_s,
        "is_checked": found.is_checked,
        "ended_early": found.reason,
        "trials": [trial.to_dict() for trial in found.trials],
    }
