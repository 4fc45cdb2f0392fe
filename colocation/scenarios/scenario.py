"""Scenarios: what is served, on what, under which load, and what is true of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from surplus.colocation.frame.arrival import Arrivals, expected_per_s
from surplus.colocation.frame.change import Change
from surplus.colocation.frame.interference_model import Interference
from surplus.colocation.frame.load import Load, Stream, merge
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.profile import LatencyProfile, LayeredProfile
from surplus.colocation.frame.reorganiser import ReorganisationParams
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.overlap.group_times import GroupTimes
from surplus.colocation.overlap.measured_truth import MeasuredTruth
from surplus.colocation.randomness.draws import stream_of
from surplus.colocation.randomness.noise import Noise
from surplus.colocation.simulation.simulator import Setting
from surplus.colocation.truths.lanes_truth import LanesTruth
from surplus.colocation.truths.layer_truth import LayerTruth
from surplus.colocation.truths.truth import ProfileTruth, Truth


@dataclass(frozen=True)
class Tenant:
    """A service with its load.

    Parameters
    ----------
    service : Service
    profile : LatencyProfile
    arrivals : Arrivals
    items, sequences : tuple of int
        What a query brings; each drawn uniformly from its tuple.
    """

    service: Service
    profile: LatencyProfile
    arrivals: Arrivals
    items: tuple[int, ...] = (1,)
    sequences: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class LiveSettings:
    """What a scenario is served on, live.

    Parameters
    ----------
    devices : str
        Devices of the engine; those of the scenario are its GPUs if it has any, else its CPU.
    models : tuple of str
        By service: an ONNX file, or the name of a network that comes with the engine.
    shares : tuple of int
        If there are any, partitions are shares of an emulated GPU's processors, and these are
        measured; ascending, in percent. Without them partitions are lanes.
    compiled : tuple of str
        By service: a file of its model's compiled versions, empty for none. None where no service
        has any.
    """

    devices: str
    models: tuple[str, ...]
    shares: tuple[int, ...] = ()
    compiled: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """All of a simulation but the policy.

    Parameters
    ----------
    name : str
    tenants : tuple of Tenant
    devices : tuple of ServingDevice
    duration_ns : int
        When arrivals end.
    seed : int
        Of arrivals, sizes and service times; each service has streams of its own.
    policies : tuple of str
        Names to compare.
    noise : Noise
        How service times scatter around the profiles.
    overlap : float
        What a group of several services saves, 0 to 1.
    group_times : GroupTimes, optional
        The truth of groups, as measured; instead of profiles and ``overlap``.
    side_by_side : str
        ``"lanes"`` or ``"streams"``: pieces of a group run side by side on the lanes of the first
        device, as live on a CPU or on a GPU; instead of ``overlap``. Empty if not.
    interference : Interference, optional
        Between the partitions of a device.
    drain_ns : int, optional
        How long the run may go on after the arrivals; None until all is done.
    policy_options : mapping
        Options by policy; see ``with_options``.
    changes : tuple of (int, Change)
        When devices and services go and come.
    reorganisation : ReorganisationParams, optional
        How deployments follow rates and changes; None to keep the first.
    spawn_ns : int
        What a group loses each time that cores are added to it.
    live : LiveSettings, optional
        Without them it can be simulated only.
    """

    name: str
    tenants: tuple[Tenant, ...]
    devices: tuple[ServingDevice, ...]
    duration_ns: int
    seed: int
    policies: tuple[str, ...]
    noise: Noise
    overlap: float = 0.0
    group_times: GroupTimes | None = None
    side_by_side: str = ""
    interference: Interference | None = None
    drain_ns: int | None = None
    policy_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    changes: tuple[tuple[int, Change], ...] = ()
    reorganisation: ReorganisationParams | None = None
    spawn_ns: int = 0
    live: LiveSettings | None = None

    @property
    def services(self) -> tuple[Service, ...]:
        """The services, in order of the tenants."""
        return tuple(tenant.service for tenant in self.tenants)

    def scaled(self, factor: float) -> Scenario:
        """The scenario with all its rates times a factor."""
        tenants = (replace(t, arrivals=t.arrivals.scaled(factor)) for t in self.tenants)
        return replace(self, tenants=tuple(tenants))

    def load(self) -> Load:
        """Draw the queries; always the same ones.

        Raises
        ------
        ValueError
            If a service has too many to serve; the message names it.
        """
        streams = [self._stream(tenant) for tenant in self.tenants]
        return merge(streams, [s.slo_ns for s in self.services], self.duration_ns)

    def demand(self) -> Demand:
        """What planners are told: mean rates over the run, largest queries."""
        return Demand(
            services=self.services,
            profiles=tuple(tenant.profile for tenant in self.tenants),
            rates_per_s=tuple(expected_per_s(t.arrivals, self.duration_ns) for t in self.tenants),
            items=tuple(max(tenant.items) for tenant in self.tenants),
            sequences=tuple(max(tenant.sequences) for tenant in self.tenants),
            devices=self.devices,
        )

    def setting(self) -> Setting:
        """Everything that the policies have in common."""
        demand = self.demand()
        return Setting(
            demand,
            self.load(),
            self._truth(demand),
            self.interference,
            self.drain_ns,
            changes=self.changes,
            reorganisation=self.reorganisation,
            spawn_ns=self.spawn_ns,
        )

    def _truth(self, demand: Demand) -> Truth:
        services = demand.services
        if self.group_times is not None:
            return MeasuredTruth(services, self.group_times, self.noise, self.seed)
        values = (services, demand.profiles, self.noise, self.seed, self.overlap)
        layered = any(isinstance(profile, LayeredProfile) for profile in demand.profiles)
        truth = LayerTruth(*values) if layered else ProfileTruth(*values)
        if not self.side_by_side:
            return truth
        widest = 1 if self.side_by_side == "streams" else None
        return LanesTruth(truth, self.devices[0].lanes, self.interference, widest)

    def _stream(self, tenant: Tenant) -> Stream:
        name = tenant.service.name
        arrivals, items, sequences = (
            np.random.default_rng([stream_of(self.seed, name), part]) for part in range(3)
        )
        try:
            arrival_ns = tenant.arrivals.times_ns(self.duration_ns, arrivals)
        except ValueError as error:
            raise ValueError(f"{self.name}, service {name!r}: {error}") from error
        count = len(arrival_ns)
        return Stream(
            arrival_ns=arrival_ns,
            items=items.choice(np.array(tenant.items, np.int64), count),
            sequence=sequences.choice(np.array(tenant.sequences, np.int64), count),
        )
