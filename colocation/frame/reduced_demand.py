"""Plans for a part of the services on a part of the devices, by planners that know of neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from surplus.colocation.frame.deployment import Deployment, Shortfall
from surplus.colocation.frame.planner import Demand, Planner

T = TypeVar("T")


def plan_without(
    planner: Planner,
    demand: Demand,
    absent: frozenset[int],
    lost: frozenset[int],
    previous: Deployment,
) -> Deployment:
    """Plan for the services that are here on the devices that are here.

    Parameters
    ----------
    planner : Planner
    demand : Demand
        Of all services and devices.
    absent, lost : frozenset of int
        Services and devices that are away.
    previous : Deployment
        The one before; the planner sees what of it is left.

    Returns
    -------
    Deployment
        In the indices of ``demand``. Empty if there is nothing to serve or to serve on.
    """
    services = [k for k in range(len(demand.services)) if k not in absent]
    devices = [k for k in range(len(demand.devices)) if k not in lost]
    if not services or not devices:
        reason = "no device is left"
        rates = ((k, demand.rates_per_s[k]) for k in services)
        lost_rates = tuple(Shortfall(k, rate, reason) for k, rate in rates)
        return Deployment((), (), lost_rates, mode=previous.mode)
    reduced = Demand(
        services=_picked(demand.services, services),
        profiles=_picked(demand.profiles, services),
        rates_per_s=_picked(demand.rates_per_s, services),
        items=_picked(demand.items, services),
        sequences=_picked(demand.sequences, services),
        devices=_picked(demand.devices, devices),
        previous=_left_of(previous, services, devices),
        hurried=demand.hurried,
    )
    return _renumbered(planner.plan(reduced), services, devices)


def _picked(values: Sequence[T], places: Sequence[int]) -> tuple[T, ...]:
    return tuple(values[place] for place in places)


def _renumbered(
    deployment: Deployment, services: Sequence[int], devices: Sequence[int]
) -> Deployment:
    return Deployment(
        tuple(replace(p, device=devices[p.device]) for p in deployment.partitions),
        tuple(replace(a, service=services[a.service]) for a in deployment.assignments),
        tuple(replace(s, service=services[s.service]) for s in deployment.shortfalls),
        deployment.on_demand,
        deployment.mode,
    )


def _left_of(deployment: Deployment, services: Sequence[int], devices: Sequence[int]) -> Deployment:
    """The partitions in use, on the devices that are left; without those of earlier plans."""
    service_of = {service: k for k, service in enumerate(services)}
    device_of = {device: k for k, device in enumerate(devices)}
    used = {a.partition for a in deployment.assignments if a.service in service_of}
    kept = [k for k in sorted(used) if deployment.partitions[k].device in device_of]
    place_of = {place: k for k, place in enumerate(kept)}
    partitions = (deployment.partitions[place] for place in kept)
    return Deployment(
        tuple(replace(p, device=device_of[p.device]) for p in partitions),
        tuple(
            replace(a, service=service_of[a.service], partition=place_of[a.partition])
            for a in deployment.assignments
            if a.service in service_of and a.partition in place_of
        ),
        on_demand=deployment.on_demand,
        mode=deployment.mode,
    )
