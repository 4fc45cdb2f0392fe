"""What a strip's neighbours are believed to cost, before anybody knows who they will be.

References
----------
gpulet (ATC'22), section 4.4: a factor linear in how both use cache and memory. There a partition's
neighbour is known; here whatever is on the rest of a device is believed to be the mean of the
models, so that what a strip takes depends on nobody else. It may then be as late beside a
neighbour of much traffic as it is early beside one of little.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.packing.time_table import BATCHES, SHARES
from surplus.cluster.queueing.overflow import Floats
from surplus.colocation.policies.gpulet.belief import LinearParams, Traffic

_WHOLE_PERCENT = 100
_BELIEF = LinearParams()


def press_beside(
    models: Sequence[ClusterModel], kind: str, tables: Sequence[Floats]
) -> Floats | None:
    """What the rest of a device adds to the factor of a strip, by share.

    None if no profile of the kind knows how it uses memory. ``tables`` are the models' times alone.
    """
    rows = [
        _presses(model, traffic, table)
        for model, table in zip(models, tables, strict=True)
        if (traffic := _traffic(model, kind)) is not None
    ]
    return np.mean(rows, axis=0) if rows else None


def slowed(table: Floats, model: ClusterModel, kind: str, press: Floats | None) -> Floats:
    """A time table beside neighbours; a strip of a whole device has none."""
    traffic = _traffic(model, kind)
    if traffic is None or press is None:
        return table
    factors = np.ones_like(table)
    for row, share in enumerate(SHARES.tolist()):
        if share < _WHOLE_PERCENT:
            own = [traffic.utilisation(model.items * b, share) for b in BATCHES.tolist()]
            factors[row] = [max(1.0, _BELIEF.suffered(used) + press[row]) for used in own]
    slower: Floats = np.maximum.accumulate(table * factors, axis=1)
    return slower


def _presses(model: ClusterModel, traffic: Traffic, table: Floats) -> list[float]:
    """Of a model on what each share leaves, with the largest batch that another may follow."""
    found = []
    for share in SHARES.tolist():
        rest = _WHOLE_PERCENT - share
        if not rest:
            found.append(0.0)
            continue
        took_ns = table[np.searchsorted(SHARES, rest)]
        batch = max(1, int((BATCHES * (2 * took_ns <= model.service.slo_ns)).max()))
        found.append(_BELIEF.press(traffic.utilisation(model.items * batch, rest)))
    return found


def _traffic(model: ClusterModel, kind: str) -> Traffic | None:
    profile = model.profiles.get(kind)
    return profile if isinstance(profile, Traffic) else None
