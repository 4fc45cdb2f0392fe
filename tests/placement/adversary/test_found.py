"""Problems that the search has found: no policy may become worse on them than it was then.

``python -m surplus.placement.adversary --target NAME --seed 1 --starts 4`` found each. Figures may
fall as policies improve.
"""

from pathlib import Path

import pytest

from surplus.placement import policy_names
from surplus.placement.adversary.search import OPTIMUM, measure_of
from surplus.placement.formats import read_problem

DATA = Path(__file__).parent / "data"
RATIOS = {"best": 8.100, "heft": 75.660, "comm_sd": 31.623, "comm_sd_best": 8.958}
OPTIMA_NS = {"best": 325_064, "heft": 70_869, "comm_sd": 173_857, "comm_sd_best": 307_680}


@pytest.mark.parametrize("target", RATIOS)
def test_a_policy_is_no_worse_than_it_was(target: str) -> None:
    problem = read_problem(DATA / f"{target}.json")
    assert measure_of(OPTIMUM)(problem) == OPTIMA_NS[target]
    assert measure_of(target)(problem) <= RATIOS[target] * OPTIMA_NS[target]


@pytest.mark.parametrize("target", RATIOS)
def test_no_policy_is_below_the_optimum(target: str) -> None:
    problem = read_problem(DATA / f"{target}.json")
    for name in policy_names():
        assert measure_of(name)(problem) >= OPTIMA_NS[target], name
