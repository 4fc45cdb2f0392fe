"""Small scenarios of every kind that the simulator knows, drawn by a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from surplus.colocation.arrivals.steady import Poisson
from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.profile import LatencyProfile
from surplus.colocation.frame.reorganiser import ReorganisationParams
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.interference.contention import Contention
from surplus.colocation.interference.pairwise import Pairwise
from surplus.colocation.policies.names import policy_names
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.profiles.analytic import Analytic
from surplus.colocation.profiles.bandwidth import Bandwidth
from surplus.colocation.profiles.table import Table
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.scenarios.scenario import Scenario, Tenant
from tests.colocation.settings import MS

_Draw = np.random.Generator


@dataclass(frozen=True)
class UnevenLayers:
    """A model whose layers take unequal times, in two versions; a batch saves its fixed part.

    Parameters
    ----------
    cores : tuple of int
    fixed_ns, each_ns : tuple of int
        By layer: of a batch, and of each item on one core.
    """

    cores: tuple[int, ...]
    fixed_ns: tuple[int, ...]
    each_ns: tuple[int, ...]
    sensitivities: tuple[float, ...] = (0.5, 0.0)

    @property
    def operations(self) -> tuple[int, ...]:
        return self.each_ns

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        held = self.cores[-1] * share_percent / 100
        return sum(round(own[0] / max(held, 0.01)) for own in self.operator_ns(items, 0, 0))

    def spread(self, items: int, sequence: int) -> float:
        return 0.3

    def operator_ns(self, items: int, sequence: int, version: int) -> list[list[int]]:
        return [
            [max(1, (fixed + items * each) * (10 + version) // 10 // c) for c in self.cores]
            for fixed, each in zip(self.fixed_ns, self.each_ns, strict=True)
        ]


def random_scenario(seed: int) -> Scenario:
    """About a dozen queries of up to three services on up to two devices."""
    draw = np.random.default_rng(seed)
    services = int(draw.integers(1, 4))
    names = [f"s{k}" for k in range(services)]
    cores = int(draw.choice([0, 0, 0, 3, 8, 64, 128, 400]))
    devices = tuple(
        ServingDevice(f"d{k}", lanes=int(draw.choice([1, 1, 2, 5])), cores=cores)
        for k in range(draw.integers(1, 3))
    )
    alike = len({device.lanes for device in devices}) == 1 and devices[0].lanes > 1
    interference = draw.choice(["none", "pairwise", "contention"], p=[0.6, 0.2, 0.2])
    return Scenario(
        name=f"random {seed}",
        tenants=tuple(_tenant(draw, name) for name in names),
        devices=devices,
        duration_ns=60 * MS,
        seed=seed,
        policies=tuple(policy_names()),
        noise=NOISES.make(str(draw.choice(["none", "exponential", "lognormal"]))),
        overlap=float(draw.choice([0.0, 0.0, 0.4])),
        side_by_side=str(draw.choice(["", "lanes", "streams"])) if alike else "",
        interference={
            "none": None,
            "pairwise": Pairwise(names, default=0.3),
            "contention": Contention(names, dict.fromkeys(names, 0.4), {names[0]: 0.5}),
        }[interference],
        changes=_changes(draw, len(devices), services) if draw.random() < 0.2 else (),
        reorganisation=(
            ReorganisationParams(10 * MS, int(draw.integers(0, 2)) * MS, 0.0, 5 * MS, 4)
            if draw.random() < 0.2
            else None
        ),
        spawn_ns=int(draw.choice([0, 200_000])),
    )


def _tenant(draw: _Draw, name: str) -> Tenant:
    profile, operators = _PROFILES[int(draw.integers(len(_PROFILES)))](draw)
    largest = int(draw.choice([1, 2, 4, 8]))
    items = tuple(sorted({1, int(draw.integers(1, largest + 1))}))
    alone_ns = profile.latency_ns(items[-1], 0, 100)
    slo_ns = max(3 * MS, int(alone_ns * draw.choice([1.0, 1.5, 3.0, 8.0])))
    rate_per_s = float(draw.choice([0.2, 1.0, 3.0])) * 60.0
    service = Service(name, slo_ns, largest, operators, draw.choice([None, None, 3]))
    return Tenant(service, profile, Poisson(rate_per_s), items)


def _affine(draw: _Draw) -> tuple[LatencyProfile, int]:
    fixed, each = (int(draw.integers(MS, 8 * MS)) for _ in range(2))
    knee = int(draw.choice([1, 7, 30, 100]))
    return Affine(fixed, each, knee, float(draw.choice([0.0, 0.3]))), int(draw.choice([1, 1, 4]))


def _bandwidth(draw: _Draw) -> tuple[LatencyProfile, int]:
    fixed, unscaled, compute = (int(draw.integers(MS, 4 * MS)) for _ in range(3))
    return Bandwidth(fixed, unscaled, compute, 0.4, 0.3, 0.1), int(draw.choice([1, 3]))


def _table(draw: _Draw) -> tuple[LatencyProfile, int]:
    """Times that fall with the share and rise with the batch; now and then of whole devices."""
    shares = [100] if draw.random() < 0.3 else [1, 25, 50, 100]
    slowness = np.cumsum(draw.uniform(0.5, 4.0, len(shares)))[::-1]
    rows = {
        str(share): [float(slow * batch) for batch in (1.0, 1.6, 4.0)]
        for share, slow in zip(shares, slowness, strict=True)
    }
    return Table([1, 2, 8], rows, 0.2), 1


def _analytic(draw: _Draw) -> tuple[LatencyProfile, int]:
    return Analytic(int(draw.integers(2, 60)), 10_000, kernels=20, processors=80), 2


def _layers(draw: _Draw) -> tuple[LatencyProfile, int]:
    cores = ((1, 2, 4), (2, 4, 8), (8, 64))[int(draw.integers(3))]
    layers = int(draw.integers(1, 5))
    fixed, each = (
        tuple(int(x) for x in draw.integers(1, 20 * MS, layers) * draw.choice([0, 1], layers) + MS)
        for _ in range(2)
    )
    return UnevenLayers(cores, fixed, each), layers


_PROFILES: Sequence[Callable[[_Draw], tuple[LatencyProfile, int]]] = (
    _affine,
    _bandwidth,
    _table,
    _analytic,
    _layers,
)


def _changes(draw: _Draw, devices: int, services: int) -> tuple[tuple[int, Change], ...]:
    """Something goes, and comes back."""
    away, back, most = (
        (ChangeKind.DEVICE_LOST, ChangeKind.DEVICE_BACK, devices),
        (ChangeKind.SERVICE_LEFT, ChangeKind.SERVICE_CAME, services),
    )[int(draw.integers(2))]
    subject = int(draw.integers(most))
    first, second = sorted(int(x) for x in draw.integers(1, 60 * MS, 2))
    return ((first, Change(away, subject)), (second, Change(back, subject)))
