import json
from itertools import islice

import numpy as np
import pytest

from surplus.loadgen.arrivals import (
    ARRIVALS,
    BurstyArrivals,
    DiurnalArrivals,
    TraceArrivals,
    poisson,
    uniform,
)
from surplus.loadgen.arrivals.spec import has_own_rate, make_arrivals

ENDLESS = sorted(set(ARRIVALS) - {"trace"})


def _gaps(process, rate_per_s, count, seed=7):
    offsets = list(islice(process(rate_per_s, np.random.default_rng(seed)), count))
    return np.diff([0, *offsets])


def _offsets(process, count, seed=7):
    found = process.offsets_ns(np.random.default_rng(seed))
    return np.fromiter(islice(found, count), np.int64)


def test_poisson_gaps_have_the_mean_and_the_spread_of_an_exponential():
    gaps = _gaps(poisson, 1000.0, 1_000_000)
    # Standard errors of both are 0.1 %.
    assert gaps.mean() == pytest.approx(1e6, rel=0.01)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, abs=0.01)


def test_poisson_gaps_are_not_capped():
    gaps = _gaps(poisson, 1000.0, 100_000)
    # P(gap > 5 means) = exp(-5): a cap at a few means would empty the tail.
    assert (gaps > 5e6).mean() == pytest.approx(np.exp(-5), rel=0.15)
    assert gaps.max() > 9e6


def test_poisson_counts_per_window_have_variance_equal_to_the_mean():
    offsets = np.cumsum(_gaps(poisson, 1000.0, 100_000))
    counts = np.bincount(offsets // 10_000_000)[:-1]
    assert counts.var() / counts.mean() == pytest.approx(1.0, rel=0.1)


def test_uniform_keeps_its_rate_over_a_long_run():
    offsets = list(islice(uniform(3.0, np.random.default_rng(0)), 3001))
    assert offsets[0] == 0
    assert offsets[3000] == 1_000_000_000_000
    assert set(np.diff(offsets)) == {333_333_333, 333_333_334}


@pytest.mark.parametrize("name", ENDLESS)
def test_offsets_are_integers_in_order_and_repeat_with_the_seed(name):
    def offsets(seed):
        process = ARRIVALS[name](rate_per_s=50.0)
        return list(islice(process.offsets_ns(np.random.default_rng(seed)), 5000))

    assert offsets(1) == offsets(1)
    assert name == "uniform" or offsets(1) != offsets(2)
    assert all(type(offset) is int for offset in offsets(1))
    assert offsets(1) == sorted(offsets(1))


@pytest.mark.parametrize("name", ENDLESS)
def test_a_process_says_what_it_is_and_keeps_its_rate_when_scaled(name):
    process = ARRIVALS[name](rate_per_s=400.0)
    assert process.describe()["process"] == name
    json.dumps(process.describe())
    scaled = process.scaled(5.0)
    assert scaled.rate_per_s == pytest.approx(2000.0)
    offsets = _offsets(scaled, 500_000)
    # 250 s: fifty bursts, whose lengths alone make the rate differ by a twelfth.
    assert len(offsets) / (offsets[-1] / 1e9) == pytest.approx(2000.0, rel=0.35)


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("rate_per_s", [0.0, -1.0, float("inf"), float("nan")])
def test_rates_out_of_range_are_refused(name, rate_per_s):
    with pytest.raises(ValueError, match="rate_per_s must be > 0"):
        ARRIVALS[name](rate_per_s=rate_per_s)


@pytest.mark.parametrize(
    ("peak", "burst_s", "calm_s"), [(3.0, 0.1, 0.4), (5.0, 0.1, 0.4), (2.0, 0.2, 0.2)]
)
def test_bursts_have_the_dispersion_that_is_said(peak, burst_s, calm_s):
    process = BurstyArrivals(500.0, peak, burst_s, calm_s)
    offsets = _offsets(process, 2_000_000)
    window_ns = 20_000_000_000  # long beside the phases
    counts = np.bincount(offsets // window_ns)[:-1]
    assert counts.mean() / 20 == pytest.approx(500.0, rel=0.02)
    # 200 windows: the standard error of a variance is a tenth of it.
    assert counts.var() / counts.mean() == pytest.approx(process.dispersion, rel=0.3)
    assert process.dispersion > 10


def test_a_burst_that_takes_all_is_on_and_off():
    process = BurstyArrivals(500.0, 5.0, 0.1, 0.4)
    assert process.calm_per_s == 0
    gaps = np.diff(_offsets(process, 20_000))
    assert np.median(gaps) < 1e9 / 2500
    assert gaps.max() > 0.4e9


def test_a_day_rises_and_falls():
    offsets_s = _offsets(DiurnalArrivals(1000.0, swing=0.8, period_s=10.0), 100_000) / 1e9
    day = offsets_s % 10.0
    assert ((day > 2) & (day < 3)).sum() / ((day > 7) & (day < 8)).sum() == pytest.approx(
        9, rel=0.2
    )


def test_a_day_follows_a_given_curve(tmp_path):
    file = tmp_path / "day.csv"
    file.write_text("rate\n0\n3\n")
    process = DiurnalArrivals(1000.0, period_s=2.0, curve=str(file))
    offsets_s = _offsets(process, 100_000) / 1e9
    assert len(offsets_s) / offsets_s[-1] == pytest.approx(1000, rel=0.03)
    day = offsets_s % 2.0
    # Linear from 0 to 2 in the middle of the day: a quarter of it has 1/16 of the queries.
    assert (day < 0.5).mean() == pytest.approx(1 / 8, rel=0.1)


def test_a_trace_is_replayed_with_what_its_rows_say(tmp_path):
    file = tmp_path / "trace.csv"
    file.write_text("time,model,priority,timeout\n12.5,b,,\n10,a,1,50ms\n11,a,,\n")
    process = TraceArrivals(path=str(file))
    assert _offsets(process, 9).tolist() == [0, 1_000_000_000, 2_500_000_000]
    assert [label.model for label in process.labels] == ["a", "a", "b"]
    assert process.labels[0] == ("a", 1, 50_000_000)
    assert process.labels[2] == ("b", None, None)
    assert process.rate_per_s == pytest.approx(0.8)
    assert _offsets(process.scaled(2), 9).tolist() == [0, 500_000_000, 1_250_000_000]
    faster = TraceArrivals(80.0, str(file))
    assert _offsets(faster, 9).tolist() == [0, 10_000_000, 25_000_000]


def test_a_trace_may_be_json_lines_in_another_unit(tmp_path):
    file = tmp_path / "trace.jsonl"
    file.write_text('{"time": 5}\n\n{"time": 7, "model": "a", "priority": 2}\n')
    process = TraceArrivals(path=str(file), unit="ms", speed=2.0)
    assert _offsets(process, 9).tolist() == [0, 1_000_000]
    assert process.labels[1] == ("a", 2, None)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", "t.csv: no rows"),
        ("t.csv", "time\n", "t.csv: no rows"),
        ("t.csv", "time\n1\nx\n", "t.csv, line 3: time: 'x' is not a number"),
        ("t.csv", "time\ninf\n", "t.csv, line 2: time: 'inf' is not a number"),
        ("t.csv", "time,model\n,a\n", "t.csv, line 2: time: there is no number"),
        ("t.csv", "time,when\n1,2\n", "t.csv, line 2: unknown field 'when'; there are: model"),
        ("t.csv", "time\n1,2\n", "t.csv, line 2: 2 cells under 1 names"),
        ("t.csv", 'time\n"1\n', "t.csv, line 2: unexpected end of data"),
        ("t.csv", "time,priority\n1,-1\n", "t.csv, line 2: priority: -1 is not a whole number"),
        ("t.csv", "time,timeout\n1,soon\n", "t.csv, line 2: timeout: duration 'soon' is not"),
        ("t.csv", "time,timeout\n1,0s\n", "t.csv, line 2: timeout: 0s is not > 0"),
        ("t.csv", "time\n0\n1e300\n", "t.csv: its times are more than a century apart"),
        ("t.csv", "time\n\udce9\n", "t.csv: not text in UTF-8"),
        ("t.jsonl", '{"time": 1}\n{', "t.jsonl, line 2: Expecting property name"),
        ("t.jsonl", "[1]\n", "t.jsonl, line 1: not an object"),
        ("t.jsonl", '{"time": true}\n', "t.jsonl, line 1: time: True is not a number"),
    ],
)
def test_a_trace_that_cannot_be_read_says_where(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, errors="surrogateescape")
    with pytest.raises(ValueError, match=message):
        TraceArrivals(path=str(tmp_path / name))


