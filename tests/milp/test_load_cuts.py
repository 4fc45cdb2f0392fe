"""How many loads there are; test_reductions and test_exhaustive_bounds try that they hold."""

from surplus.milp.load_cuts import TERMS_MAX, WINDOW_QUANTILES, load_cuts
from surplus.milp.windows import eligible_devices, time_windows
from surplus.placement.random_graphs import DetectorParams, detector


def test_large_problems_have_no_more_terms():
    problem = detector(1, DetectorParams(88, branch_tasks=11))
    cuts = list(load_cuts(problem, time_windows(problem, eligible_devices(problem)), 12))
    assert len(problem.tasks) > 900
    assert len(cuts) <= 2 * 2 * WINDOW_QUANTILES**2
    assert sum(len(cut.tasks) for cut in cuts) <= 2 * 2 * TERMS_MAX


def test_the_whole_query_is_always_a_window():
    problem = detector(1, DetectorParams(5, 1, 9, 2))
    cuts = list(load_cuts(problem, time_windows(problem, eligible_devices(problem))))
    everything = tuple(range(len(problem.tasks)))
    assert {cut.device for cut in cuts if cut.tasks == everything} == {0, 1}
