"""What gpulet+int believes of neighbours, against the law that they obey."""

from __future__ import annotations

from pathlib import Path

import pytest

from surplus.colocation import read_scenario
from surplus.colocation.interference.contention import Contention
from surplus.colocation.policies.gpulet.belief import ALONE, Belief, LinearParams
from surplus.colocation.policies.gpulet.latency_table import LatencyTable
from tests.colocation.settings import load_of, service, setting_of

FILES = Path(__file__).parents[2] / "bench/configs/colocation/gpulet"


def test_the_belief_follows_batch_and_share_as_the_law_does() -> None:
    """A neighbour's small batches, and those on small shares, cost little."""
    models = read_scenario(FILES / "models.toml")
    law = models.interference
    assert isinstance(law, Contention)
    demand = models.demand()
    table = LatencyTable(demand)
    belief = Belief(demand, table, LinearParams())
    names = [own.name for own in demand.services]
    own, other = names.index("res"), names.index("goo")
    believed, true = [], []
    for batch in (1, 4, 32):
        for percent in (20, 50, 80):
            press = belief.press(other, 100 - percent, batch)
            row = belief.row(own, percent, press)
            believed.append(row[batch] / table.row(own, percent)[batch] - 1)
            true.append(law.extra((own, batch, percent), (other, batch, 100 - percent)))
    assert believed == pytest.approx(true, abs=0.05)
    assert max(believed[:3]) < 0.02
    assert belief.row(own, 50, ALONE) == table.row(own, 50)


def test_profiles_without_utilisations_neither_cost_nor_suffer() -> None:
    own = [service("a", slo_ms=20, max_batch=8)]
    demand = setting_of(own, load_of(own, [[0]]), [2], [1]).demand
    table = LatencyTable(demand)
    belief = Belief(demand, table, LinearParams())
    assert belief.press(0, 50, 4) == ALONE
    assert belief.row(0, 50, 0.5) == table.row(0, 50)
