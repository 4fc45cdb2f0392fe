"""One node of a plan, query by query, in the simulator of co-location: a check of the bounds.

Its strips are partitions, its replicas assignments, its turns those of the dispatcher
``duty_cycle``, which gives up what would be late. Queries are Poisson, of the parts of the models'
rates that the node's replicas are meant for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.cluster_plan import ClusterPlan, Replica
from surplus.cluster.frame.fleet import Fleet
from surplus.cluster.queueing.overflow import Floats
from surplus.cluster.simulation.node_deployments import deployment_of
from surplus.colocation.arrivals.steady import Poisson
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.controller import Controller
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.load import Load, Stream, merge
from surplus.colocation.frame.predictor import PREDICTORS
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.record import Record
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.simulation.virtual_executor import VirtualExecutor
from surplus.colocation.truths.truth import ProfileTruth


@dataclass(frozen=True)
class NodeSample:
    """What became of a node's queries.

    Parameters
    ----------
    models : tuple of int
        On the node, and with queries.
    queries, in_time : array of int, (models,)
    """

    models: tuple[int, ...]
    queries: Floats
    in_time: Floats


def simulate_node(
    plan: ClusterPlan,
    node: int,
    models: Sequence[ClusterModel],
    fleet: Fleet,
    rates_per_s: Floats,
    duration_s: float,
    generator: np.random.Generator,
) -> NodeSample:
    """Serve Poisson queries on one node for a while.

    Parameters
    ----------
    rates_per_s : array of float
        By model, of the whole cluster.
    """
    own = [replica for replica in plan.replicas if plan.strips[replica.strip].node == node]
    here = sorted({r.model for r in own if rates_per_s[r.model] > 0 and r.rate_per_s > 0})
    if not here:
        return NodeSample((), np.zeros(0), np.zeros(0))
    own = [replica for replica in own if replica.model in here]
    load = _load(plan, own, here, models, rates_per_s, round(duration_s * NS_PER_S), generator)
    record = _served(deployment_of(plan, own, here, models), here, models, fleet, node, load)
    good = np.frombuffer(record.outcome, np.int8) == Outcome.IN_TIME
    queries = np.bincount(load.service, minlength=len(here)).astype(np.float64)
    in_time = np.bincount(load.service, good, len(here)).astype(np.float64)
    return NodeSample(tuple(here), queries, in_time)


def _load(
    plan: ClusterPlan,
    own: Sequence[Replica],
    here: Sequence[int],
    models: Sequence[ClusterModel],
    rates_per_s: Floats,
    duration_ns: int,
    generator: np.random.Generator,
) -> Load:
    planned = np.bincount([r.model for r in plan.replicas], [r.rate_per_s for r in plan.replicas])
    streams = []
    for model in here:
        part = sum(r.rate_per_s for r in own if r.model == model) / planned[model]
        arrivals = Poisson(float(rates_per_s[model] * part))
        times_ns = arrivals.times_ns(duration_ns, generator)
        items = np.full(len(times_ns), models[model].items, np.int64)
        sequence = np.full(len(times_ns), models[model].sequence, np.int64)
        streams.append(Stream(times_ns, items, sequence))
    return merge(streams, [models[model].service.slo_ns for model in here], duration_ns)


def _served(
    deployment: Deployment,
    here: Sequence[int],
    models: Sequence[ClusterModel],
    fleet: Fleet,
    node: int,
    load: Load,
) -> Record:
    services = tuple(models[model].service for model in here)
    profiles = tuple(models[model].profiles[fleet.kind(node).name] for model in here)
    context = Context(
        services, fleet.nodes[node].devices, PREDICTORS.make("serial", services, profiles)
    )
    truth = ProfileTruth(services, profiles, NOISES.make("none"), 0)
    record = Record(len(load))
    executor = VirtualExecutor(load, deployment.partitions, truth)
    dispatcher = DISPATCHERS.make("duty_cycle", context)
    Controller(services, deployment, dispatcher, executor, record).run()
    return record
