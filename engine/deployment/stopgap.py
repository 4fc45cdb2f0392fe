"""A place for models that a plan has none for: late answers are better than none.

Planners promise answers in time, so that what is short of room is left out. A server that has a
model nevertheless answers for it with what the others leave.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from surplus.cluster import ClusterModel, ClusterPlan, Fleet
from surplus.cluster.frame.cluster_model import misfit


def stopgaps(plan: ClusterPlan, models: Sequence[ClusterModel], fleet: Fleet) -> dict[int, int]:
    """Nodes, by model, for those that have a rate and no replica, where memory allows.

    Of nodes in use, or of all if there is none, the one with the most memory left.
    """
    served = {replica.model for replica in plan.replicas}
    left_out = sorted({one.service for one in plan.shortfalls} - served)
    held: defaultdict[tuple[int, int], int] = defaultdict(int)
    for replica in plan.replicas:
        held[plan.strips[replica.strip][:2]] += replica.memory_bytes
    found: dict[int, int] = {}
    for model in left_out:
        needed = models[model].service.memory_bytes
        room = [
            (_room(fleet, place, held[place]), place)
            for place in _places(plan, fleet)
            if misfit(models[model], fleet.kind(place[0])) is None
        ]
        if room and max(room)[0] >= needed:
            place = max(room)[1]
            held[place] += needed
            found[model] = place[0]
    return found


def _places(plan: ClusterPlan, fleet: Fleet) -> list[tuple[int, int]]:
    nodes = sorted(plan.nodes) or range(len(fleet.nodes))
    return [(node, device) for node in nodes for device in range(fleet.kind(node).devices)]


def _room(fleet: Fleet, place: tuple[int, int], held_bytes: int) -> int:
    node, device = place
    limit = fleet.nodes[node].devices[device].memory_bytes
    return (fleet.kind(node).memory_bytes if limit is None else limit) - held_bytes
