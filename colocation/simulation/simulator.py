"""Runs a policy on a virtual clock."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.colocation.frame.change import Change
from surplus.colocation.frame.controller import Controller
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.interference_model import Interference
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.reorganiser import ReorganisationParams, Reorganiser
from surplus.colocation.policies.names import PolicySpec
from surplus.colocation.policies.setup import set_up
from surplus.colocation.simulation.virtual_executor import VirtualExecutor
from surplus.colocation.truths.truth import Truth


@dataclass(frozen=True)
class Setting:
    """All that the policies of a comparison have in common.

    Parameters
    ----------
    demand : Demand
        What planners and predictors are told.
    load : Load
    truth : Truth
        Never shown to a policy.
    interference : Interference, optional
        Of the simulated devices; not shown either.
    drain_ns : int, optional
        How long after the last arrivals the run may last; None until all is done.
    failures : frozenset of int
        Groups that fail.
    changes : tuple of (int, Change)
        When devices and services go and come, in order of time.
    reorganisation : ReorganisationParams, optional
        How planners are asked again; None to keep the first deployment.
    spawn_ns : int
        What a group loses each time that cores are added to it.
    """

    demand: Demand
    load: Load
    truth: Truth
    interference: Interference | None = None
    drain_ns: int | None = None
    failures: frozenset[int] = frozenset()
    changes: tuple[tuple[int, Change], ...] = ()
    reorganisation: ReorganisationParams | None = None
    spawn_ns: int = 0


@dataclass(frozen=True)
class Run:
    """A policy's deployment, and all that happened.

    Later deployments add their partitions to the first one's; who was on them is in the record.
    """

    policy: str
    deployment: Deployment
    record: Record


def simulate(setting: Setting, policy: PolicySpec) -> Run:
    """Plan, then serve the whole load.

    Raises
    ------
    ValueError
        If the policy has an unknown part, a profile lacks an entry that it needs, or its
        deployment does not fit the devices.
    PolicyError
        If it decides what cannot be done.
    """
    demand = setting.demand
    services = demand.services
    planner, deployment, dispatcher = set_up(demand, policy)
    record = Record(len(setting.load))
    executor = _executor(setting, deployment)
    reorganiser = None
    if setting.reorganisation is not None:
        until_ns = setting.load.duration_ns
        params = setting.reorganisation
        reorganiser = Reorganiser(planner, demand, params, executor.prepare, until_ns)
    controller = Controller(services, deployment, dispatcher, executor, record, reorganiser)
    controller.run()
    return Run(policy.name, controller.deployment, record)


def _executor(setting: Setting, deployment: Deployment) -> VirtualExecutor:
    drain_ns = setting.drain_ns
    cut_ns = None if drain_ns is None else setting.load.duration_ns + drain_ns
    return VirtualExecutor(
        setting.load,
        deployment.partitions,
        setting.truth,
        setting.interference,
        cut_ns,
        setting.failures,
        setting.changes,
        setting.spawn_ns,
    )
