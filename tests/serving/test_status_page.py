"""The status page in a browser: it shows what the API says, and no name can inject markup."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import tritonclient.grpc as triton

import surplus
from surplus import models
from surplus.engine.serving.new_token import add_token
from surplus.engine.serving.server_params import ServerParams
from tests.serving.fakes import WAIT_S, ServerThread, identity, tensor

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
INPUTS = models.example_inputs("lenet")
ANSWERED = 40  # and of those that are asked for in a few microseconds as many as the machine can
NAME = "<b onclick='alert(1)'>numerals</b>"
WINDOWS = {"window_s": "600", "lanes_s": "600", "late_s": "600"}
_SIZES = {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1.0, "GiB": 2.0**30, "MiB": 2.0**20}

browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: make test-observers")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[surplus.Server]:
    folder = tmp_path_factory.mktemp("status")
    path = models.save(models.build("lenet"), folder / "lenet.onnx")
    model = surplus.load(path, "cpu:1", cache=folder / "cache", selection_s=0)
    with surplus.Server({NAME: model}, port=0, http_port=0) as server:
        with triton.InferenceServerClient(server.address) as client:
            inputs = [tensor(name, array, "FP32") for name, array in INPUTS.items()]
            for _ in range(ANSWERED):
                client.infer(NAME, inputs)
            for timeout_us in range(1, 60, 2):
                _ask_in_time(client, inputs, timeout_us)
        yield server


def _ask_in_time(client: triton.InferenceServerClient, inputs: Any, timeout_us: int) -> None:
    try:
        client.infer(NAME, inputs, timeout=timeout_us)
    except triton.InferenceServerException:
        return  # it was late, which is what is wanted


def get(server: surplus.Server, path: str) -> Any:
    connection = http.client.HTTPConnection(server.http_address or "", timeout=WAIT_S)
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


class Page(HTMLParser):
    """Texts of elements that say what they show, and attributes of those that are drawn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.shown: dict[str, list[str]] = {}
        self.lanes: list[dict[str, str | None]] = []
        self.tags: set[str] = set()
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.tags.add(tag)
        if "data-lane" in found:
            self.lanes.append(found)
        if tag not in ("meta", "input"):
            self._open.append(found.get("data-field") or (self._open[-1] if self._open else ""))
            if found.get("data-field"):
                self.shown.setdefault(self._open[-1], []).append("")

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1]:
            self.shown[self._open[-1]][-1] += data

    def only(self, field: str) -> str:
        (text,) = self.shown[field]
        return text


@pytest.fixture(scope="module")
def page(server: surplus.Server, tmp_path_factory: pytest.TempPathFactory) -> Page:
    words = "&".join(f"{name}={value}" for name, value in WINDOWS.items())
    return looked_at(f"http://{server.http_address}/status?{words}", tmp_path_factory)


def looked_at(url: str, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """What the page shows after some looks at the server."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",  # which Chromium refuses to root, who runs tests in containers
            "--disable-gpu",
            f"--user-data-dir={tmp_path_factory.mktemp('chromium')}",
            "--virtual-time-budget=5000",
            "--dump-dom",
            url,
        ],
        capture_output=True,
        check=True,
        timeout=120,
    )
    return Page(done.stdout.decode())


def quantity(text: str) -> float:
    number, unit = text.split()
    return float(number.replace(",", "")) * _SIZES[unit]


@browser
def test_counts_are_those_of_the_api(server: surplus.Server, page: Page) -> None:
    found = get(server, "/v2/surplus/server")
    (model,) = found["models"]
    assert page.only("name") == NAME
    assert page.only("ready") == "ready"
    assert page.shown["version"] == [found["version"], model["version"]]
    assert int(page.only("answered")) == model["answered"] >= ANSWERED
    assert int(page.only("calls")) == model["calls"]
    troubles = sum(int(count) for count in re.findall(r" (\d+)", page.only("troubles")))
    assert troubles == sum(model["trouble"].values()) > 0
    held = sum(found["memory"][kind] for kind in ("queries_bytes", "rest_bytes"))
    assert quantity(page.only("memory").split(" of ")[0]) == pytest.approx(held, rel=0.05)


@browser
def test_percentiles_are_those_of_the_api(server: surplus.Server, page: Page) -> None:
    machines = get(server, "/v2/surplus/top?window_s=600")["machines"]  # of this process
    recent = next(m for machine in machines for m in machine["models"] if m["model"] == NAME)
    for name in ("p50", "p95", "p99"):
        wanted = recent["latency_ns"][name]
        assert quantity(page.only(name)) == pytest.approx(wanted, rel=0.01), name
    (model,) = get(server, "/v2/surplus/server")["models"]
    for name in ("p50", "p99"):
        wanted = model["duration_s"][name] * 1e9
        assert quantity(page.only(f"whole_{name}")) == pytest.approx(wanted, rel=0.01), name


@browser
def test_each_segment_that_ran_is_drawn(server: surplus.Server, page: Page) -> None:
    machines = get(server, "/v2/surplus/timeline?window_s=600")["machines"]  # of this process
    machine = next(machine for machine in machines if NAME in machine["models"])
    assert len(machine["spans"]) > 40
    drawn = [(lane["data-lane"], lane["data-spans"]) for lane in page.lanes]
    assert ("cpu 0", str(len(machine["spans"]))) in drawn


@browser
def test_late_queries_are_explained_in_the_same_words(server: surplus.Server, page: Page) -> None:
    found = get(server, "/v2/surplus/late?window_s=600")["models"]
    late = [model for model in found if model["late"]]
    assert NAME in [model["model"] for model in late]
    assert page.shown["sentence"] == [text for model in late for text in model["sentences"]]
    shown = [query["late_ns"] for model in late for query in model["queries"][-8:][::-1]]
    assert [quantity(text) for text in page.shown["late"]] == pytest.approx(shown, rel=0.01)


@browser
def test_with_tokens_it_shows_nothing_without_one(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tokens = tmp_path / "tokens.toml"
    token = add_token(tokens, "page", ("statistics",), (), None)
    server = ServerThread(ServerParams(grpc_port=0, http_port=0, tokens=str(tokens)))
    try:
        server.serve("identity", identity())
        at = f"http://{server.http_url}/status"
        without = looked_at(at, tmp_path_factory)
        assert "name" not in without.shown
        assert re.search(r'id="said" class="bad">[^<]*token', without.text)
        page = looked_at(f"{at}#token={token}", tmp_path_factory)
        assert page.only("name") == "identity"
        assert token not in page.text
    finally:
        server.stop()


def test_it_is_one_file_that_asks_nobody_else() -> None:
    text = files("surplus.engine.serving").joinpath("status.html").read_text()
    assert re.findall(r"https?://[\w./]+", text) == ["http://www.w3.org/2000/svg"]
    assert "innerHTML" not in text, "names of models are text, not markup"
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=", text)
