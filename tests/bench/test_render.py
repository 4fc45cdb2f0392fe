import json

import pytest

from bench import render
from bench.infrastructure import result_file
from bench.infrastructure.timing import (
    BLOCK_NS,
    FEWEST_ROUNDS,
    Times,
    block_for_p99_ns,
    interleaved,
)
from bench.models.throughput import SHORTEST_SLICE_S, slice_s


def test_tables_are_made_from_their_json_and_prose_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(result_file, "RESULTS", tmp_path)
    document = {
        "machine": {
            "date": "2026-01-01",
            "processor": "P",
            "cores": 2,
            "onnxruntime": "1.31",
            "commit": "abc",
        },
        "rows": [{"model": "a", "ratio": 0.987654}],
    }
    (tmp_path / "speed.json").write_text(json.dumps(document))
    page = "before\n<!-- table speed -->\nold\n<!-- end -->\nafter\n"
    made = render.rendered(page)
    assert made.startswith("before\n")
    assert made.endswith("after\n")
    assert "| model | ratio |\n|---|---|\n| a | 0.988 |" in made
    assert "old" not in made
    assert render.rendered(made) == made


@pytest.mark.parametrize("page", render.PAGES, ids=lambda page: page.stem)
def test_every_table_of_a_page_has_its_result(page):
    names = render._TABLE.findall(page.read_text())
    assert all(result_file.path_of(name).exists() for name in names)


def test_contenders_take_turns_and_first_runs_are_not_counted():
    order = []
    times = interleaved(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")},
        rounds=2,
        most_per_block=1,
    )
    assert order == ["a", "b", "a", "a", "b", "b", "b", "b", "a", "a"]
    assert [len(row) for row in times["a"].rounds] == [1, 1]


class Timed:
    """Contenders that take their time on a clock of their own."""

    def __init__(self, **run_ns):
        self.now_ns = 0
        self.contenders = {name: self._run(ns) for name, ns in run_ns.items()}

    def _run(self, ns):
        def run():
            self.now_ns += ns

        return run

    def counts(self, **options):
        times = interleaved(
            self.contenders, clock=lambda: self.now_ns, settle=lambda _: None, **options
        )
        return {name: len(found.ns) for name, found in times.items()}


def test_rounds_go_on_until_the_slowest_has_enough_runs():
    timed = Timed(quick=1_000_000, slow=9_000_000)
    counts = timed.counts(rounds=3, least_runs=300, budget_ns=10**12)
    assert 300 <= counts["slow"] <= 303
    assert Timed(a=1_000).counts(rounds=3, most_per_block=10) == {"a": 30}


def test_the_budget_ends_them_but_for_the_first_rounds():
    timed = Timed(a=9_000_000)
    assert timed.counts(rounds=3, least_runs=300, budget_ns=0) == {"a": FEWEST_ROUNDS * 3}
    assert timed.now_ns < 300_000_000


def test_turns_are_long_enough_for_a_p99():
    assert block_for_p99_ns(9_000_000, 25) == 12 * 9_000_000
    assert block_for_p99_ns(1_000, 25) == BLOCK_NS
    assert block_for_p99_ns(10_000_000, 25) == BLOCK_NS  # long ones have as many as fit
    blocks = Timed(a=9_000_000).counts(rounds=25, block_ns=block_for_p99_ns(9_000_000, 25))
    assert blocks == {"a": 300}


def test_turns_of_throughput_fit_the_budget():
    assert slice_s(10.0, 40.0, 4) == pytest.approx(40 / 12)
    assert slice_s(1.0, 40.0, 4) == 1.0
    assert slice_s(0.001, 40.0, 4) == SHORTEST_SLICE_S


def test_ratios_are_taken_within_rounds():
    slow = Times(((200, 200), (20, 20), (20, 20)))
    fast = Times(((100, 100), (10, 10), (10, 10)))
    assert slow.ratio_to(fast) == pytest.approx(2.0)
    assert fast.percentile_ns(99) == 100
