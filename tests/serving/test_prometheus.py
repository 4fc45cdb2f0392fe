"""A real Prometheus scrapes a server: every query of the dashboard and of the alerts answers."""

from __future__ import annotations

import http.client
import itertools
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
import tritonclient.grpc as triton

import surplus
from surplus import models
from surplus.engine.serving.metrics.catalogue import CATALOGUE, PROCESS
from surplus.engine.serving.metrics.policy_sample import PolicySample
from surplus.engine.serving.metrics.replica_sample import ReplicaSample
from surplus.engine.serving.metrics.worker_sample import WorkerSample
from tests.serving.fakes import WAIT_S, tensor

PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana" / "surplus.json").read_text())
ALERTS = DEPLOY / "prometheus" / "alerts.yml"
INPUTS = models.example_inputs("lenet")
NAMES = {one.name for one in CATALOGUE} | {name for name, _ in PROCESS}
HISTOGRAMS = [one for one in CATALOGUE if one.kind == "histogram"]

needs_prometheus = pytest.mark.skipif(
    PROMETHEUS is None or PROMTOOL is None, reason="needs Debian's prometheus: make test-observers"
)


def queries() -> dict[str, str]:
    """Of each panel of the dashboard, by its title."""
    return {
        f"{panel['title']} {target['refId']} {panel['id']}": target["expr"]
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", ())
    }


class FakeGpu:
    """Stands for nvidia-ml-py, with one GPU."""

    NVMLError = RuntimeError

    @staticmethod
    def nvmlInit() -> None: ...
    @staticmethod
    def nvmlDeviceGetCount() -> int:
        return 1

    @staticmethod
    def nvmlDeviceGetHandleByIndex(index: int) -> int:
        return index

    @staticmethod
    def nvmlDeviceGetMemoryInfo(handle: int) -> Any:
        return SimpleNamespace(total=80 << 30, used=3 << 30)

    @staticmethod
    def nvmlDeviceGetUUID(handle: int) -> bytes:
        return b"GPU-0"

    @staticmethod
    def nvmlDeviceGetUtilizationRates(handle: int) -> Any:
        return SimpleNamespace(gpu=25)

    @staticmethod
    def nvmlDeviceGetEnforcedPowerLimit(handle: int) -> int:
        return 700_000

    @staticmethod
    def nvmlDeviceGetTotalEnergyConsumption(handle: int) -> int:
        return 9_000_000

    @staticmethod
    def nvmlDeviceGetPowerUsage(handle: int) -> int:
        return 250_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[surplus.Server]:
    """It has a GPU, a worker and a budget of memory, too, as far as metrics go."""
    folder = tmp_path_factory.mktemp("prometheus")
    path = models.save(models.build("lenet"), folder / "lenet.onnx")
    model = surplus.load(path, "cpu:1", cache=folder / "cache", selection_s=0)
    with (
        pytest.MonkeyPatch.context() as patch,
        surplus.Server({"numerals": model}, port=0, http_port=0) as server,
    ):
        patch.setitem(sys.modules, "pynvml", FakeGpu)
        assert server._server is not None
        (served,) = server._server.plane.models
        served.cost_bytes = 1 << 20
        server._server.plane.workers = lambda: [WorkerSample("apart", 1, 1, ())]
        server._server.plane.replicas = lambda: [ReplicaSample("r:1", 2, 1, 1, 0, 1, 0, False)]
        server._server.plane.policies = lambda: (PolicySample("p", 10**10, 9, 8, 8.5, 0.4, 1),)
        yield server


