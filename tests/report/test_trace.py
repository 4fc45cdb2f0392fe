import itertools
import json
from collections import defaultdict

import pytest

from engine.atomic_file import write_atomic
from engine.report.trace import to_trace, write_trace
from placement.timeline import Timeline


def _complete(trace):
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def _named(trace, what):
    rows = [event for event in trace["traceEvents"] if event["name"] == what]
    return {(row["pid"], row["tid"]): row["args"]["name"] for row in rows}


def test_a_span_in_full(make_span):
    span = make_span("conv1", 2500, 4000, ready_ns=1000, index=7, query=3)
    event = _complete(to_trace({"measured": Timeline.of([span], "measured")}))[0]
    assert event == {
        "name": "conv1",
        "cat": "Conv",
        "ph": "X",
        "ts": 2.5,
        "dur": 1.5,
        "pid": 1,
        "tid": 1,
        "args": {
            "kind": "task",
            "index": 7,
            "query": 3,
            "ready_us": 1.0,
            "queueing_us": 1.5,
            "lanes": [0],
        },
    }


def test_predicted_and_measured_are_processes_beside_each_other(make_span, detector_like):
    measured = Timeline.of([make_span("a", 0, 5)], "measured")
    trace = to_trace({"predicted": detector_like, "measured": measured})
    assert _named(trace, "process_name") == {
        (1, 0): "predicted: predicted by comm_sd (emulated device)",
        (2, 0): "measured: measured",
    }
    assert list(_named(trace, "thread_name").values()) == [
        "cpu lane 0",
        "cpu lane 1",
        "emulated:gpu",
        "gpu->host",
        "cpu",
    ]
    assert len(_complete(trace)) == 3301


def test_events_of_one_thread_never_overlap(make_span):
    copies = [make_span(f"t{i}", i * 10, i * 10 + 25, "gpu->host") for i in range(30)]
    threads = defaultdict(list)
    for event in _complete(to_trace({"m": Timeline.of(copies, "measured")})):
        threads[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert len(threads) == 3
    for rows in threads.values():
        assert all(a[1] <= b[0] + 1e-9 for a, b in itertools.pairwise(rows))


def test_the_file_is_json_and_the_same_each_time(tmp_path, detector_like):
    for name in ("a", "b"):
        write_trace(tmp_path / name, {"predicted": detector_like})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert json.loads((tmp_path / "a").read_text()) == to_trace({"predicted": detector_like})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_failed_write_keeps_the_old_file_and_leaves_nothing(tmp_path):
    path = tmp_path / "t.json"
    write_atomic(path, b"old")
    with pytest.raises(TypeError):
        write_atomic(path, "not bytes")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomic(tmp_path / "missing" / "t.json", b"")
