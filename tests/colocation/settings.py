"""Small settings that several tests simulate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surplus.colocation.frame.interference_model import Interference
from surplus.colocation.frame.load import Load, Stream, merge
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.simulation.simulator import Setting
from surplus.colocation.truths.truth import ProfileTruth

MS = 1_000_000


def service(
    name: str = "a",
    slo_ms: float = 100,
    max_batch: int = 1,
    operators: int = 1,
    max_queue: int | None = None,
) -> Service:
    return Service(name, round(slo_ms * MS), max_batch, operators, max_queue)


def group_of(service: int, items: int = 1, **options: int) -> Group:
    """A group of one query of a whole model; options are the group's."""
    piece = piece_of((Query(0, service, 0, 0, 1, items),), 0, 1)
    return Group(0, service, (piece,), 0, 0, **options)


def load_of(
    services: Sequence[Service],
    arrivals_ms: Sequence[Sequence[float]],
    items: Sequence[Sequence[int]] | None = None,
    duration_ms: float = 1000,
) -> Load:
    streams = []
    for index, times in enumerate(arrivals_ms):
        own = items[index] if items else [1] * len(times)
        arrival_ns = np.array([round(t * MS) for t in times], np.int64)
        streams.append(Stream(arrival_ns, np.array(own, np.int64), np.zeros(len(times), np.int64)))
    return merge(streams, [s.slo_ns for s in services], round(duration_ms * MS))


def setting_of(
    services: Sequence[Service],
    load: Load,
    fixed_ms: Sequence[float],
    per_item_ms: Sequence[float] | None = None,
    rates_per_s: Sequence[float] | None = None,
    devices: int = 1,
    noise: str = "none",
    seed: int = 1,
    knee_percent: int = 100,
    interference: Interference | None = None,
    drain_ns: int | None = None,
    failures: frozenset[int] = frozenset(),
) -> Setting:
    per_item = per_item_ms or [0.0] * len(services)
    profiles = tuple(
        Affine(round(f * MS), round(p * MS), knee_percent)
        for f, p in zip(fixed_ms, per_item, strict=True)
    )
    most = tuple(
        max((int(i) for i in load.items[load.service == k]), default=1)
        for k in range(len(services))
    )
    demand = Demand(
        tuple(services),
        profiles,
        tuple(rates_per_s or [1.0] * len(services)),
        most,
        (0,) * len(services),
        tuple(ServingDevice(f"gpu{k}") for k in range(devices)),
    )
    truth = ProfileTruth(tuple(services), profiles, NOISES.make(noise), seed)
    return Setting(demand, load, truth, interference, drain_ns, failures)
