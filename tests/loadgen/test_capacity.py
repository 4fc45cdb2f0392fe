"""The search for the highest rate within a target: on a queue whose answer is known."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest

from surplus.loadgen.capacity.misses import Misses, misses_of
from surplus.loadgen.capacity.params import LatencyTarget, RampParams
from surplus.loadgen.capacity.search import RateSearch
from surplus.loadgen.capacity.trial import RateVerdict, Window
from surplus.loadgen.cli import main
from surplus.loadgen.generator import Generator
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import Recorder
from surplus.loadgen.stats import LoadSummary, summarise
from tests.loadgen.queue_model import exponential_ns, queue_p99_ns, queue_records

SERVICE_NS, TARGET_NS = 2_000_000, 12_000_000
TARGET = LatencyTarget(TARGET_NS)
_SUMMARY = LoadSummary(0, 0, {}, 0, 0.0, None, None, None, None, ())


def _window(rate_per_s, number, seed, window_ns=20 * 10**9, generator=None):
    load = LoadgenParams(window_ns, 500, 10**9)
    records = queue_records(rate_per_s, SERVICE_NS, load, [seed, number])
    return Window(misses_of(records, TARGET_NS), summarise(records, True, generator))


def _search(seed=0, start_per_s=60.0, limit_per_s=1e9, **params):
    async def run(rate_per_s, number):
        busy = Generator("native", 1, 1, 0.99 if rate_per_s > limit_per_s else 0.1, 0.1)
        return _window(rate_per_s, number, seed, generator=busy)

    search = RateSearch(run, RampParams(TARGET, **params))
    return asyncio.run(search.search(start_per_s))


def test_the_capacity_that_is_found_holds_in_nine_of_ten_repetitions():
    held = 0
    for seed in range(10):
        found = _search(seed)
        assert found.is_checked
        assert found.missed_per_s / found.rate_per_s <= 1.05 + 1e-9
        again = _window(found.rate_per_s, number=0, seed=1000 + seed)
        held += again.misses.share <= TARGET.allowed
        # And it is no rate that anything would hold.
        assert queue_p99_ns(found.rate_per_s * 1.15, SERVICE_NS, 200) > TARGET_NS
    assert held >= 9


def test_where_the_search_begins_makes_no_great_difference():
    rates = [_search(3, start).rate_per_s for start in (1.0, 60.0, 400.0, 5000.0)]
    assert max(rates) / min(rates) < 1.15


def test_a_generator_that_is_the_limit_ends_the_search():
    found = _search(limit_per_s=100.0, start_per_s=20.0)
    assert found.rate_per_s == 80.0
    assert (found.missed_per_s, found.is_checked) == (None, False)
    assert found.reason == "at 160 /s the generator itself was the limit"
    assert found.trials[-1].verdict is RateVerdict.GENERATOR


def test_a_target_that_no_rate_keeps_is_said():
    async def run(rate_per_s, number):
        return Window(Misses(1000, 1000), _window(10.0, number, 0).summary)

    found = asyncio.run(RateSearch(run, RampParams(TARGET)).search(64.0))
    assert found.rate_per_s == 0
    assert found.reason.startswith("not even ")
    assert found.trials[-1].rate_per_s == 64.0 / 2**12


def test_what_is_not_held_again_is_lowered():
    """Whose checks fail while the rate is above 50, though its windows are held."""

    async def run(rate_per_s, number):
        is_check = len(tried) and tried[-1] == rate_per_s
        tried.append(rate_per_s)
        missed = 500 if rate_per_s > 110 or (is_check and rate_per_s > 50) else 0
        return Window(Misses(1000, missed), _window(10.0, 0, 0).summary)

    tried = []
    found = asyncio.run(RateSearch(run, RampParams(TARGET, resolution=0.5)).search(100.0))
    assert found.rate_per_s == pytest.approx(100 / 1.5**2)
    assert found.missed_per_s == pytest.approx(100 / 1.5)
    assert found.is_checked
    assert [trial.is_check for trial in found.trials[-5:]] == [True] * 5


@pytest.mark.parametrize(
    ("queries", "missed", "most", "windows", "verdict"),
    [
        (1000, 1, 4, 1, RateVerdict.HELD),
        (1000, 30, 4, 1, RateVerdict.MISSED),
        (1000, 4, 4, 2, RateVerdict.HELD),
        (1000, 15, 4, 2, RateVerdict.MISSED),
        (1000, 9, 4, 2, RateVerdict.UNCLEAR),  # it would fail its checks
        (300, 1, 4, 3, RateVerdict.HELD),
        (300, 1, 2, 2, RateVerdict.UNCLEAR),
        (1000, 9, 1, 1, RateVerdict.UNCLEAR),
    ],
)
def test_a_rate_that_is_not_clear_is_asked_for_again_while_that_helps(
    queries, missed, most, windows, verdict
):
    async def run(rate_per_s, number):
        asked.append(rate_per_s)
        late = missed if rate_per_s == 100 else queries
        return Window(Misses(queries, late), _window(10.0, 0, 0).summary)

    asked = []
    params = RampParams(TARGET, checks=0, most_windows=most)
    first = asyncio.run(RateSearch(run, params).search(100.0)).trials[0]
    assert first.misses.queries == queries * windows
    assert asked.count(100.0) == windows
    assert first.verdict is verdict


def test_rates_that_hold_once_but_not_again_are_not_tried_step_by_step():
    """From 110 down to 67 there are fifty steps of a hundredth."""

    async def run(rate_per_s, number):
        tried.append(rate_per_s)
        is_held = rate_per_s <= 67 or (rate_per_s < 110 and rate_per_s not in tried[:-1])
        return Window(Misses(1000, 0 if is_held else 500), _window(10.0, 0, 0).summary)

    tried = []
    found = asyncio.run(RateSearch(run, RampParams(TARGET, resolution=0.01)).search(60.0))
    assert found.is_checked
    assert 60 <= found.rate_per_s <= 67
    assert found.missed_per_s / found.rate_per_s <= 1.01 + 1e-9
    assert sum(len(trial.windows) for trial in found.trials) <= 50


def _searched(model, seed, start_per_s):
    """A search in windows of 100 s on a simulated queue: what was found, in how many windows."""
    mean_ns, target_ns = 2_000_000, 30_000_000

    async def run(rate_per_s, number):
        load = LoadgenParams(100 * 10**9, 500, 10**9)
        service_ns = mean_ns if model == "M/D/1" else exponential_ns(mean_ns, [7, seed, number])
        records = queue_records(rate_per_s, service_ns, load, [seed, number])
        return Window(misses_of(records, target_ns), _SUMMARY)

    search = RateSearch(run, RampParams(LatencyTarget(target_ns)))
    found = asyncio.run(search.search(start_per_s))
    again = asyncio.run(run(found.rate_per_s, 10_000))
    windows = sum(len(trial.windows) for trial in found.trials)
    return found, windows, again.misses.share <= TARGET.allowed


@pytest.mark.parametrize(
    ("model", "start_per_s"), [("M/M/1", 60.0), ("M/M/1", 500.0), ("M/D/1", 500.0)]
)
def test_a_known_capacity_is_found_in_few_windows_and_holds(model, start_per_s):
    results = [_searched(model, seed, start_per_s) for seed in range(10)]
    # The time in an M/M/1 queue is exponential, of rate service less arrivals.
    exact_per_s = 500 - np.log(100) / 0.03
    capacity_per_s = exact_per_s if model == "M/M/1" else _capacity_of_constant_service()
    found = np.array([result.rate_per_s for result, _, _ in results]) / capacity_per_s
    windows = np.array([count for _, count, _ in results])
    # Five checks, each by itself, leave room for what chance does to a window.
    assert found.max() <= 1.02
    assert np.median(found) >= 1 / 1.05**2
    assert found.min() >= 1 / 1.05**3
    # Of which five are checks, two to four find a bracket, and four bisect it.
    assert windows.mean() <= 17
    assert windows.max() <= 26
    assert sum(holds for _, _, holds in results) >= 9


def _capacity_of_constant_service():
    """Of a long run, by bisection."""
    low, high = 300.0, 500.0
    while high / low > 1.005:
        middle = (low + high) / 2
        is_held = queue_p99_ns(middle, 2_000_000, 500) <= 30_000_000
        low, high = (middle, high) if is_held else (low, middle)
    return low


def test_wilson_s_interval_is_as_published():
    # Newcombe: Two-sided confidence intervals for the single proportion, 1998, table I.
    assert Misses(263, 81).interval(0.95) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert Misses(148, 15).interval(0.95) == pytest.approx((0.0624, 0.1605), abs=1e-4)
    assert Misses(20, 0).interval(0.95) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert Misses(0, 0).interval(0.95) == (0.0, 1.0)


def test_queries_that_miss_together_say_less():
    recorder = Recorder()
    for row in range(2000):
        recorder.begin(row, row)
        recorder.finish(row, row + (1000 if 900 <= row < 1000 else 1))
    together = misses_of(recorder.records(), 500)
    assert (together.queries, together.missed) == (2000, 100)
    # All misses are in one of twenty blocks: a block of 100 says about as much as a query.
    assert together.design_effect == pytest.approx(100, rel=0.1)
    low, high = together.interval(0.95)
    assert low < 0.01
    assert high > 0.2
    both = together + Misses(2000, 0, 1.0)
    assert (both.queries, both.missed) == (4000, 100)
    assert both.design_effect == pytest.approx((together.design_effect + 1) / 2)


def test_failed_queries_are_missed():
    recorder = Recorder()
    recorder.finish(recorder.begin(0, 0), 5)
    recorder.finish(recorder.begin(0, 0), 5, "UNAVAILABLE")
    assert misses_of(recorder.records(), 10).share == 0.5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"target": LatencyTarget(10**9), "window_ns": 10**9}, "too short .* at least 20 s"),
        ({"target": TARGET, "resolution": 0.0}, "resolution must be 0.001 to 1, got 0"),
        ({"target": TARGET, "level": 1.0}, "confidence must be 0.5 to less than 1, got 1"),
        ({"target": TARGET, "most_windows": 0}, "at least one window"),
        ({"target": TARGET, "start_per_s": -1.0}, "rate to start with must be > 0, got -1"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        RampParams(**fields)


def test_targets_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="percentile must be between 0 and 100, got 100"):
        LatencyTarget(1, 100.0)
    with pytest.raises(ValueError, match="target must be > 0, got 0 ns"):
        LatencyTarget(0)


def test_a_search_end_to_end(identity, capsys):
    words = ["--url", identity.url, "--model", "identity", "--shape", "x:0:1,4", "--client"]
    search = ["--slo", "5ms", "--percentile", "50", "--window", "100ms", "--warmup", "0s"]
    few = ["--checks", "1", "--windows", "1", "--resolution", "1", "--start", "500"]
    status = main(["capacity", *words, "native", *search, *few, "--json", "-"])
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert result["format"] == "loadgen-capacity/1"
    assert status == (0 if result["capacity_per_s"] else 1)
    assert result["trials"][0]["rate_per_s"] == 500.0
    assert captured.err.count(" late (") == len(result["trials"])
    answered = sum(trial["summary"]["succeeded"] for trial in result["trials"])
    assert len(identity.requests) >= answered > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is no latency target: give --slo"),
        (["--slo", "0s"], "the target must be > 0, got 0 ns"),
        (["--slo", "1s", "--window", "1s"], "a window of 1 s is too short"),
        (["--slo", "1s", "--arrivals", "pareto"], "unknown arrivals 'pareto'"),
    ],
)
def test_wrong_words_are_one_clear_line(capsys, words, message):
    assert main(["capacity", "--model", "m", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
