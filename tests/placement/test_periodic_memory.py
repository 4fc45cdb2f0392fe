"""What a periodic schedule holds at once is what many of its queries, laid out, do."""

import pytest

from surplus.placement import InfeasibleError, make_policy
from surplus.placement.memory import memory_use
from surplus.placement.periodic import periodic_schedule
from surplus.placement.periodic_memory import periodic_peaks_bytes
from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Link, Problem, Task, Tensor
from surplus.placement.random_graphs import DetectorParams, detector
from tests.placement.featured_problems import featured, placed


def test_peaks_are_those_of_the_queries_unrolled() -> None:
    compared = 0
    for seed in range(60):
        problem = featured(seed, 2 + seed % 9)
        placement = placed(problem, seed)
        try:
            found = periodic_schedule(problem, placement)
        except InfeasibleError:
            continue
        peaks = periodic_peaks_bytes(problem, placement, found.timeline, found.interval_ns)
        uses = memory_use(problem, placement, found.unrolled(3 * found.in_flight + 3))
        # Unrolled, inputs of all queries lie in the host's memory from the beginning.
        away = [name for name in uses if name != problem.devices[0].memory]
        assert {name: peaks[name] for name in away} == {n: uses[n].peak_bytes for n in away}
        compared += bool(away)
    assert compared > 20


def test_a_stay_of_several_intervals_is_held_as_many_times() -> None:
    """``x`` of 100 bytes stays on the GPU for 10 + 100 + 10 and its copy's 0 ns."""
    devices = (Device("cpu", 4), Device("gpu", 1, "gpu"))
    links = (Link("host", "gpu", 0, 1e12), Link("gpu", "host", 0, 1e12))
    tasks = (
        Task("make", "Op", (None, 10), default_device=1),
        Task("long", "Op", (100, None)),
        Task("join", "Op", (None, 10), default_device=1, weight_bytes=7),
    )
    tensors = (Tensor("x", 0, (1, 2), 100), Tensor("y", 1, (2,), 0))
    problem = Problem("kept", devices, links, tasks, tensors)
    placement = Placement((1, 0, 1), (0, 1, 2), "hand")
    found = periodic_schedule(problem, placement)
    length_ns = max(s.end_ns for s in found.timeline if s.name == "join")
    expected = 7 + 100 * -(-length_ns // found.interval_ns)
    peaks = periodic_peaks_bytes(problem, placement, found.timeline, found.interval_ns)
    assert peaks["gpu"] == expected


@pytest.mark.parametrize("interval_ns", [1, 7, 1_000, 10**9])
def test_any_interval_is_a_circle(interval_ns: int) -> None:
    problem = detector(1, DetectorParams(6, 1, 8, 2))
    placement = make_policy("balance").place(problem)
    timeline = periodic_schedule(problem, placement).timeline
    peaks = periodic_peaks_bytes(problem, placement, timeline, interval_ns)
    alone = memory_use(problem, placement, timeline)
    for name, use in alone.items():
        assert peaks[name] >= use.peak_bytes
    if interval_ns > timeline.makespan_ns:
        assert peaks == {name: use.peak_bytes for name, use in alone.items()}
