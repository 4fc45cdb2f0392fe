"""What limits the throughput of each placement, beside the bound."""

from dataclasses import replace

import pytest

from surplus.placement import ContradictionError, make_policy
from surplus.placement.load_bounds import load_bound_ns
from surplus.placement.load_table import load_table
from surplus.placement.memory import memory_use
from surplus.placement.occupancy import busiest_of
from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Link, Problem, Task, Tensor
from surplus.placement.random_graphs import DetectorParams, detector
from surplus.placement.simulator import simulate


def hand(submit_ns: int = 0, latency: int = 0) -> Problem:
    """A task of the CPU, one of either, one of the GPU; 40 bytes between each two, in 40 ns."""
    devices = (Device("cpu"), Device("gpu", 1, "gpu", 1_000, submit_ns=submit_ns))
    links = (Link("host", "gpu", latency, 1e9), Link("gpu", "host", latency, 1e9))
    tasks = (
        Task("a", "Op", (100, None)),
        Task("b", "Op", (100, 50), weight_bytes=300),
        Task("c", "Op", (None, 60), default_device=1, weight_bytes=200),
    )
    tensors = (Tensor("x", 0, (1,), 40), Tensor("y", 1, (2,), 40))
    return Problem("hand", devices, links, tasks, tensors)


@pytest.mark.parametrize(
    ("submit_ns", "devices", "busiest", "load_ns"),
    [
        (0, (0, 0, 1), "cpu", 200),
        (0, (0, 1, 1), "gpu", 110),
        (90, (0, 1, 1), "gpu submission", 180),
    ],
)
def test_the_busiest_resource_is_named_with_its_load(
    submit_ns: int, devices: tuple[int, ...], busiest: str, load_ns: int
) -> None:
    problem = hand(submit_ns)
    (row,) = load_table(problem, [Placement(devices, (0, 1, 2), "hand")], 100)
    assert (row.busiest, row.load_ns, row.gap) == (busiest, load_ns, (load_ns - 100) / load_ns)
    assert row.memory == "gpu"
    use = memory_use(problem, placement := Placement(devices, (0, 1, 2), "hand"),
                     simulate(problem, placement))["gpu"]  # fmt: skip
    assert row.memory_share == use.peak_bytes / 1_000 >= 0.2
    assert row.to_dict()["gap"] == row.gap


def test_a_link_can_be_the_busiest() -> None:
    problem = hand()
    wide = replace(problem, tensors=tuple(replace(t, size_bytes=900) for t in problem.tensors))
    (row,) = load_table(wide, [Placement((0, 1, 1), (0, 1, 2), "hand")], 0)
    assert (row.busiest, row.load_ns) == ("host->gpu", 900)


def test_rows_are_those_of_the_placements_in_their_order() -> None:
    problem = detector(1, DetectorParams(6, 1, 8, 2))
    placements = [make_policy(name).place(problem) for name in ("single", "balance", "heft")]
    rows = load_table(problem, placements, load_bound_ns(problem))
    assert [row.policy for row in rows] == ["single", "balance", "heft"]
    assert [row.load_ns for row in rows] == [busiest_of(problem, p)[1] for p in placements]
    assert min(rows, key=lambda row: row.gap).policy == "balance"
    assert all(row.memory == "" for row in rows)


def test_a_bound_above_a_load_is_no_proof() -> None:
    with pytest.raises(ContradictionError):
        load_table(hand(), [Placement((0, 1, 1), (0, 1, 2), "hand")], 111)
