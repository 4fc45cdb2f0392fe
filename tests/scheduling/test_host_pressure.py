"""Readings of pressure from made-up and real kernels, and the line through them."""

from __future__ import annotations

from pathlib import Path

import pytest

from surplus.engine.scheduling import host_pressure
from surplus.engine.scheduling.host_pressure import (
    CacheCounters,
    RunQueue,
    fit_proxy,
    pressure_source,
)


def write(tasks: Path, thread: str, ran: int, waited: int) -> None:
    (tasks / thread).mkdir(exist_ok=True)
    (tasks / thread / "schedstat").write_text(f"{ran} {waited} 7\n")


def test_waiting_is_counted_since_the_last_reading(tmp_path: Path) -> None:
    write(tmp_path, "1", 100, 50)
    source = RunQueue(tmp_path)
    write(tmp_path, "1", 300, 100)
    write(tmp_path, "2", 200, 150)
    assert source.read() == (200 / 400,)
    assert source.read() == (0.0,)
    (tmp_path / "2" / "schedstat").unlink()
    write(tmp_path, "1", 310, 110)
    assert source.read() == (1.0,)


def test_the_own_kernel_tells_or_says_why_not() -> None:
    source, reason = pressure_source()
    if source is None:
        assert "no schedstat" in reason
        return
    sum(k * k for k in range(20_000))
    reading = source.read()
    assert len(reading) == len(source.names)
    assert all(value >= 0 for value in reading)
    if isinstance(source, CacheCounters):
        assert 0 <= reading[0] <= 1
        assert reason == ""
        source.close()
    else:
        assert reason.startswith("no cache counters")


def test_without_either_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(1, "not here")

    monkeypatch.setattr(host_pressure, "CacheCounters", refuse)
    monkeypatch.setattr(host_pressure, "RunQueue", refuse)
    source, reason = pressure_source()
    assert source is None
    assert reason.startswith("no cache counters (not here), no schedstat")


def test_a_plane_is_found() -> None:
    readings = [(a / 10, b / 10) for a in range(4) for b in range(4)]
    fit = fit_proxy(readings, [1.1 + 2 * a - b for a, b in readings])
    assert (fit.offset, *fit.slopes) == pytest.approx((1.1, 2, -1))
    assert fit.error == pytest.approx(0, abs=1e-9)
    assert fit.slowdown((0.5, 0.0)) == pytest.approx(2.1)
    assert fit.slowdown((0.0, 5.0)) == 1.0
    with pytest.raises(ValueError, match="more readings than values"):
        fit_proxy([(1.0, 2.0)], [1.0])