@dataclass
class Scraper:
    """A Prometheus that runs."""

    port: int

    def get(self, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        try:
            connection.request("GET", f"/api/v1/{path}")
            answer = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        assert answer["status"] == "success", f"{path}: {answer}"
        return answer["data"]

    def ask(self, query: str) -> list[float]:
        """The values of the series that it answers with."""
        rows = self.get(f"query?query={quote(query)}")["result"]
        return [float(row["value"][1]) for row in rows]

    def wait_for(self, condition: Callable[[], bool]) -> None:
        end_s = time.monotonic() + WAIT_S
        while not self._holds(condition):
            assert time.monotonic() < end_s, "Prometheus has not got so far"
            threading.Event().wait(0.05)

    @staticmethod
    def _holds(condition: Callable[[], bool]) -> bool:
        try:
            return condition()
        except (OSError, ValueError):  # it is not up yet
            return False


@pytest.fixture(scope="module")
def scraper(server: surplus.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraper]:
    """Started as deploy/prometheus says, only that it looks more often."""
    folder = tmp_path_factory.mktemp("scraper")
    text = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    for usual, ours in (
        ("scrape_interval: 10s", "scrape_interval: 200ms\n  evaluation_interval: 200ms"),
        ("127.0.0.1:8002", server.http_address or ""),
        ("alerts.yml", str(ALERTS)),
    ):
        assert usual in text
        text = text.replace(usual, ours)
    (folder / "prometheus.yml").write_text(text)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        PROMETHEUS or "",
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stop = threading.Event()
    asking = threading.Thread(target=_ask_until, args=(server, stop))
    asking.start()
    try:
        found = Scraper(port)
        found.wait_for(lambda: sum(found.ask("count_over_time(nv_inference_count[1m])")) >= 8)
        found.wait_for(lambda: bool(found.ask("surplus_deadline_misses_total > 0")))
        yield found
    finally:
        stop.set()
        asking.join()
        process.terminate()
        process.wait(WAIT_S)


def _ask_until(server: surplus.Server, stop: threading.Event) -> None:
    """Ask for answers in time and late ones, and as if some had been kept."""
    assert server._server is not None
    (served,) = server._server.plane.models
    inputs = [tensor(name, array, "FP32") for name, array in INPUTS.items()]
    with triton.InferenceServerClient(server.address) as client:
        for number in itertools.count():
            if stop.is_set():
                return
            client.infer("numerals", inputs)
            if number % 3 == 0:
                served.statistics.cache_hit.add(1000)
                served.statistics.cache_miss.add(2000)
            try:
                client.infer("numerals", inputs, timeout=1)
            except triton.InferenceServerException:
                stop.wait(0.01)


@needs_prometheus
def test_every_query_of_the_dashboard_answers(scraper: Scraper) -> None:
    silent = {}
    for title, query in queries().items():
        for name in ("model", "instance"):
            query = query.replace(f"${name}", ".*")
        found = scraper.ask(query.replace("$__rate_interval", "4s"))
        if not found or any(value != value for value in found):  # nan: divided by nothing
            silent[title] = (query, found)
    assert silent == {}


@needs_prometheus
def test_its_variables_have_values(scraper: Scraper) -> None:
    found = {}
    for variable in DASHBOARD["templating"]["list"]:
        asked = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable.get("definition", ""))
        if asked is not None:
            metric, label = asked.groups()
            found[variable["name"]] = scraper.get(f"label/{label}/values?match[]={metric}")
    assert found["model"] == ["numerals"]
    assert len(found["instance"]) == 1


@needs_prometheus
def test_alerts_are_evaluated_and_none_is_of_a_server_that_does_well(scraper: Scraper) -> None:
    def rules() -> list[dict[str, Any]]:
        return [rule for group in scraper.get("rules")["groups"] for rule in group["rules"]]

    scraper.wait_for(lambda: all(rule["health"] != "unknown" for rule in rules()))
    assert {rule["name"]: rule["health"] for rule in rules()} == dict.fromkeys(
        re.findall(r"alert: (\w+)", ALERTS.read_text()), "ok"
    )
    assert not [rule["name"] for rule in rules() if rule["state"] == "firing"]


@needs_prometheus
def test_it_has_the_same_kinds_as_the_catalogue(scraper: Scraper) -> None:
    kinds = {one.name: one.kind for one in CATALOGUE}
    found = scraper.get("metadata")
    assert {name: found[name][0]["type"] for name in kinds} == kinds


@needs_prometheus
@pytest.mark.parametrize(
    ("series", "is_told"),
    [
        (("surplus_deadline_misses_total{model='m'}", "0+2x100"), {"SurplusDeadlinesMissed"}),
        (("surplus_deadline_misses_total{model='m'}", "0x100"), set()),
        (("surplus_model_ready{model='m'}", "0x100"), {"SurplusModelNotReady"}),
        (("surplus_memory_bytes{kind='rest'}", "99x100"), {"SurplusMemoryNearlyFull"}),
        (("surplus_memory_bytes{kind='rest'}", "50x100"), set()),
        (("up{job='surplus'}", "0x100"), {"SurplusDown"}),
    ],
)
def test_alerts_are_raised_for_what_they_say(
    series: tuple[str, str], is_told: set[str], tmp_path: Path
) -> None:
    names = re.findall(r"alert: (\w+)", ALERTS.read_text())
    given = {
        "nv_inference_request_success{model='m'}": "0+100x100",
        "nv_inference_request_failure{model='m'}": "0x100",
        "surplus_memory_limit_bytes": "100x100",
        **dict([series]),
    }
    test = {
        "interval": "10s",
        "input_series": [{"series": name, "values": values} for name, values in given.items()],
        "promql_expr_test": [
            {
                "expr": f"count(ALERTS{{alertname='{name}', alertstate='firing'}}) or vector(0)",
                "eval_time": "15m",
                "exp_samples": [{"labels": "{}", "value": int(name in is_told)}],
            }
            for name in names
        ],
    }
    file = tmp_path / "test.yml"  # JSON is YAML
    file.write_text(json.dumps({"rule_files": [str(ALERTS)], "tests": [test]}))
    done = subprocess.run(
        [PROMTOOL or "", "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dashboard_and_the_alerts_name_only_metrics_that_there_are() -> None:
    texts = [*queries().values(), *re.findall(r"expr: [^:]*", ALERTS.read_text())]
    named = {name for text in texts for name in re.findall(r"\b(?:nv|surplus|process)_\w+", text)}
    parts = {f"{one.name}_{part}" for one in HISTOGRAMS for part in ("bucket", "sum", "count")}
    assert named <= NAMES | parts


def test_the_dashboard_shows_every_metric_of_ours() -> None:
    text = " ".join(queries().values())
    unseen = {one.name for one in CATALOGUE if one.name not in text}
    assert unseen == {"surplus_build_info"}  # of which come the servers to choose from
