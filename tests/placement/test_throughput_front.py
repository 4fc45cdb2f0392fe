from surplus.placement import make_policy, simulate
from surplus.placement.occupancy import occupancy_ns
from surplus.placement.random_graphs import DetectorParams, detector
from surplus.placement.throughput_front import throughput_front


def test_the_front_goes_from_the_least_interval_to_the_shortest_plan() -> None:
    problem = detector(2, DetectorParams(10, 2, 20, 3))
    placements = [make_policy(name).place(problem) for name in ("balance", "heft", "single")]
    front = throughput_front(problem, placements)
    intervals = [point.interval_ns for point in front]
    latencies = [point.latency_ns for point in front]
    assert intervals == sorted(set(intervals))
    assert latencies == sorted(set(latencies), reverse=True)
    assert latencies[-1] == min(simulate(problem, placed).makespan_ns for placed in placements)
    least = min(max(occupancy_ns(problem, placed).values()) for placed in placements)
    assert least <= intervals[0] <= 1.02 * least
    assert front[0].in_flight > 1 == front[-1].in_flight
