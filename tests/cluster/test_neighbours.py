"""What a strip is believed to lose to whatever is on the rest of its device."""

from __future__ import annotations

import numpy as np
import pytest

from surplus.cluster import CLUSTER_PLANNERS, ClusterModel
from surplus.cluster.packing.neighbours import press_beside, slowed
from surplus.cluster.packing.time_table import BATCHES, SHARES, time_table
from surplus.colocation.frame.service import Service
from surplus.colocation.policies.gpulet.belief import LinearParams
from surplus.colocation.profiles.bandwidth import Bandwidth
from tests.cluster.settings import GB, MS, demand, model

PARAMS = LinearParams()
HALF = SHARES.tolist().index(50)


def heavy(name: str = "h", l2: float = 0.5, dram: float = 0.9) -> ClusterModel:
    """Half of its time is memory's, which no share divides."""
    service = Service(name, 200 * MS, 16, memory_bytes=GB)
    return ClusterModel(service, {"gpu": Bandwidth(MS, 2 * MS, 2 * MS, l2, dram)})


def test_half_a_device_is_beside_the_mean_model() -> None:
    models = [heavy("a"), heavy("b", 0.1, 0.1), model("none")]
    press = press_beside(models, "gpu", [time_table(each, "gpu") for each in models])
    assert press is not None
    own = models[0].profiles["gpu"]
    assert isinstance(own, Bandwidth)
    presses = []
    for each in models[:2]:
        took_ns = time_table(each, "gpu")[HALF]
        batch = int(BATCHES[2 * took_ns <= each.service.slo_ns].max())
        profile = each.profiles["gpu"]
        assert isinstance(profile, Bandwidth)
        presses.append(PARAMS.press(profile.utilisation(batch, 50)))
    assert press[HALF] == pytest.approx(np.mean(presses))
    table = time_table(models[0], "gpu")
    slower = slowed(table, models[0], "gpu", press)
    factor = PARAMS.suffered(own.utilisation(16, 50)) + press[HALF]
    place = BATCHES.tolist().index(16)
    assert factor > 1.2
    assert slower[HALF, place] == pytest.approx(factor * table[HALF, place])


def test_a_whole_device_has_no_neighbours() -> None:
    table = time_table(heavy(), "gpu")
    slower = slowed(
        table, heavy(), "gpu", press_beside([heavy()], "gpu", [time_table(heavy(), "gpu")])
    )
    assert (slower[-1] == table[-1]).all()
    assert (slower[:-1, 3] > table[:-1, 3]).all()


def test_profiles_that_do_not_say_cost_nothing_and_lose_nothing() -> None:
    table = time_table(model(), "gpu")
    press = press_beside([heavy()], "gpu", [time_table(heavy(), "gpu")])
    assert slowed(table, model(), "gpu", press) is table
    assert press_beside([model()], "gpu", [time_table(model(), "gpu")]) is None


def test_neighbours_take_nodes() -> None:
    asked = demand([heavy("a"), heavy("b"), heavy("c")], [300, 300, 300], nodes=30)
    nodes = [
        len(CLUSTER_PLANNERS.make("surplus", interference=known).plan(asked).nodes)
        for known in (False, True)
    ]
    assert nodes[0] < nodes[1]
