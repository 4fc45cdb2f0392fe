"""Addresses by model, over HTTP; who asks for a model that sleeps is waited with."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from surplus.engine.deployment.directory import Directory, ListedReplica
from surplus.engine.deployment.resolver import ResolverServer
from surplus.engine.errors import ConfigError
from tests.deployment.waiting import wait_for

REPLICA = ListedReplica("10.0.0.1:8001", "10.0.0.1:8000", 0.5)
NODE = {"node": "a", "kind": "cpu", "metrics": "10.0.0.1:8002"}


@pytest.fixture
def directory() -> Directory:
    made = Directory()
    made.publish({"net": [REPLICA], "idle": []})
    return made


@pytest.fixture
def resolver(directory: Directory) -> Iterator[ResolverServer]:
    made = ResolverServer("127.0.0.1:0", directory, {"idle": 60.0}, lambda: [NODE])
    yield made
    made.close()


def got(resolver: ResolverServer, path: str) -> Any:
    with urlopen(f"http://{resolver.address}{path}", timeout=70) as answer:
        return json.load(answer)


def test_a_model_has_replicas(resolver: ResolverServer) -> None:
    replica = {"grpc": "10.0.0.1:8001", "http": "10.0.0.1:8000", "load": 0.5}
    assert got(resolver, "/v1/models/net") == {"model": "net", "replicas": [replica]}
    names = [row["model"] for row in got(resolver, "/v1/models")["models"]]
    assert names == ["idle", "net"]


def test_nodes_and_what_prometheus_scrapes(resolver: ResolverServer) -> None:
    assert got(resolver, "/v1/nodes") == {"nodes": [NODE]}
    (target,) = got(resolver, "/v1/targets")
    assert target == {"targets": ["10.0.0.1:8002"], "labels": {"node": "a", "kind": "cpu"}}
    assert got(resolver, "/v1/health") == {"live": True}


@pytest.mark.parametrize("path", ["/v1/models/nobody", "/v1/models/", "/v2", "/v1/models/net/x"])
def test_what_there_is_not(resolver: ResolverServer, path: str) -> None:
    with pytest.raises(HTTPError) as error:
        got(resolver, path)
    assert error.value.code == 404
    assert json.load(error.value)["error"]
    error.value.close()


def test_a_sleeper_is_woken_and_waited_for(resolver: ResolverServer, directory: Directory) -> None:
    def wake() -> None:
        assert directory.on_wake.wait(60)
        assert directory.waking() == {"idle"}
        directory.publish({"net": [REPLICA], "idle": [REPLICA]})

    thread = threading.Thread(target=wake)
    thread.start()
    assert len(got(resolver, "/v1/models/idle")["replicas"]) == 1
    thread.join()
    assert directory.waking() == frozenset()


def test_who_hangs_up_while_it_waits_is_no_trouble(
    resolver: ResolverServer, directory: Directory, capfd: pytest.CaptureFixture[str]
) -> None:
    def waiting() -> list[threading.Thread]:
        return [t for t in threading.enumerate() if "process_request_thread" in t.name]

    host, _, port = resolver.address.rpartition(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"GET /v1/models/idle HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_for(waiting, "its thread")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # RST
    directory.publish({"net": [REPLICA], "idle": [REPLICA]})
    wait_for(lambda: not waiting(), "its end")
    assert capfd.readouterr().err == ""


def test_who_waits_for_too_long_is_told_to_come_again(directory: Directory) -> None:
    resolver = ResolverServer("127.0.0.1:0", directory, {"idle": 0.01}, lambda: [])
    try:
        with pytest.raises(HTTPError) as error:
            got(resolver, "/v1/models/idle")
        assert error.value.code == 503
        assert error.value.headers["Retry-After"] == "1"
        error.value.close()
        assert directory.waking() == {"idle"}  # it comes all the same
    finally:
        resolver.close()


def test_two_on_one_port(resolver: ResolverServer, directory: Directory) -> None:
    with pytest.raises(ConfigError, match=f"cannot listen on {resolver.address}: .*in use"):
        ResolverServer(resolver.address, directory, {}, lambda: [])


@pytest.mark.parametrize("address", ["8080", ":8080", "localhost:x", "localhost:70000"])
def test_what_is_no_address(directory: Directory, address: str) -> None:
    with pytest.raises(ConfigError, match="HOST:PORT"):
        ResolverServer(address, directory, {}, lambda: [])
