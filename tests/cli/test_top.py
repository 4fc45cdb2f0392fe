"""``engine top`` against a server of this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import surplus
from surplus.engine.cli.main import main
from tests.cli.calls import Called
from tests.late_server import late_server

Top = Callable[..., Called]
ASKED = 4


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[surplus.Server]:
    with late_server(tmp_path_factory.mktemp("top"), "numbers", ASKED) as server:
        yield server


@pytest.fixture
def top(capsys: pytest.CaptureFixture[str]) -> Top:
    def call(*words: object) -> Called:
        capsys.readouterr()
        try:
            status = main(["top", *map(str, words)])
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
        return Called(status, *capsys.readouterr())

    return call


def _urls(server: surplus.Server) -> list[str]:
    return [server.address, f"http://{server.http_address}", f"http://{server.http_address}/"]


def test_one_look_as_json_over_both_faces(server: surplus.Server, top: Top) -> None:
    for url in _urls(server):
        called = top(url, "--once", "--json", "--window", "600")
        assert (called.status, called.err) == (0, "")
        rows = [row for machine in called.json()["machines"] for row in machine["models"]]
        (numbers,) = [row for row in rows if row["model"] == "numbers"]
        assert (numbers["queries"], numbers["misses"]) == (ASKED, ASKED)


def test_one_look_as_tables(server: surplus.Server, top: Top) -> None:
    called = top(server.address, "--once", "--window", "600")
    assert called.status == 0
    assert "numbers" in called.out
    assert f"{ASKED} (100 %)" in called.out
    assert "Lanes, background" in called.out


def test_it_looks_until_it_is_stopped(
    server: surplus.Server, top: Top, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def stop_at_the_second(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("surplus.engine.cli.top_watch.time.sleep", stop_at_the_second)
    called = top(server.address, "--every", "0.25", "--window", "600")
    assert (called.status, looks) == (130, [0.25, 0.25])
    once = top(server.address, "--once", "--window", "600").out.count("Lanes, background")
    assert called.out.count("Lanes, background") == 2 * once


def test_late_queries_as_text_json_and_trace(
    server: surplus.Server, top: Top, tmp_path: Path
) -> None:
    for url in _urls(server):
        for name in ("numbers", "all"):
            called = top(url, "--late", name, "--window", "600")
            assert called.status == 0
            assert f"100 % of numbers's {ASKED} misses" in called.out
            assert "take longer by themselves" in " ".join(called.out.split())
        found = top(url, "--late", "numbers", "--window", "600", "--json").json()
        assert found["models"][0]["late"] == ASKED
        trace = tmp_path / "late.json"
        assert top(url, "--trace", trace, "--window", "600").out == ""
        assert json.loads(trace.read_text())["traceEvents"]


def test_what_is_wrong_is_said_in_a_line(server: surplus.Server, top: Top, tmp_path: Path) -> None:
    url = server.address
    for words, says in [
        (("nowhere",), "'nowhere' is neither HOST:PORT nor http://HOST:PORT"),
        (("127.0.0.1:1", "--once"), "127.0.0.1:1: does not answer"),
        (("http://127.0.0.1:1", "--once"), "http://127.0.0.1:1 does not answer"),
        ((url, "--late", "nobody"), "no model is called 'nobody'"),
        ((_urls(server)[1], "--late", "nobody"), "no model is called 'nobody'"),
        ((url, "--every", "0"), "--every must be above 0"),
        ((url, "--window", "-1"), "--window must be above 0"),
        ((url, "--window", "1e9"), "the window must be above 0, at most 3600 s"),
        ((url, "--trace", tmp_path / "no" / "t.json"), "there is no folder"),
        ((_urls(server)[1] + "/elsewhere", "--once"), "/elsewhere: "),
    ]:
        called = top(*words)
        assert called.is_one_clear_line(), called
        assert says in called.err
