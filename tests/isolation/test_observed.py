"""What is seen of a server whose models are in processes of their own."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.isolation.served import WAIT_S, Serving, ask, kill, served, until, write_model


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("repository")
    for name in ("negated", "rooted"):
        write_model(folder, name, {"negated": "Neg", "rooted": "Sqrt"}[name])
    options = "--isolate", "--metrics-port", "0", "--log-format", "json", "--log-queries"
    with served(folder, *options, "--sample-every", "1") as server:
        yield server


def got(serving: Serving, path: str) -> str:
    with urlopen(f"http://{serving.http_address}{path}", timeout=WAIT_S) as answer:
        text: str = answer.read().decode()
    return text


def value(serving: Serving, name: str, **labels: str) -> float:
    """The sum of the samples that have these labels."""
    return sum(
        sample.value
        for family in text_string_to_metric_families(got(serving, "/metrics"))
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def test_queries_of_processes_are_counted_by_the_server(serving: Serving) -> None:
    with serving.client() as client:
        for _ in range(5):
            ask(client, "negated", 1, 2)
    told = {"model": "negated", "version": "1"}
    assert value(serving, "surplus_request_duration_seconds_count", **told) == 5
    assert value(serving, "surplus_worker_resident_bytes", worker="negated") > 1e6
    until(lambda: value(serving, "surplus_lane_busy_seconds_total", process="negated") > 0)
    found = json.loads(got(serving, "/v2/surplus/server"))
    assert {one["name"]: one["starts"] for one in found["workers"]}["negated"] == 1
    assert found["models"][0]["answered"] == 5


def test_counts_go_on_in_the_next_process(serving: Serving) -> None:
    with serving.client() as client:
        ask(client, "rooted", 4)
        before = value(serving, "surplus_request_duration_seconds_count", model="rooted")
        kill(serving.process_of("rooted"), signal.SIGKILL)
        until(lambda: value(serving, "surplus_worker_starts_total", worker="rooted") == 2)
        until(lambda: value(serving, "surplus_model_ready", model="rooted") == 1)
        ask(client, "rooted", 4)
    after = value(serving, "surplus_request_duration_seconds_count", model="rooted")
    assert after == before + 1


def test_a_query_is_drawn_without_what_its_process_ran(serving: Serving) -> None:
    with serving.client() as client:
        ask(client, "negated", 3)
    trace = json.loads(got(serving, "/v2/surplus/trace?model=negated"))
    assert "another process" in trace["otherData"]["run"]
    assert "execute" in {event["name"] for event in trace["traceEvents"]}


def test_all_of_the_log_is_json(serving: Serving) -> None:
    with serving.client() as client:
        ask(client, "negated", 3)
    serving.wait_for(r'"model": "negated".*"took_ms": |"took_ms": .*"model": "negated"')
    addresses = "serving", "query", "HTTP", "metrics"  # which are said on standard output
    lines = [one for one in serving.said.splitlines() if not one.startswith(addresses)]
    found = [json.loads(line) for line in lines]
    assert any(line["message"].startswith("negated: in process") for line in found)
    assert any(line.get("model") == "negated" and line["outcome"] == "ok" for line in found)
