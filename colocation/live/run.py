"""Serves a load in real time, by the same policy, controller and record as the simulator."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace

from surplus.colocation.frame.clock import Clock, WallClock
from surplus.colocation.frame.controller import Controller
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.reorganiser import Reorganiser
from surplus.colocation.live.executor import Backend, LiveExecutor
from surplus.colocation.policies.names import PolicySpec
from surplus.colocation.policies.setup import set_up
from surplus.colocation.simulation.simulator import Run, Setting


def serve_live(
    setting: Setting,
    policy: PolicySpec,
    backend: Backend,
    new_clock: Callable[[], Clock] = WallClock,
) -> Run:
    """Plan, then serve the whole load as it comes.

    Parameters
    ----------
    setting : Setting
        Its truth, interference, failures and changes are the simulator's, and not looked at.
    new_clock : callable
        Makes the clock whose zero is the beginning of the load.

    Raises
    ------
    ValueError, PolicyError
        As ``simulate``.
    """
    demand, load = setting.demand, setting.load
    planner, deployment, dispatcher = set_up(demand, policy)
    record = Record(len(load))
    cut_ns = None if setting.drain_ns is None else load.duration_ns + setting.drain_ns
    backend.prepare(deployment.partitions)
    gc.collect()  # not while queries wait
    executor = LiveExecutor(backend, new_clock(), load.queries(), deployment.partitions, cut_ns)
    reorganiser = None
    if setting.reorganisation is not None:
        params, hurried = setting.reorganisation, replace(demand, hurried=True)
        reorganiser = Reorganiser(planner, hurried, params, executor.prepare, load.duration_ns)
    controller = Controller(demand.services, deployment, dispatcher, executor, record, reorganiser)
    try:
        controller.run()
    finally:
        executor.settle()
    return Run(policy.name, controller.deployment, record)
