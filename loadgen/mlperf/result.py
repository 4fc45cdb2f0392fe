"""What LoadGen's detailed log says of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surplus.loadgen.errors import ResultError
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.mlperf.params import MULTI_STREAM, OFFLINE, SERVER, MlperfParams

MLPERF_FORMAT = "loadgen-mlperf/1"
_MARK = ":::MLLOG "
_PERCENTS = {"p50": "50.00", "p90": "90.00", "p95": "95.00", "p97": "97.00", "p99": "99.00"}
_SERVER_RATE, _OFFLINE_RATE = "result_completed_samples_per_sec", "result_samples_per_second"
_MET = {
    "result_perf_constraints_met": "the percentile is not within the target",
    "result_min_duration_met": "it was too short",
    "result_min_queries_met": "there were too few queries",
    "early_stopping_met": "there were too few queries to be sure",
}
"""By LoadGen's key, why a run is not valid where that is false."""


@dataclass(frozen=True)
class MlperfResult:
    """One run's.

    Parameters
    ----------
    version : str
        Of LoadGen.
    is_valid : bool
        By its judgement, and no query failed.
    reasons : tuple of str
        Why it is not.
    figures : mapping of str to number
        ``queries``, ``samples_per_s`` where the scenario has it, and latencies in nanoseconds
        (``mean_ns``, ``p99_ns``, ...): of queries, of multi-stream those of all their samples.
    failed : int
        Samples without an answer, which LoadGen cannot be told of.
    """

    version: str
    is_valid: bool
    reasons: tuple[str, ...]
    figures: Mapping[str, float]
    failed: int


def read_mlperf_log(folder: Path, failed: int) -> MlperfResult:
    """Read ``mlperf_log_detail.txt`` of a folder.

    Raises
    ------
    ResultError
        If it holds no result.
    """
    path = folder / "mlperf_log_detail.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line.removeprefix(_MARK)) for line in lines if line.startswith(_MARK)]
    said = {entry["key"]: entry["value"] for entry in entries}
    if "result_validity" not in said:
        raise ResultError(f"{path}: LoadGen came to no result")
    is_valid = said["result_validity"] == "VALID"
    reasons = [text for key, text in _MET.items() if said.get(key) is False]
    if _OFFLINE_RATE in said and said.get("result_min_duration_met") is False:
        reasons.append(f"expect more of it: --rate {said[_OFFLINE_RATE]:.0f}")
    reasons += [str(e["value"]) for e in entries if e["metadata"]["is_error"]]
    if failed:
        reasons.append(f"{failed:,} samples failed")
    version = str(said["loadgen_version"]).partition(" ")[0]
    return MlperfResult(version, is_valid and not failed, tuple(reasons), _figures(said), failed)


def mlperf_document(
    result: MlperfResult, params: MeasureParams, mlperf: MlperfParams
) -> dict[str, Any]:
    """As JSON has it; times in nanoseconds, rates per second."""
    return {
        "format": MLPERF_FORMAT,
        "loadgen": result.version,
        "target": {
            "url": params.url,
            "models": [model.describe() for model in params.models],
            "protocol": params.transport.protocol,
        },
        "asked": {
            "scenario": mlperf.scenario,
            "duration_ns": mlperf.duration_ns,
            "least_queries": mlperf.least_queries,
            "rate_per_s": mlperf.rate_per_s,
            "target_ns": mlperf.target_ns,
            "percentile": mlperf.judged_percentile,
            "samples_per_query": mlperf.samples_per_query,
            "seed": mlperf.seed,
        },
        "is_valid": result.is_valid,
        "reasons": list(result.reasons),
        "figures": dict(result.figures),
        "failed": result.failed,
    }


def mlperf_rows(result: MlperfResult, mlperf: MlperfParams) -> dict[str, str]:
    """A table for people: what the scenario is about first."""
    figures, percentile = result.figures, mlperf.judged_percentile
    rows = {"result": "VALID" if result.is_valid else "INVALID: " + "; ".join(result.reasons)}
    if mlperf.scenario in (SERVER, OFFLINE):
        rows["samples"] = f"{figures['samples_per_s']:,.1f} /s"
    if mlperf.target_ns is not None:
        rows["target"] = f"p{percentile:g} within {mlperf.target_ns / 1e6:,.3f} ms"
    if mlperf.scenario == MULTI_STREAM:
        rows["samples a query"] = f"{mlperf.samples_per_query:,}"
    rows["queries"] = f"{figures['queries']:,.0f}"
    if mlperf.scenario != OFFLINE:
        of_time = {key: value for key, value in figures.items() if key.endswith("_ns")}
        for key, value in of_time.items():
            rows[f"latency {key.removesuffix('_ns').replace('_', '.')}"] = f"{value / 1e6:,.3f} ms"
    return rows | {"failed": f"{result.failed:,}", "LoadGen": result.version}


def _figures(said: Mapping[str, Any]) -> dict[str, float]:
    keys = {"queries": "result_query_count", "mean_ns": "result_mean_latency_ns"}
    keys |= {f"{p}_ns": f"result_{text}_percentile_latency_ns" for p, text in _PERCENTS.items()}
    keys |= {"p99_9_ns": "result_99.90_percentile_latency_ns", "max_ns": "result_max_latency_ns"}
    keys["samples_per_s"] = _OFFLINE_RATE if _OFFLINE_RATE in said else _SERVER_RATE
    return {name: said[key] for name, key in keys.items() if key in said}
