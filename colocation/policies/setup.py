"""Makes a policy's parts for a demand: the same ones, simulated and live."""

from __future__ import annotations

from typing import NamedTuple

from surplus.colocation.frame.deployment import Deployment, check_deployment
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context, Dispatcher
from surplus.colocation.frame.planner import PLANNERS, Demand, Planner
from surplus.colocation.frame.predictor import PREDICTORS
from surplus.colocation.policies.names import PolicySpec


class PolicySetup(NamedTuple):
    """A policy, ready to serve."""

    planner: Planner
    deployment: Deployment
    dispatcher: Dispatcher


def set_up(demand: Demand, policy: PolicySpec) -> PolicySetup:
    """Plan, check the plan, and make the dispatcher.

    Raises
    ------
    ValueError
        If the policy has an unknown part, a profile lacks an entry that it needs, or its
        deployment does not fit the devices.
    """
    services = demand.services
    predictor = PREDICTORS.make(
        policy.predictor, services, demand.profiles, **policy.predictor_options
    )
    planner = PLANNERS.make(policy.planner, **policy.planner_options)
    deployment = planner.plan(demand)
    check_deployment(deployment, services, demand.devices)
    _check_times(deployment, demand)
    context = Context(services, demand.devices, predictor)
    dispatcher = DISPATCHERS.make(policy.dispatcher, context, **policy.dispatcher_options)
    return PolicySetup(planner, deployment, dispatcher)


def _check_times(deployment: Deployment, demand: Demand) -> None:
    """Check that a service has a time wherever it was placed."""
    for service, share_percent in sorted(
        {
            (a.service, deployment.partitions[a.partition].share_percent)
            for a in deployment.assignments
        }
    ):
        try:
            demand.latency_ns(service, demand.least_items(service), share_percent)
        except ValueError as error:
            name = demand.services[service].name
            raise ValueError(f"service {name!r} at {share_percent} %: {error}") from error
