from surplus.placement import make_policy
from surplus.placement.evaluator import makespan_ns
from surplus.placement.random_graphs import DetectorParams, detector, inception
from surplus.placement.threshold_search import best_threshold_ns, quantiles, threshold_costs_ns
from tests.placement.hand_problems import CPU, GPU, cpu_gpu

GRID_NS = (0, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def test_costs_are_the_slowdown_and_that_with_copies():
    # t0: 8 slower, 3 bytes to its reader. t1: as fast. t2: cannot overflow. t3: is there already.
    problem = cpu_gpu(
        [(10, 2), (5, 5), (None, 4), (9, 1)], [(0, [1], 3)], defaults=[GPU, GPU, GPU, CPU]
    )
    assert threshold_costs_ns(problem) == [3, 8, 11]


def test_quantiles_are_even_by_rank():
    assert quantiles(range(1, 101), 4) == [25, 50, 75, 100]
    assert quantiles([7, 9], 4) == [7, 9]
    assert quantiles([], 4) == []


def test_the_search_closes_in_on_the_best():
    asked = []

    def cost(alpha_ns):
        asked.append(alpha_ns)
        return abs(alpha_ns - 640)

    assert best_threshold_ns(range(1, 1001), cost, (0,), 6, 3) == 640
    assert len(asked) == len(set(asked)) <= 1 + 4 * 6


def test_equal_costs_take_the_lower_threshold():
    assert best_threshold_ns(range(10, 100), lambda _: 1, (5, 3), 4, 1) == 3


def test_it_adapts_to_the_instance():
    """No worse than the grid that any instance got, and better where that is too coarse."""
    gains = []
    for problem in (
        detector(1, DetectorParams(20, 3, 60, 6)),
        detector(2, DetectorParams(30, 4, 40, 8)),
        inception(1, 30),
    ):
        grid = make_policy("comm_sd_best", alphas_ns=GRID_NS).place(problem)
        found = make_policy("comm_sd_best").place(problem)
        gains.append(makespan_ns(problem, grid) / makespan_ns(problem, found))
    assert min(gains) > 0.99
    assert max(gains) > 1.02
