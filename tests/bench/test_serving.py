"""What bench serving makes of turns, and that its own server and the limit answer."""

from __future__ import annotations

import json
import socket
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from bench.core.submit import above_ns
from bench.infrastructure.ports import free_port
from bench.infrastructure.timing import Times
from bench.serving import contenders
from bench.serving.__main__ import _chosen, row
from bench.serving.contenders import CONTENDERS, left_out
from bench.serving.grpc_aio import start_grpc_aio
from bench.serving.idle_connections import idle_connections, idle_row, idle_rows
from bench.serving.loads import LOADS, Asking, Turn, target_of
from bench.serving.payloads import Payload, floats_16
from bench.serving.peer_servers import environment, json_request, peer_missing
from bench.serving.server_process import ServerProcess
from bench.serving.surplus_server import start_surplus
from bench.serving.triton_server import triton_options
from surplus.loadgen.address import HostPort
from surplus.loadgen.clients.tensors import from_array
from surplus.loadgen.native import http2_missing

needs_native = pytest.mark.skipif(http2_missing() is not None, reason=str(http2_missing()))
ONE = Asking("floats_16", "grpc", 1)


def turn(per_s: float, busy: float = 0.5, **errors: int) -> Turn:
    return Turn(per_s, 2_000_000, 3_000_000, 100_000.0, busy, errors)


def test_a_row_has_medians_and_all_errors(capsys: pytest.CaptureFixture[str]) -> None:
    found = row(ONE, "s", 50_000_000, [turn(1, A=1), turn(9, A=2, B=1), turn(2)])
    assert (found["server"], found["queries/s"], found["p50 ms"]) == ("s", 2, 2.0)
    assert found["server CPU ms a query"] == 0.1
    assert found["memory at rest MB"] == 50.0
    assert found["errors"] == "A 3, B 1"
    assert found["client busy"] == "0.50"
    assert row(ONE, "s", 0, [turn(1, busy=0.95)])["client busy"] == "0.95 (a limit)"


def test_loads_are_chosen_by_parts_of_names() -> None:
    known = {"a/grpc": 1, "b/grpc": 2, "b/http": 3}
    assert _chosen(known, "") == list(known)
    assert _chosen(known, "a,http") == ["a/grpc", "b/http"]
    with pytest.raises(SystemExit, match="none of a/grpc, b/grpc, b/http is like 'z'"):
        _chosen(known, "z")


def test_every_load_is_of_a_payload_with_bytes() -> None:
    assert len(set(LOADS)) == len(LOADS)
    payload = floats_16()
    assert payload.outputs == {"y": 2}
    for protocol in ("grpc", "http"):
        with target_of(HostPort("h", 1), Asking("floats_16", protocol, 1), payload) as target:
            assert payload.inputs["x"].tobytes() in target.requests[0]
            assert bool(target.headers) == (protocol == "grpc")


def test_who_cannot_run_here_is_left_out_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = CONTENDERS["grpc.aio"]._replace(missing=lambda: "no such thing")
    monkeypatch.setattr(contenders, "CONTENDERS", {"a": CONTENDERS["in process"], "b": gone})
    assert left_out() == {"b": "no such thing"}


def test_triton_is_for_this_machine_alone() -> None:
    payload = Payload("m", Path("m.onnx"), {})
    found = triton_options(Path("/f"), {"grpc": 1, "http": 2}, {"m": payload})
    assert {"--grpc-address=127.0.0.1", "--http-address=127.0.0.1", "--load-model=m"} <= set(found)
    assert {"--grpc-port=1", "--http-port=2"} <= set(found)


def test_what_a_query_costs_beside_its_plan_is_taken_within_rounds() -> None:
    plan = Times(((100, 100), (10, 10), (10, 10)))
    assert above_ns(Times(((105, 105), (13, 13), (14, 14))), plan) == 4


def test_peers_are_looked_for_in_their_environment(tmp_path: Path) -> None:
    missing = peer_missing("kserve", tmp_path)
    assert missing() == f"no kserve in {tmp_path} (`make peers` fetches it)"
    package = tmp_path / "lib/python3.11/site-packages/kserve/__init__.py"
    package.parent.mkdir(parents=True)
    package.touch()
    assert missing() is None


def test_peers_are_kept_from_our_packages() -> None:
    found = environment({"PATH": "/bin", "PYTHONPATH": "/ours", "PYTHONHOME": "/x", "HOME": "/h"})
    assert found["PATH"].endswith("/peers/bin:/bin")
    assert Path(found["PYTHONPATH"]).joinpath("session.py").exists()
    assert found.keys() == {"PATH", "PYTHONPATH", "HOME"}


def test_who_takes_no_bytes_gets_numbers() -> None:
    tensor = from_array("x", np.array([[1, 2.5]], np.float32))
    head, _, body = json_request(HostPort("h", 1), "m", "", [tensor]).partition(b"\r\n\r\n")
    row = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1.0, 2.5]}
    assert json.loads(body) == {"inputs": [row]}
    assert f"Content-Length: {len(body)}".encode() in head.splitlines()


@needs_native
@pytest.mark.parametrize("start", [start_surplus, start_grpc_aio, CONTENDERS["in process"].start])
def test_a_contender_answers_and_says_what_it_costs(start: object, tmp_path: Path) -> None:
    server = start(tmp_path, {"floats_16": floats_16()})  # type: ignore[operator]
    try:
        assert server.takes(ONE)
        assert not server.takes(Asking("floats_16", "smoke", 1))
        found = server.turn(Asking("floats_16", "grpc", 4), 0.2)
    finally:
        server.end()
    assert found.per_s > 0
    assert found.errors == {}
    assert 0 < found.p50_ns <= found.p99_ns
    assert server.at_rest_bytes > 10_000_000


@needs_native
def test_a_server_that_does_not_start_is_said_with_its_last_words(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no licence'); raise SystemExit(3)"]
    payload = Payload("m", Path("m.onnx"), {"x": np.zeros(1, np.float32)})
    with pytest.raises(RuntimeError, match=r"no answer of m over grpc: .*said: no licence"):
        ServerProcess(command, {"grpc": free_port()}, {"m": payload}, tmp_path / "log")


@needs_native
def test_idle_connections_are_open_and_cost_next_to_nothing(tmp_path: Path) -> None:
    server = start_grpc_aio(tmp_path, {"floats_16": floats_16()})
    try:
        found = idle_row("s", server, connections=20, idle_s=0.2)
        assert idle_rows({"s": object()}) == []
        with idle_connections(server.port("grpc"), 3):
            assert server.turn(ONE, 0.1).errors == {}
    finally:
        server.end()
    assert (found["server"], found["idle connections"]) == ("s", 20)
    assert found["CPU s/s with them"] < 1


def test_connections_to_what_speaks_otherwise_are_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(OSError, match="does not speak HTTP/2"), idle_connections(port, 1):
            pass
        thread.join()
