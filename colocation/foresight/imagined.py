"""Loads and truths as a planner can imagine them: what it is told, and chance."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.interference_model import Interference
from surplus.colocation.frame.load import Load, Stream, merge
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.predictor import Predictor
from surplus.colocation.frame.profile import LatencyProfile, LayeredProfile
from surplus.colocation.frame.work import Group
from surplus.colocation.interference.contention import Contention
from surplus.colocation.interference.pairwise import Pairwise
from surplus.colocation.interference.pressure import Pressure
from surplus.colocation.randomness.draws import stream_of, uniform
from surplus.colocation.randomness.noise import NOISES, Noise
from surplus.colocation.truths.layer_truth import LayerTruth
from surplus.colocation.truths.truth import ProfileTruth, Truth

_LEAST_RATE_PER_S = 1e-3
LEAST_TARGETS = 4
"""A load lasts for so many times the longest target, so that queues show what they come to."""
_MOST_TIMES = 8
"""But is of at most so many times the queries asked for, lest trials take too long."""

_CACHE_COST, _MEMORY_COST = 0.5, 1.0
"""Of two models that each use all of it. Two that use a third of both cost each other 0.17: it is
under 0.18 for nine of ten pairs (gpulet, Fig. 7)."""
_USUAL = 0.05
"""What a neighbour costs on a CPU's lanes where nothing is known."""


def imagined_load(
    demand: Demand,
    queries: int,
    seed: int,
    burst: float = 1.0,
    targets: int = LEAST_TARGETS,
) -> Load:
    """Poisson arrivals at the demand's rates; sizes at equal chance from an eighth to the largest.

    Parameters
    ----------
    queries : int
        On the mean, of all services; up to eight times as many where ``targets`` bring them. The
        rates are always the demand's: what is good on a thin load may fail on a full one.
    burst : float
        In every second quarter of the run all rates are so many times as high, >= 1, in the
        others lower by as much as keeps the mean.
    targets : int
        So many of the longest targets it lasts, at least.
    """
    rates = [max(_LEAST_RATE_PER_S, rate) for rate in demand.rates_per_s]
    longest_ns = max(service.slo_ns for service in demand.services)
    asked_ns = round(queries / sum(rates) * NS_PER_S)
    duration_ns = min(max(asked_ns, targets * longest_ns), _MOST_TIMES * asked_ns)
    streams = []
    for index, rate in enumerate(rates):
        draw = np.random.default_rng([stream_of(seed, demand.services[index].name), 9])
        count = int(draw.poisson(rate * duration_ns / NS_PER_S))
        when_ns = np.sort(_times(draw, count, duration_ns, burst))
        items = draw.choice(_sizes(demand.least_items(index), 1), count)
        lengths = draw.choice(_sizes(demand.sequences[index], 0), count)
        streams.append(Stream(when_ns, items, lengths))
    return merge(streams, [service.slo_ns for service in demand.services], duration_ns)


def _times(
    draw: np.random.Generator, count: int, duration_ns: int, burst: float
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Uniform in time, more in the second and the fourth quarter."""
    quarter = np.where(draw.random(count) < burst / 2, 1, 0) + 2 * draw.integers(0, 2, count)
    if burst == 1.0:
        return (draw.random(count) * duration_ns).astype(np.int64)
    return ((quarter + draw.random(count)) / 4 * duration_ns).astype(np.int64)


def _sizes(most: int, least: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """An eighth, a quarter, half and all of the largest."""
    parts = {max(least, -(-most // k)) for k in (1, 2, 4, 8)}
    return np.array(sorted(parts), np.int64)


def believed_interference(demand: Demand, times: float = 1.0) -> Interference | None:
    """What neighbours cost: as far as profiles say it, else what is usual on a CPU's lanes.

    Profiles of layers know what pressure costs their versions (VELTAIR); those that were measured
    live, what each other model costs; others may say how much of caches and memories a model uses
    (gpulet). The laws are stated, not measured, as any before serving. Ways that run many groups
    side by side are worth less the more neighbours cost: who believes that they cost nothing
    prefers those.

    Parameters
    ----------
    times : float
        What was not measured is so many times as strong.
    """
    names = [service.name for service in demand.services]
    layers = [own for own in demand.profiles if isinstance(own, LayeredProfile)]
    cores = max(device.cores for device in demand.devices)
    if cores and len(layers) == len(names):
        by_version = zip_longest(*(own.sensitivities for own in layers), fillvalue=0.0)
        return Pressure(names, cores, [max(version) for version in by_version])
    measured = [getattr(profile, "beside", {}) for profile in demand.profiles]
    if all(measured):
        known = [{k: max(0.0, v) for k, v in own.items() if k in names} for own in measured]
        return Pairwise(names, times * _USUAL, dict(zip(names, known, strict=True)))
    used = [
        (getattr(profile, "l2", 0.0), getattr(profile, "dram", 0.0)) for profile in demand.profiles
    ]
    if any(map(any, used)):
        l2, dram = (dict(zip(names, column, strict=True)) for column in zip(*used, strict=True))
        return Contention(names, l2, dram, times * _CACHE_COST, times * _MEMORY_COST)
    if any(device.lanes > 1 for device in demand.devices):
        return Pairwise(names, times * _USUAL)
    return None


class BelievedTruth:
    """Groups take what a predictor says, times the scatter of the first piece's profile.

    Parameters
    ----------
    predictor : Predictor
    profiles : sequence of LatencyProfile
    names : sequence of str
        Of the services.
    noise : Noise
    seed : int
    """

    def __init__(
        self,
        predictor: Predictor,
        profiles: Sequence[LatencyProfile],
        names: Sequence[str],
        noise: Noise,
        seed: int,
    ) -> None:
        self._predictor = predictor
        self._profiles = profiles
        self._streams = [stream_of(seed, name) for name in names]
        self._noise = noise

    def group_ns(self, group: Group, share_percent: int) -> int:
        """Predict, and draw."""
        first = group.pieces[0]
        spread = self._profiles[first.service].spread(first.items, first.sequence)
        draw = uniform(self._streams[first.service], first.queries[0].number, first.start)
        predicted_ns = self._predictor.group_ns(group.pieces, share_percent)
        return max(1, round(predicted_ns * self._noise(draw, spread)))


def believed_truth(demand: Demand, predictor: Predictor, groups: bool, seed: int) -> Truth:
    """The truth that a planner can believe in.

    Parameters
    ----------
    groups : bool
        Whether the predictor knows more of groups than that their pieces add up.
    """
    noise: Noise = NOISES.make("lognormal")
    services, profiles = demand.services, demand.profiles
    if groups:
        names = [service.name for service in services]
        return BelievedTruth(predictor, profiles, names, noise, seed)
    layered = any(isinstance(profile, LayeredProfile) for profile in profiles)
    kind = LayerTruth if layered else ProfileTruth
    return kind(services, profiles, noise, seed)
