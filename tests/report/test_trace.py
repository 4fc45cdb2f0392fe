import itertools
import json
from collections import defaultdict

import pytest

from surplus.engine.atomic_file import write_atomic
from surplus.engine.explain.breakdown import breakdown
from surplus.engine.explain.call_times import CallTimes
from surplus.engine.report.trace import to_trace, write_trace
from surplus.placement.timeline import Timeline


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
            "task": "conv1",
            "index": 7,
            "query": 3,
            "queries": 1,
            "ready_us": 1.0,
            "queueing_us": 1.5,
            "lanes": [0],
        },
    }


def test_a_span_says_how_many_queries_it_answered(make_span):
    timeline = Timeline.of([make_span("whole", 0, 5, queries=8)], "measured")
    (event,) = _complete(to_trace({"m": timeline}))
    assert (event["name"], event["args"]["queries"]) == ("whole (8 queries)", 8)


def test_a_copy_is_called_by_its_tensor(make_span):
    copy = make_span("features", 0, 5, "gpu->host", index=4)
    (event,) = _complete(to_trace({"m": Timeline.of([copy], "measured")}))
    assert event["name"] == "copy features"
    assert event["args"]["tensor"] == "features"
    assert event["args"]["index"] == 4


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


def _with_breakdown(make_span):
    spans = [
        make_span("a", 2000, 5000, lanes=(0, 1), ready_ns=0),
        make_span("t", 5000, 7000, "gpu->host"),
        make_span("beside", 6000, 8000, lanes=(1,)),
        make_span("b", 7500, 9000, ready_ns=7000, index=1),
    ]
    timeline = Timeline.of(spans, "measured")
    found = breakdown(timeline, call=CallTimes(-1000, 0, 9500, 9500))
    return to_trace({"predicted": timeline, "measured": timeline}, {"measured": found})


def test_breakdown_is_a_thread_above_the_others_that_leaves_no_gap(make_span):
    trace = _with_breakdown(make_span)
    threads = _named(trace, "thread_name")
    assert [where for where, name in threads.items() if name == "critical path"] == [(2, 4)]
    order = {
        (e["pid"], e["tid"]): e["args"]["sort_index"]
        for e in trace["traceEvents"]
        if e["name"] == "thread_sort_index"
    }
    assert order[2, 4] == 0 < min(order[2, thread] for thread in (1, 2, 3))
    rows = [e for e in _complete(trace) if (e["pid"], e["tid"]) == (2, 4)]
    assert [(e["name"], e["ts"], e["dur"], e["args"]["of"]) for e in rows] == [
        ("python in", 0.0, 1.0, ""),
        ("submission", 1.0, 2.0, "a"),
        ("service", 3.0, 3.0, "a"),
        ("copy", 6.0, 2.0, "t"),
        ("dispatch", 8.0, 0.5, "b"),
        ("service", 8.5, 1.5, "b"),
        ("completion", 10.0, 0.5, ""),
    ]


def test_spans_move_with_the_call_that_came_before_them(make_span):
    trace = _with_breakdown(make_span)
    starts = {(e["pid"], e["name"]): e["ts"] for e in _complete(trace) if e["tid"] != 4}
    assert (starts[1, "a"], starts[2, "a"]) == (2.0, 3.0)


def test_arrows_lead_along_the_critical_path(make_span):
    trace = _with_breakdown(make_span)
    arrows = [e for e in trace["traceEvents"] if e["ph"] in "sf"]
    assert [(e["ph"], e["id"], e["pid"], e["tid"], e["ts"]) for e in arrows] == [
        ("s", "2.0", 2, 1, 3.0),
        ("f", "2.0", 2, 3, 6.0),
        ("s", "2.1", 2, 3, 6.0),
        ("f", "2.1", 2, 1, 8.5),
    ]
    begins = {(e["pid"], e["tid"], e["ts"]) for e in _complete(trace)}
    assert all((e["pid"], e["tid"], e["ts"]) in begins for e in arrows)


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
