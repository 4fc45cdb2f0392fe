"""What cannot be served is said before anything is started, by name and amount."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surplus.cluster import CLUSTER_PLANNERS, ClusterDemand, ClusterNode, Fleet, NodeKind
from surplus.colocation.frame.service import ServingDevice
from tests.cluster.settings import GB, GPU, demand, model


@pytest.mark.parametrize("planner", CLUSTER_PLANNERS.names())
@pytest.mark.parametrize(
    ("made", "said"),
    [
        # more memory than any device has
        ({"memory_gb": 20}, f"model 'm' fits no kind of node: 'gpu': needs {20 * GB} bytes of"),
        # late even alone
        ({"slo_ms": 2}, "model 'm' fits no kind of node: 'gpu': a query takes 3 ms, the target is"),
        # a profile of other nodes only
        ({"kinds": ("cpu",)}, "model 'm' fits no kind of node: 'gpu': no profile"),
    ],
)
def test_a_model_that_fits_nowhere_is_refused(
    planner: str, made: dict[str, float], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        CLUSTER_PLANNERS.make(planner).plan(demand([model(**made)], [1.0]))  # type: ignore[arg-type]


def test_a_node_without_the_asked_devices_is_refused() -> None:
    kind = replace(GPU, devices=4)
    two = tuple(ServingDevice(f"cuda:{k}", 16 * GB) for k in range(2))
    said = "node 'left': nodes of kind 'gpu' have 4 devices, it has 2"
    with pytest.raises(ValueError, match=said):
        Fleet((kind,), (ClusterNode("left", 0, two),))


def test_a_node_with_less_memory_than_its_kind_is_refused() -> None:
    small = (ServingDevice("cuda:0", 8 * GB),)
    said = f"node 'left', device 'cuda:0': {8 * GB} bytes, kind 'gpu' says {16 * GB}"
    with pytest.raises(ValueError, match=said):
        Fleet((GPU,), (ClusterNode("left", 0, small),))


def test_two_nodes_of_one_name_are_refused() -> None:
    device = (ServingDevice("cuda:0", 16 * GB),)
    with pytest.raises(ValueError, match="two nodes have the name 'left'"):
        Fleet((GPU,), (ClusterNode("left", 0, device), ClusterNode("left", 0, device)))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"devices": 0}, "kind 'gpu': devices must be >= 1, got 0"),
        ({"memory_bytes": 0}, "kind 'gpu': memory_bytes must be >= 1, got 0"),
        ({"price_per_hour": 0.0}, "kind 'gpu': price_per_hour must be > 0 and finite, got 0.0"),
        ({"load_bytes_per_s": float("inf")}, "load_bytes_per_s must be > 0 and finite, got inf"),
        ({"start_ns": -1}, "kind 'gpu': start_ns and fixed_load_ns must be >= 0"),
    ],
)
def test_kinds_of_impossible_nodes_are_refused(made: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        NodeKind(**{"name": "gpu", "devices": 1, "memory_bytes": GB, **made})  # type: ignore[arg-type]


@pytest.mark.parametrize("rate_per_s", [-1.0, float("inf"), float("nan")])
def test_rates_that_are_none_are_refused(rate_per_s: float) -> None:
    with pytest.raises(ValueError, match="model 'm': a rate must be >= 0 and finite, got"):
        demand([model()], [rate_per_s])


def test_rates_must_be_of_the_models() -> None:
    with pytest.raises(ValueError, match="1 models have 2 rates"):
        ClusterDemand((model(),), (1.0, 2.0), Fleet.of([(GPU, 1)]))
