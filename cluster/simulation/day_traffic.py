"""A day of queries a minute like that of the Azure Functions trace.

References
----------
Shahrad et al.: Serverless in the Wild, ATC 2020: rates span eight orders of magnitude, 81 % of
applications are invoked once a minute at most and the rest have 99.6 % of the invocations, which a
log-normal law of rates with a deviation of 3.5 has both; timers; a day's rise and fall, most at
noon; bursts. Which part of the applications is of which sort is rounded from its Figs. 5 and 6.
The trace itself replays by ``surplus.colocation``'s ``azure_functions``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surplus.cluster.queueing.overflow import Floats

MINUTES = 1440

_RARE = 0.81
"""Part of the models that may be timers or bursty: those are rarely the busy ones."""


@dataclass(frozen=True)
class DayTrafficParams:
    """What a day looks like.

    Parameters
    ----------
    deviation : float
        Of the logarithm of rates over models; >= 0.
    swing : float
        Of the day, about the mean; 0 to 1.
    timers, bursty : float
        Parts of the rare models that come at fixed minutes, and in bursts; 0 to 1 together.
    jitter : float
        Deviation of the logarithm of rates beside the day's swing, over an hour; >= 0.
    """

    deviation: float = 3.5
    swing: float = 0.5
    timers: float = 0.2
    bursty: float = 0.2
    jitter: float = 0.1

    def __post_init__(self) -> None:
        if min(self.deviation, self.jitter, self.timers, self.bursty) < 0:
            raise ValueError(f"deviation, jitter, timers and bursty must be >= 0, got {self}")
        if not (self.timers + self.bursty <= 1 and 0 <= self.swing <= 1):
            raise ValueError(f"timers + bursty and swing must be 0 to 1, got {self}")


def day_rates(
    models: int,
    generator: np.random.Generator,
    params: DayTrafficParams | None = None,
    minutes: int = MINUTES,
) -> Floats:
    """Relative rates, (minutes, models); their mean over the day and all models is 1."""
    p = params or DayTrafficParams()
    popularity = np.exp(p.deviation * generator.standard_normal(models))
    shape = np.exp(p.jitter * _wandering(minutes, models, generator))
    rare = popularity <= np.quantile(popularity, _RARE)
    sort = np.where(rare, generator.random(models), 1.0)
    clock = 2 * np.pi * np.arange(minutes) / MINUTES
    for model in range(models):
        phase = generator.normal(0.0, 0.4)
        shape[:, model] *= 1 - p.swing * np.cos(clock + phase)
        if sort[model] < p.timers:
            shape[:, model] *= _timer(minutes, generator)
        elif sort[model] < p.timers + p.bursty:
            shape[:, model] *= _bursts(minutes, generator)
    shape *= popularity / np.maximum(shape.mean(axis=0), 1e-12)
    result: Floats = shape / shape.mean()
    return result


def day_counts(rates_per_s: Floats, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """Queries of each minute, Poisson."""
    return generator.poisson(rates_per_s * 60.0)


def _wandering(minutes: int, models: int, generator: np.random.Generator) -> Floats:
    """A process of deviation 1 that forgets within an hour."""
    kept = np.exp(-1 / 60)
    level = generator.standard_normal((minutes, models))
    for minute in range(1, minutes):
        level[minute] = kept * level[minute - 1] + np.sqrt(1 - kept**2) * level[minute]
    return level


def _timer(minutes: int, generator: np.random.Generator) -> Floats:
    every = int(generator.choice([1, 5, 10, 15, 30, 60]))
    rung = np.arange(minutes) % every == int(generator.integers(every))
    return np.where(rung, 1.0, 0.0)


def _bursts(minutes: int, generator: np.random.Generator) -> Floats:
    """Two levels, of which the higher one lasts for some minutes, an hour apart or so."""
    change = generator.random(minutes)
    high = np.zeros(minutes, np.bool_)
    for minute in range(1, minutes):
        high[minute] = change[minute] < (0.8 if high[minute - 1] else 1 / 60)
    return np.where(high, 1.0, 0.1)