def test_shapes_are_made_of_words():
    process = make_arrivals("bursty:peak=4,burst_s=0.5,calm_s=2", 100.0)
    said = process.describe()
    assert (said["peak"], said["burst_s"], said["calm_s"]) == (4.0, 0.5, 2.0)
    assert make_arrivals("uniform", 3.0).rate_per_s == 3.0
    assert [has_own_rate(text) for text in ("trace:path=x", "poisson", "other")] == [True, 0, 0]


@pytest.mark.parametrize(
    ("text", "rate_per_s", "message"),
    [
        ("pareto", 1.0, "unknown arrivals 'pareto'; there are: .*poisson"),
        ("bursty:peek=4", 1.0, "'peek=4' is not KEY=VALUE; keys: peak, burst_s, calm_s"),
        ("bursty:peak", 1.0, "'peak' is not KEY=VALUE"),
        ("bursty:peak=high", 1.0, "peak 'high' is not a number"),
        ("bursty:peak=9", 1.0, "peak must be <= 5 with these lengths, got 9"),
        ("bursty:peak=1", 1.0, "peak must be > 1, got 1"),
        ("bursty:burst_s=0", 1.0, "burst_s must be 0.001 to 1e.09 seconds, got 0"),
        ("diurnal:swing=2", 1.0, "swing must be 0 to 1, got 2"),
        ("poisson", None, "arrivals 'poisson' need a rate"),
        ("poisson:rate_per_s=4", 1.0, "keys: none"),
        ("trace", None, "a trace needs a file"),
        ("trace:path=x,unit=h", None, "unit must be one of s, ms, us, ns, got 'h'"),
        ("trace:path=x,speed=2", 5.0, "by a rate or a speed, not by both"),
    ],
)
def test_shapes_that_make_no_sense_are_refused(text, rate_per_s, message):
    with pytest.raises(ValueError, match=message):
        make_arrivals(text, rate_per_s)
