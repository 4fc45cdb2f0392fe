"""Two results beside each other, and pictures of results."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest

from surplus.loadgen.arrivals import PoissonArrivals
from surplus.loadgen.asked_model import AskedModel
from surplus.loadgen.capacity.misses import misses_of
from surplus.loadgen.capacity.params import LatencyTarget, RampParams
from surplus.loadgen.capacity.result import capacity_document
from surplus.loadgen.capacity.search import RateSearch
from surplus.loadgen.capacity.trial import Window
from surplus.loadgen.cli import main
from surplus.loadgen.compare import compare
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.plots import PLOTS
from surplus.loadgen.plots.plot import Named
from surplus.loadgen.result import to_document
from surplus.loadgen.stats import summarise
from tests.loadgen.queue_model import queue_records

LOAD = LoadgenParams(20 * 10**9)
PARAMS = MeasureParams("h:1", (AskedModel("m"),), OpenLoopParams(LOAD), PoissonArrivals(200.0))


def _document(service_ns, seed=0, rate_per_s=200.0):
    records = queue_records(rate_per_s, service_ns, LOAD, seed)
    return to_document(Measurement(summarise(records, True), records), PARAMS)


@pytest.fixture
def files(tmp_path):
    for name, service_ns in (("a", 2_000_000), ("b", 2_400_000)):
        (tmp_path / f"{name}.json").write_text(json.dumps(_document(service_ns)))
    return tmp_path


def test_what_is_slower_is_shown_to_be():
    rows = {row.what: row for row in compare(_document(2_000_000), _document(2_400_000, 1))}
    assert rows["latency mean"].verdict == "more"
    assert rows["latency mean"].ratio > 1.2  # its service alone takes 1.2 times as long
    low, high = rows["latency mean"].interval
    assert 1 < low < rows["latency mean"].ratio < high
    assert rows["throughput"].verdict == "no difference shown"


def test_runs_that_only_chance_tells_apart_are_not_shown_to_differ():
    """One of twenty pairs may be; that more than eight of fifty are hardly ever happens."""
    wrong = 0
    for seed in range(0, 100, 2):
        pair = (_document(2_000_000, seed), _document(2_000_000, seed + 1))
        (row,) = (row for row in compare(*pair) if row.what == "latency mean")
        wrong += row.verdict != "no difference shown"
    assert wrong <= 8


def test_the_interval_of_a_ratio_is_that_of_its_two_sides():
    def result(value, low, high):
        latency = {"p50_ns": value}
        return {
            "summary": {"latency": latency},
            "confidence": {"intervals": {"p50_ns": (low, high)}},
        }

    (row,) = compare(result(100, 90, 110), result(200, 200, 200))
    assert row.interval == pytest.approx((200 / 110, 200 / 90))
    (both,) = compare(result(100, 100 / 1.1, 110), result(100, 100 / 1.1, 110))
    assert np.log(both.interval[1]) == pytest.approx(np.sqrt(2) * np.log(1.1))


def test_a_table_and_json_say_the_same(files, capsys):
    words = ["compare", str(files / "a.json"), str(files / "b.json")]
    assert main([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {row["what"]: row["verdict"] for row in said["figures"]}["latency p50"] == "more"
    assert main(words) == 0
    table = capsys.readouterr().out
    assert "a.json" in table
    assert f"{said['figures'][1]['ratio']:.3f}" in table


def test_what_makes_a_comparison_unfair_is_said(files, capsys):
    document = _document(2_000_000)
    document["load"]["rate_per_s"] = 100
    document["summary"]["errors"] = {"UNAVAILABLE": 3}
    document["summary"]["warnings"] = ["the generator itself was late"]
    document["target"]["model"] = "other"
    document["confidence"]["drifts"] = True
    (files / "b.json").write_text(json.dumps(document))
    assert main(["compare", str(files / "a.json"), str(files / "b.json")]) == 0
    said = capsys.readouterr().err
    for part in (
        "rate_per_s was 200.0, and then 100",
        "the second run had errors",
        "of the second run: the generator itself was late",
        "model was m, and then other",
        "the second run drifted",
    ):
        assert part in said


def test_what_only_one_of_two_loops_has_is_not_told_beside_that(files, capsys):
    document = _document(2_000_000)
    document["load"] = {"loop": "closed", "users": 4, "protocol": "grpc"}
    (files / "b.json").write_text(json.dumps(document))
    assert main(["compare", str(files / "a.json"), str(files / "b.json")]) == 0
    said = capsys.readouterr()
    differing = [line for line in said.err.splitlines() if "the loads differ" in line]
    assert differing == ["loadgen: warning: the loads differ: loop was open, and then closed"]
    assert "│ latency p99.9 │" in said.out  # whole, however narrow the terminal


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "b.json: Expecting property name"),
        ("[]", "b.json: not a result of loadgen"),
        ('{"format": 3}', "b.json: not a result of loadgen"),
        ('{"format": "loadgen-capacity/1"}', "b.json: is loadgen-capacity/1, which cannot be used"),
        ('{"format": "loadgen-result/1", "target": {}, "load": {}}', "b.json: summary: is missing"),
        (
            '{"format": "loadgen-result/1", "target": {}, "load": {}, "summary": {}}',
            "have no figure in common",
        ),
    ],
)
def test_files_that_are_no_results_are_named(files, capsys, text, message):
    (files / "b.json").write_text(text)
    assert main(["compare", str(files / "a.json"), str(files / "b.json")]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def _capacity_document():
    async def run(rate_per_s, number):
        records = queue_records(rate_per_s, 2_000_000, LOAD, number)
        return Window(misses_of(records, ramp.target.target_ns), summarise(records, True))

    ramp = RampParams(LatencyTarget(12_000_000), resolution=0.2, checks=1)
    found = asyncio.run(RateSearch(run, ramp).search(100.0))
    return capacity_document(found, PARAMS, ramp)


@pytest.mark.parametrize("suffix", [".PNG", ".svg"])
@pytest.mark.parametrize("what", sorted(PLOTS))
def test_results_are_drawn(files, what, suffix):
    pytest.importorskip("matplotlib")
    results = [str(files / "a.json"), str(files / "b.json")]
    if what == "latency-over-load":
        (files / "search.json").write_text(json.dumps(_capacity_document()))
        results.append(str(files / "search.json"))
    output = files / f"out{suffix}"
    assert main(["plot", what, *results, "-o", str(output)]) == 0
    begin = output.read_bytes()[:1000]
    assert begin.startswith(b"\x89PNG") if suffix == ".PNG" else b"<svg" in begin


def test_a_search_s_target_and_capacity_are_named_in_its_picture(files):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    PLOTS["latency-over-load"](figure, [Named("search", _capacity_document())])
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["search: p50", "search: p99", "search: target", "search: what is held"]


def test_what_cannot_be_drawn_is_said(files, capsys):
    words = ["plot", "cdf", str(files / "a.json"), "-o"]
    assert main([*words, str(files / "x.gif")]) == 2
    assert "the suffix must be one of .png, .svg, .pdf" in capsys.readouterr().err
    assert main([*words, str(files / "no" / "x.png")]) == 1
    assert "cannot be written" in capsys.readouterr().err
    document = _document(2_000_000)
    document["percentiles"] = []
    (files / "a.json").write_text(json.dumps(document))
    assert main([*words, str(files / "x.png")]) == 1
    assert "a: percentiles: is missing, or empty" in capsys.readouterr().err
