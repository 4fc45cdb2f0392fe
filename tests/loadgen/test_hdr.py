"""Latencies as a log that HdrHistogram reads."""

import numpy as np
import pytest

from surplus.loadgen import hdr
from surplus.loadgen.errors import LoadgenError
from surplus.loadgen.hdr import LONGEST_NS, latencies_ns, write_hdr_log
from surplus.loadgen.record import Recorder

pytest.importorskip("hdrh")


def _records(latencies, warmup=0):
    recorder = Recorder()
    recorder.measure_from(1000)
    for _ in range(warmup):
        recorder.finish(recorder.begin(0, 0), 10**9)
    for latency in latencies:
        recorder.finish(recorder.begin(1000, 1500), 1000 + latency)
    recorder.finish(recorder.begin(1000, 1000), 10**10, "UNAVAILABLE")
    return recorder.records()


def _read(path):
    from hdrh.histogram import HdrHistogram
    from hdrh.log import HistogramLogReader

    reader = HistogramLogReader(str(path), HdrHistogram(1, LONGEST_NS, 3))
    found = reader.get_next_interval_histogram()
    reader.close()
    return found


def test_a_log_is_read_back_within_its_digits(tmp_path):
    values = np.random.default_rng(0).integers(1, 10**10, 5000)
    write_hdr_log(tmp_path / "l.hlog", _records(values.tolist(), warmup=7), "two\nlines, ä")
    found = _read(tmp_path / "l.hlog")
    assert found.get_total_count() == 5000
    for percent in (50, 90, 99, 100):
        exact = np.percentile(values, percent, method="inverted_cdf")
        assert found.get_value_at_percentile(percent) == pytest.approx(exact, rel=2e-3)


def test_logs_add_up(tmp_path):
    for name, values in (("a", [1000] * 3), ("b", [5000] * 7)):
        write_hdr_log(tmp_path / name, _records(values), name)
    both = _read(tmp_path / "a")
    both.add(_read(tmp_path / "b"))
    assert (both.get_total_count(), both.get_count_at_value(1000)) == (10, 3)


@pytest.mark.parametrize("values", [[], [0], [2 * LONGEST_NS]])
def test_what_is_out_of_range_is_at_its_end(tmp_path, values):
    write_hdr_log(tmp_path / "l", _records(values), "")
    found = _read(tmp_path / "l")
    assert found.get_total_count() == len(values)


def test_errors_and_the_warm_up_are_not_in_it():
    assert list(latencies_ns(_records([5, 6], warmup=3))) == [5, 6]


def test_without_the_library_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(hdr, "hdr_missing", lambda: "no hdrhistogram")
    with pytest.raises(LoadgenError, match="no hdrhistogram"):
        write_hdr_log(tmp_path / "l", _records([1]), "")
    assert not (tmp_path / "l").exists()
