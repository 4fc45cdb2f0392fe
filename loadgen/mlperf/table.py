"""A result as rows for people: what the run is about first."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.loadgen.mlperf.agreement import Agreement
from surplus.loadgen.mlperf.params import MULTI_STREAM, OFFLINE, SERVER, MlperfParams
from surplus.loadgen.mlperf.result import MlperfResult

_MOST_NAMED = 5


def mlperf_rows(result: MlperfResult, mlperf: MlperfParams) -> dict[str, str]:
    """Figures by what they are."""
    verdict = "INVALID" if result.is_complete else "INCOMPLETE"
    rows = {"result": "VALID" if result.is_valid else f"{verdict}: {'; '.join(result.reasons)}"}
    if mlperf.is_for_accuracy:
        rows["samples"] = f"{result.figures['samples']:,.0f}"
        if result.agreement is not None:
            rows |= agreement_rows(result.agreement)
    else:
        rows |= _performance_rows(result, mlperf)
    return rows | {"failed": f"{result.failed:,}", "LoadGen": result.version}


def agreement_rows(agreement: Agreement) -> dict[str, str]:
    """Of answers beside those that were expected."""
    rows, samples = {}, agreement.samples
    if agreement.others is not None:
        rows["as expected"] = _share(samples - len(agreement.others), samples)
        rows["to the bit"] = _share(agreement.equal, samples)
        rows["largest difference"] = f"{agreement.difference:.3g}"
    if agreement.others:
        rows["not as expected"] = named(agreement.others)
    if agreement.correct is not None:
        rows["top-1"] = _share(agreement.correct, samples)
    return rows


def named(samples: Sequence[int]) -> str:
    """The first of them."""
    more = f", and {len(samples) - _MOST_NAMED:,} more" * (len(samples) > _MOST_NAMED)
    return f"samples {', '.join(map(str, samples[:_MOST_NAMED]))}{more}"


def _performance_rows(result: MlperfResult, mlperf: MlperfParams) -> dict[str, str]:
    figures, percentile = result.figures, mlperf.judged_percentile
    rows = {}
    if mlperf.scenario in (SERVER, OFFLINE):
        rows["samples"] = f"{figures['samples_per_s']:,.1f} /s"
    if mlperf.target_ns is not None:
        rows["target"] = f"p{percentile:g} within {mlperf.target_ns / 1e6:,.3f} ms"
    if mlperf.scenario == MULTI_STREAM:
        rows["samples a query"] = f"{mlperf.samples_per_query:,}"
    # LoadGen alone counts queries, in the end.
    if result.is_complete:
        rows["queries"] = f"{figures['queries']:,.0f}"
    else:
        rows["samples answered"] = f"{figures['samples']:,.0f}"
    if mlperf.scenario != OFFLINE:
        of_time = {key: value for key, value in figures.items() if key.endswith("_ns")}
        for key, value in of_time.items():
            rows[f"latency {key.removesuffix('_ns').replace('_', '.')}"] = f"{value / 1e6:,.3f} ms"
    return rows


def _share(count: int, samples: int) -> str:
    return f"{count:,} of {samples:,} ({count / samples:.2%})"
