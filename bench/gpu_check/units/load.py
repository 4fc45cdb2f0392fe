"""Peak throughput, and latency under random arrivals at 80 % of ONNX Runtime's peak."""

from __future__ import annotations

from dataclasses import asdict

from bench.gpu_check.contender import ENGINE, Contender, of_model, peers
from bench.gpu_check.figures import THROUGHPUT, UNDER_LOAD, Found, figure
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.queries import peak_per_s, under_poisson_load
from bench.gpu_check.setting import Setting
from bench.gpu_check.subject import Subject
from surplus.loadgen.stats import Latency, LoadSummary

SHARE = 0.8


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """The peaks first; then both under the load that ONNX Runtime can just bear."""
    subject = Subject(spec, setting)
    ours = of_model(ENGINE, subject.engine(), subject.inputs)
    others = peers(subject)
    seconds = setting.budget_s / (2 * (1 + len(others)) + 2)
    peaks = {c.name: peak_per_s(c, seconds) for c in (ours, *others)}
    best = max(others, key=lambda contender: peaks[contender.name][0])
    rate = SHARE * peaks[best.name][0]
    loads = {c.name: under_poisson_load(c, rate, 2 * seconds) for c in (ours, best)}
    one, other = (_latency(loads[c.name]) for c in (ours, best))
    note = f"at {rate:.4g} queries a second"
    rows = (
        figure("peak throughput: engine / ONNX Runtime", _ratio(peaks, ours, best), THROUGHPUT),
        figure("mean under load: engine / ONNX Runtime", _mean(one, other), UNDER_LOAD, note),
        figure("p99 under load: engine / ONNX Runtime", _p99(one, other), UNDER_LOAD, note),
    )
    return Found(
        rows,
        {
            "peak per s, in flight": peaks,
            "under load": {name: asdict(found) for name, found in loads.items()},
        },
    )


def _ratio(peaks: dict[str, tuple[float, int]], ours: Contender, best: Contender) -> float:
    return peaks[ours.name][0] / peaks[best.name][0]


def _latency(summary: LoadSummary) -> Latency | None:
    return summary.latency


def _mean(one: Latency | None, other: Latency | None) -> float | None:
    return one.mean_ns / other.mean_ns if one and other else None


def _p99(one: Latency | None, other: Latency | None) -> float | None:
    return one.p99_ns / other.p99_ns if one and other else None
