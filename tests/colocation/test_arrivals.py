from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.colocation.frame.arrival import ARRIVALS, expected_per_s
from surplus.colocation.frame.clock import NS_PER_S, VirtualClock, WallClock
from tests.colocation.settings import MS

MADE: dict[str, dict[str, Any]] = {
    "poisson": {"rate_per_s": 40},
    "uniform": {"rate_per_s": 40},
    "bursty": {"rate_per_s": 40, "burst_s": 0.5, "calm_s": 2},
    "diurnal": {"rate_per_s": 40, "period_s": 10},
    "steps": {"rates_per_s": [10, 0, 110], "step_s": 400 / 3},
}


@pytest.mark.parametrize("name", MADE)
def test_mean_rate_order_and_seed(name: str) -> None:
    process = ARRIVALS.make(name, **MADE[name])
    duration_ns = 400 * NS_PER_S
    times = process.times_ns(duration_ns, np.random.default_rng(5))
    assert process.rate_per_s == 40
    assert len(times) / 400 == pytest.approx(40, rel=0.1)
    assert (np.diff(times) >= 0).all()
    assert 0 <= times[0] <= times[-1] < duration_ns
    assert (times == process.times_ns(duration_ns, np.random.default_rng(5))).all()


def dispersion(name: str) -> float:
    """Variance over mean of the counts of half a second: 1 for Poisson."""
    process = ARRIVALS.make(name, **MADE[name])
    times = process.times_ns(400 * NS_PER_S, np.random.default_rng(5))
    counts = np.bincount(times // (NS_PER_S // 2), minlength=800)
    return float(counts.var() / counts.mean())


def test_bursts_and_days_are_wilder_than_poisson() -> None:
    assert dispersion("uniform") < 0.1
    assert dispersion("poisson") == pytest.approx(1, abs=0.2)
    assert dispersion("bursty") > 4
    assert dispersion("diurnal") > 4


@pytest.mark.parametrize("seconds", [1, 3, 7, 10, 40, 400, 1000])
@pytest.mark.parametrize("name", MADE)
def test_planners_are_told_what_is_expected_of_the_run(name: str, seconds: int) -> None:
    """A run may be a part of a day, or end before the last step."""
    process = ARRIVALS.make(name, **MADE[name])
    if name == "bursty":
        assert expected_per_s(process, seconds * NS_PER_S) == 40  # who knows when they come
        return
    draws = [
        len(process.times_ns(seconds * NS_PER_S, np.random.default_rng(seed))) for seed in range(40)
    ]
    told = expected_per_s(process, seconds * NS_PER_S)
    assert np.mean(draws) == pytest.approx(told * seconds, abs=4 * (told * seconds / 40) ** 0.5 + 1)


def test_steps_have_their_rates_and_the_last_one_holds_on() -> None:
    process = ARRIVALS.make("steps", rates_per_s=[200, 0, 100], step_s=2)
    times = process.times_ns(10 * NS_PER_S, np.random.default_rng(5))
    counts = np.bincount(times // (2 * NS_PER_S), minlength=5).tolist()
    assert counts[1] == 0
    assert counts[0] == pytest.approx(400, rel=0.2)
    assert counts[2:] == pytest.approx([200] * 3, rel=0.25)
    short = process.times_ns(NS_PER_S, np.random.default_rng(5))
    assert short.tolist() == times[times < NS_PER_S].tolist()


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("poisson", {"rate_per_s": 0}, "rate_per_s must be >= 1e-06"),
        ("poisson", {"rate_per_s": 1e-300}, "rate_per_s must be >= 1e-06"),
        ("poisson", {"rate_per_s": float("nan")}, "rate_per_s must be finite, got nan"),
        ("poisson", {"rate_per_s": "many"}, "rate_per_s: expected `float`, got `str`, 'many'"),
        ("bursty", {"rate_per_s": 1, "burst_s": 1e-9}, "burst_s must be 0.001 to"),
        ("bursty", {"rate_per_s": 1, "peak": 9}, "peak must be <= 5"),
        ("bursty", {"rate_per_s": 1, "peak": 1}, "peak must be > 1"),
        ("diurnal", {"rate_per_s": 1, "swing": 2}, "swing must be 0 to 1"),
        ("steps", {"rates_per_s": [0, 0], "step_s": 1}, "rate_per_s must be >= 1e-06"),
        ("steps", {"rates_per_s": [1, -1], "step_s": 1}, "rates_per_s must be >= 0"),
        ("steps", {"rates_per_s": [], "step_s": 1}, "rates_per_s must be >= 0"),
        ("steps", {"rates_per_s": [1], "step_s": 0}, "step_s must be 0.001 to"),
        ("poisson", {"rate": 1}, "rate"),
        ("nonsense", {}, "unknown arrivals 'nonsense'"),
    ],
)
def test_wrong_options(name: str, options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        ARRIVALS.make(name, **options)


def test_replay_of_timestamps(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("id,at\na,12.5\nb,10\nc,10.001\nd,99\n")
    process = ARRIVALS.make("timestamps", path=str(path), column="at", speed=2)
    times = process.times_ns(2 * NS_PER_S, np.random.default_rng(0))
    assert times.tolist() == [0, MS // 2, 1250 * MS]
    assert process.rate_per_s == pytest.approx(4 * 2 / 89)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("at\n1\nx\n", "line 3: 'x'"),
        ("at\nnan\n", "line 2"),
        ("at\n", "no rows"),
        ("b\n1\n", "no column"),
        ("at\n1\n1e25\n", "1 and 1e\\+25 s are too far apart"),
    ],
)
def test_broken_timestamps(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=match):
        ARRIVALS.make("timestamps", path=str(path), column="at")


def test_replay_of_azure_functions(tmp_path: Path) -> None:
    path = tmp_path / "invocations.csv"
    path.write_text(
        "HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,9,0,4\no,a,g,x,1,1,1\n"
    )
    process = ARRIVALS.make("azure_functions", path=str(path), function="f", speed=60)
    times = process.times_ns(10 * NS_PER_S, np.random.default_rng(0))
    assert np.bincount(times // NS_PER_S).tolist() == [9, 0, 4]
    assert process.rate_per_s == pytest.approx(13 / 3)
    told = [expected_per_s(process, round(s * NS_PER_S)) for s in (1, 2.5, 10)]
    assert told == pytest.approx([9, (9 + 2) / 2.5, 13 / 10])
    twice = ARRIVALS.make("azure_functions", path=str(path), function="f", speed=60, scale=2)
    assert len(twice.times_ns(10 * NS_PER_S, np.random.default_rng(0))) == 26
    with pytest.raises(ValueError, match="no function 'h'"):
        ARRIVALS.make("azure_functions", path=str(path), function="h")
    path.write_text("HashFunction,1,2\nf,3,-1\n")
    with pytest.raises(ValueError, match=r"invocations\.csv, line 2: -1 invocations"):
        ARRIVALS.make("azure_functions", path=str(path), function="f")


def test_slow_traces_end_beyond_every_run(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "HashFunction," + ",".join(map(str, range(1, 1001))) + "\nf" + ",1" * 1000 + "\n"
    )
    slow = ARRIVALS.make("azure_functions", path=str(path), function="f", speed=1e-6)
    assert not len(slow.times_ns(NS_PER_S, np.random.default_rng(0)))
    path.write_text("timestamp\n0\n1\n4e9\n")
    stamps = ARRIVALS.make("timestamps", path=str(path)).scaled(1e-6)
    assert stamps.times_ns(2_000_000 * NS_PER_S, np.random.default_rng(0)).tolist() == [
        0,
        1_000_000 * NS_PER_S,
    ]


def test_clocks() -> None:
    clock = VirtualClock()
    clock.advance_to(5)
    assert clock.now_ns() == 5
    with pytest.raises(ValueError, match="past 4 ns"):
        clock.advance_to(4)
    wall = WallClock()
    assert 0 <= wall.now_ns() <= wall.now_ns()


@pytest.mark.parametrize("name", MADE)
def test_a_scaled_process_is_the_same_at_another_rate(name: str) -> None:
    process = ARRIVALS.make(name, **MADE[name]).scaled(2.5)
    assert process.rate_per_s == 100
    times = process.times_ns(400 * NS_PER_S, np.random.default_rng(5))
    assert len(times) / 400 == pytest.approx(100, rel=0.1)
    with pytest.raises(ValueError, match="rate_per_s"):
        process.scaled(0)


def test_scaled_traces(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("timestamp\n5\n7\n9\n")
    faster = ARRIVALS.make("timestamps", path=str(path)).scaled(4)
    assert faster.times_ns(NS_PER_S, np.random.default_rng(1)).tolist() == [0, NS_PER_S // 2]
    path.write_text("HashFunction,1,2\nf,30,60\n")
    busier = ARRIVALS.make("azure_functions", path=str(path), function="f").scaled(2)
    assert busier.rate_per_s == pytest.approx(1.5)
    assert len(busier.times_ns(120 * NS_PER_S, np.random.default_rng(1))) == 180
