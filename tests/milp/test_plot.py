from pathlib import Path

import pytest

from surplus.milp import SolveParams, solve
from surplus.milp.plot import check_plot, write_plot
from surplus.placement.random_graphs import inception

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def result():
    return solve(inception(0, 1, 3, 2), SolveParams("cpsat", 20))


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_a_search_becomes_a_picture(result, tmp_path, suffix):
    path = tmp_path / f"search{suffix}"
    check_plot(path)
    write_plot(path, result, "net $1$")
    assert path.stat().st_size > 1_000


def test_plan_bound_and_gap_are_drawn_to_the_end(result, monkeypatch, tmp_path):
    drawn = []
    axes = pytest.importorskip("matplotlib.axes").Axes
    real = axes.step

    def step(self, times, values, *args, **kwargs):
        drawn.append((kwargs["label"], times, values))
        return real(self, times, values, *args, **kwargs)

    monkeypatch.setattr(axes, "step", step)
    write_plot(tmp_path / "search.svg", result, "net")
    assert [label for label, _, _ in drawn] == ["plan", "bound", "gap"]
    assert {times[-1] for _, times, _ in drawn} == {result.runtime_s}
    assert drawn[0][2][-1] == result.makespan_ns / 1e6
    assert drawn[1][2][-1] == result.bound_ns / 1e6


def test_what_cannot_be_drawn_is_refused_first(monkeypatch):
    with pytest.raises(ValueError, match=r"search.txt: a plot is one of .*png.*svg"):
        check_plot(Path("search.txt"))
    monkeypatch.setattr("surplus.milp.plot.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"needs matplotlib .*surplus-engine\[plots\]"):
        check_plot(Path("search.png"))
