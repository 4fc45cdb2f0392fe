"""What LoadGen's logs say of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from surplus.loadgen.errors import ResultError
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.mlperf.agreement import Agreement
from surplus.loadgen.mlperf.params import MlperfParams
from surplus.loadgen.stats import summarise
from surplus.loadgen.targets.feed import Loss

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
        For accuracy only ``samples``: how many the set has.
    failed : int
        Samples without an answer, which LoadGen cannot be told of.
    agreement : Agreement or None
        With expected answers, where there were any.
    is_complete : bool
        Whether LoadGen came to its end. Else the figures are of all ``samples`` that were answered
        until then, by our clock.
    """

    version: str
    is_valid: bool
    reasons: tuple[str, ...]
    figures: Mapping[str, float]
    failed: int
    agreement: Agreement | None = None
    is_complete: bool = True


def read_mlperf_log(folder: Path, failed: int) -> MlperfResult:
    """Read ``mlperf_log_detail.txt`` of a folder.

    Raises
    ------
    ResultError
        If it holds no result.
    """
    entries = _entries(folder, "result_validity")
    said = {entry["key"]: entry["value"] for entry in entries}
    is_valid = said["result_validity"] == "VALID"
    reasons = [text for key, text in _MET.items() if said.get(key) is False]
    if _OFFLINE_RATE in said and said.get("result_min_duration_met") is False:
        reasons.append(f"expect more of it: --rate {said[_OFFLINE_RATE]:.0f}")
    reasons += _errors(entries, failed)
    is_valid = is_valid and not failed
    return MlperfResult(_version(said), is_valid, tuple(reasons), _figures(said), failed)


def read_accuracy_logs(folder: Path, samples: int, failed: int, said: str) -> MlperfResult:
    """Read ``mlperf_log_accuracy.json``, and LoadGen's errors.

    Parameters
    ----------
    samples : int
        Of the set, each of which should be in the log.
    said : str
        Of what failed, where anything was.

    Raises
    ------
    ResultError
        If LoadGen logged nothing.
    """
    entries = _entries(folder, "loadgen_version")
    path = folder / "mlperf_log_accuracy.json"
    try:
        logged = {row["qsl_idx"] for row in json.loads(path.read_text(encoding="utf-8"))}
    except ValueError as error:
        raise ResultError(f"{path}: {error}") from error
    reasons = _errors(entries, failed, said)
    if len(logged) < samples:
        reasons.append(f"LoadGen logged {len(logged):,} of {samples:,} samples")
    version = _version({entry["key"]: entry["value"] for entry in entries})
    return MlperfResult(version, not reasons, tuple(reasons), {"samples": samples}, failed)


def incomplete_result(loss: Loss, failed: int, version: str) -> MlperfResult:
    """Of a run that broke off, as its target was lost."""
    summary = summarise(loss.records, open_loop=True)
    latency = {} if summary.latency is None else asdict(summary.latency)
    figures = {"samples": summary.succeeded, "samples_per_s": summary.throughput_per_s} | latency
    reasons = (loss.reason, *[f"{failed:,} samples failed"] * bool(failed))
    return MlperfResult(version, False, reasons, figures, failed, is_complete=False)


def with_agreement(result: MlperfResult, agreement: Agreement | None) -> MlperfResult:
    """The result of a run whose answers were compared: answers that differ are not valid."""
    if agreement is None or agreement.is_agreed:
        return replace(result, agreement=agreement)
    count = len(agreement.others or ())
    said = f"{count:,} of {agreement.samples:,} answers are not as expected"
    reasons = (*result.reasons, said)
    return replace(result, is_valid=False, reasons=reasons, agreement=agreement)


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
            "mode": mlperf.mode,
            "duration_ns": mlperf.duration_ns,
            "least_queries": mlperf.least_queries,
            "rate_per_s": mlperf.rate_per_s,
            "target_ns": mlperf.target_ns,
            "percentile": mlperf.judged_percentile,
            "samples_per_query": mlperf.samples_per_query,
            "seed": mlperf.seed,
        },
        "is_valid": result.is_valid,
        "is_complete": result.is_complete,
        "reasons": list(result.reasons),
        "figures": dict(result.figures),
        "failed": result.failed,
        "agreement": None if result.agreement is None else asdict(result.agreement),
    }


def _entries(folder: Path, needed: str) -> list[dict[str, Any]]:
    """Of the detailed log."""
    path = folder / "mlperf_log_detail.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line.removeprefix(_MARK)) for line in lines if line.startswith(_MARK)]
    if all(entry["key"] != needed for entry in entries):
        raise ResultError(f"{path}: LoadGen came to no result")
    return entries


def _errors(entries: Sequence[Mapping[str, Any]], failed: int, said: str = "") -> list[str]:
    """LoadGen's, and ours."""
    errors = [str(entry["value"]) for entry in entries if entry["metadata"]["is_error"]]
    return errors + [f"{failed:,} samples failed" + f": {said}" * bool(said)] * bool(failed)


def _version(said: Mapping[str, Any]) -> str:
    return str(said["loadgen_version"]).partition(" ")[0]


def _figures(said: Mapping[str, Any]) -> dict[str, float]:
    keys = {"queries": "result_query_count", "mean_ns": "result_mean_latency_ns"}
    keys |= {f"{p}_ns": f"result_{text}_percentile_latency_ns" for p, text in _PERCENTS.items()}
    keys |= {"p99_9_ns": "result_99.90_percentile_latency_ns", "max_ns": "result_max_latency_ns"}
    keys["samples_per_s"] = _OFFLINE_RATE if _OFFLINE_RATE in said else _SERVER_RATE
    return {name: said[key] for name, key in keys.items() if key in said}
