"""What a plan has for each node, in the terms of co-location: for its controller."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.cluster_plan import ClusterPlan, Replica
from surplus.colocation.frame.deployment import Assignment, Deployment
from surplus.colocation.frame.service import Partition

NOTHING = Deployment((), ())
"""Of a node that serves nobody."""


def node_deployments(plan: ClusterPlan, models: Sequence[ClusterModel]) -> dict[int, Deployment]:
    """Strips as partitions, replicas as assignments, of each node in use; models by their index."""
    own: dict[int, list[Replica]] = defaultdict(list)
    for replica in plan.replicas:
        own[plan.strips[replica.strip].node].append(replica)
    every = range(len(models))
    return {node: deployment_of(plan, rows, every, models) for node, rows in own.items()}


def deployment_of(
    plan: ClusterPlan, own: Sequence[Replica], here: Sequence[int], models: Sequence[ClusterModel]
) -> Deployment:
    """These replicas of one node; models by their places in ``here``, which has their indices."""
    strips = sorted({replica.strip for replica in own})
    return Deployment(
        tuple(Partition(plan.strips[s].device, plan.strips[s].share_percent) for s in strips),
        tuple(
            Assignment(
                here.index(replica.model),
                strips.index(replica.strip),
                replica.batch * models[replica.model].items,
                plan.strips[replica.strip].period_ns,
                replica.rate_per_s,
            )
            for replica in own
        ),
    )
