"""What a run of MLPerf's LoadGen is asked for.

References
----------
Reddi et al.: MLPerf Inference Benchmark, ISCA 2020 (scenarios); MLCommons: inference_rules.adoc
(least duration, percentiles).
"""

from __future__ import annotations

from dataclasses import dataclass

from surplus.loadgen.clock import NS_PER_S

SINGLE_STREAM, MULTI_STREAM = "single-stream", "multi-stream"
SERVER, OFFLINE = "server", "offline"
SCENARIOS = {
    SINGLE_STREAM: "SingleStream",
    MULTI_STREAM: "MultiStream",
    SERVER: "Server",
    OFFLINE: "Offline",
}
"""By our name, LoadGen's."""

PERFORMANCE, ACCURACY = "performance", "accuracy"
MODES = {PERFORMANCE: "PerformanceOnly", ACCURACY: "AccuracyOnly"}
"""The same."""

_PERCENTILES = {SINGLE_STREAM: 90.0, MULTI_STREAM: 99.0, SERVER: 99.0}
_RATED = (SERVER, OFFLINE)
NS_PER_MS = 1_000_000
MOST_OFFLINE_SAMPLES = 5_000_000
"""They take some 300 bytes each; LoadGen asks for 24,576 at least."""


@dataclass(frozen=True)
class MlperfParams:
    """A scenario.

    Parameters
    ----------
    scenario : str
        One of ``SCENARIOS``.
    duration_ns : int
        Least length, whole milliseconds, > 0; a submission's is ten minutes.
    least_queries : int
        Least number of queries, >= 1.
    rate_per_s : float or None
        Of server: queries that arrive, on average. Of offline: what is expected, as LoadGen makes
        the samples of the whole duration, and a tenth more, at once. Else None.
    target_ns : int or None
        Of server: within which the percentile must lie. Else None.
    percentile : float or None
        Between 0 and 100, that is judged; None: MLPerf's. Offline has none.
    samples : int or None
        Of a query of multi-stream; None: 8, which is MLPerf's.
    most_in_flight : int
        Queries that were asked and not answered, >= 1; further ones wait here.
    seed : int
        Of arrivals and of the order of samples, >= 0.
    mode : str
        One of ``MODES``. For accuracy every sample of the set is asked once, however long that
        takes; there is no target, and a rate of server alone.
    """

    scenario: str
    duration_ns: int = 10 * NS_PER_S
    least_queries: int = 1
    rate_per_s: float | None = None
    target_ns: int | None = None
    percentile: float | None = None
    samples: int | None = None
    most_in_flight: int = 256
    seed: int = 0
    mode: str = PERFORMANCE

    def __post_init__(self) -> None:
        if self.scenario not in SCENARIOS:
            known = ", ".join(SCENARIOS)
            raise ValueError(f"unknown scenario {self.scenario!r}; there are: {known}")
        if self.mode not in MODES:
            raise ValueError(f"unknown mode {self.mode!r}; there are: {', '.join(MODES)}")
        self._check_what_belongs()
        if self.duration_ns < NS_PER_MS:
            raise ValueError("the duration must be a millisecond or longer")
        for name in ("least_queries", "most_in_flight", "samples"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be >= 1, got {value}")
        if self.rate_per_s is not None and not 0 < self.rate_per_s < float("inf"):
            raise ValueError(f"rate must be > 0, got {self.rate_per_s}")
        if self.scenario == OFFLINE and not self.is_for_accuracy:
            self._check_offline_samples()
        if self.target_ns is not None and self.target_ns < 1:
            raise ValueError(f"the latency target must be > 0, got {self.target_ns} ns")
        if self.percentile is not None and not 0 < self.percentile < 100:
            raise ValueError(f"percentile must be between 0 and 100, got {self.percentile}")
        if self.seed < 0:
            raise ValueError(f"seed must be >= 0, got {self.seed}")

    def _check_offline_samples(self) -> None:
        """They are made all at once, and each takes memory until it is answered."""
        assert self.rate_per_s is not None, "offline has one"
        samples = round(self.rate_per_s * self.duration_ns / NS_PER_S)
        if samples > MOST_OFFLINE_SAMPLES:
            raise ValueError(
                f"--rate and --duration make {samples:,} samples at once, of at most"
                f" {MOST_OFFLINE_SAMPLES:,}"
            )

    def _check_what_belongs(self) -> None:
        """What a scenario needs is there, and nothing that it has no use for."""
        needs = {"rate_per_s": _RATED, "target_ns": (SERVER,)}
        takes = needs | {"samples": (MULTI_STREAM,), "percentile": tuple(_PERCENTILES)}
        if self.is_for_accuracy:
            needs = {"rate_per_s": (SERVER,)}
            takes = needs | {"samples": (MULTI_STREAM,)}
        for name, what in _OPTIONS.items():
            scenarios = takes.get(name, ())
            is_given = getattr(self, name) is not None
            if is_given and not scenarios:
                raise ValueError(f"{what} is of performance, not of accuracy")
            if is_given and self.scenario not in scenarios:
                raise ValueError(f"{what} is for {', '.join(scenarios)}, not {self.scenario}")
            if not is_given and self.scenario in needs.get(name, ()):
                raise ValueError(f"{self.scenario} needs {what}")

    @property
    def is_for_accuracy(self) -> bool:
        """Whether answers are looked at, rather than times."""
        return self.mode == ACCURACY

    @property
    def judged_percentile(self) -> float | None:
        """Which percentile of the latencies is the result, or must be within the target."""
        if self.is_for_accuracy:
            return None
        return self.percentile or _PERCENTILES.get(self.scenario)

    @property
    def samples_per_query(self) -> int:
        """Of multi-stream; offline has one query of all."""
        return self.samples or (8 if self.scenario == MULTI_STREAM else 1)


_OPTIONS = {
    "rate_per_s": "--rate",
    "target_ns": "--slo",
    "percentile": "--percentile",
    "samples": "--samples",
}
