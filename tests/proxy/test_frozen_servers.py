"""Servers that answer no more though their connections stand: queries do not wait for them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from bench.infrastructure.ports import free_port
from tests.isolation.served import WAIT_S, Serving, serving, until, write_model
from tests.proxy.fake_rest_server import RestRequest, RestResponse, fake_rest_server
from tests.proxy.routed import counted, frozen, rest_words, routed

X = np.arange(4, dtype=np.float32)
UNHEARD_S = 2.0

Ask = Callable[[Serving], str]
"""Asks once, without a deadline; what is wrong, if anything."""


def by_grpc(route: Serving) -> str:
    tensor = triton.InferInput("x", [4], "FP32")
    tensor.set_data_from_numpy(X)
    with route.client() as client:
        try:
            assert (client.infer("neg", [tensor]).as_numpy("y") == -X).all()
        except InferenceServerException as error:
            return str(error)
    return ""


def by_rest(route: Serving) -> str:
    asked = {"name": "x", "datatype": "FP32", "shape": [4], "data": X.tolist()}
    connection = HTTPConnection(route.http_address, timeout=WAIT_S)
    try:
        connection.request("POST", "/v2/models/neg/infer", json.dumps({"inputs": [asked]}))
        answer = connection.getresponse()
        said = json.loads(answer.read())
    finally:
        connection.close()
    if answer.status != 200:
        return f"{answer.status} {said['error']}"
    assert said["outputs"][0]["data"] == (-X).tolist()
    return ""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frozen")
    write_model(folder, "neg")
    return folder


@contextmanager
def routed_to(*servers: Serving) -> Iterator[Serving]:
    with routed(*rest_words(servers), "--unheard", str(UNHEARD_S)) as route:
        yield route


@pytest.mark.parametrize("ask", [by_grpc, by_rest])
def test_queries_are_answered_by_another_server_and_the_frozen_one_is_asked_when_it_is_back(
    repository: Path, ask: Ask
) -> None:
    with (
        serving(repository, free_port()) as one,
        serving(repository, free_port()) as other,
        routed_to(one, other) as route,
        ThreadPoolExecutor(8) as pool,
    ):
        for _ in range(20):
            assert ask(route) == ""

        def answered() -> float:
            return counted(route, "surplus_replica_queries_total")[one.address, "answered"]

        def is_ejected() -> bool:
            assert list(pool.map(lambda _: ask(route), range(8))) == [""] * 8
            return counted(route, "surplus_replica_ejections_total")[one.address, ""] > 0

        with frozen(one.process):
            until(is_ejected)
            # Then nobody has to wait for it any more, though it is tried again and again.
            begin_s = time.monotonic()
            for _ in range(20):
                assert ask(route) == ""
            assert time.monotonic() - begin_s < 20 * UNHEARD_S
        before = answered()
        until(lambda: ask(route) == "" and answered() > before)


@pytest.mark.parametrize("ask", [by_grpc, by_rest])
def test_where_there_is_no_other_server_it_is_said(repository: Path, ask: Ask) -> None:
    with serving(repository, free_port()) as one, routed_to(one) as route:
        assert ask(route) == ""
        with frozen(one.process):
            assert f"{one.address}: nothing was heard of it for" in ask(route)
            assert f"{one.address} cannot be reached" in ask(route)
            with route.client() as client:
                until(lambda: not client.is_server_ready())
        until(lambda: ask(route) == "")


def test_a_server_that_takes_its_time_is_waited_for(repository: Path) -> None:
    """Nothing is heard of the query, but the server lives."""

    def take_time(request: RestRequest) -> RestResponse:
        threading.Event().wait(1.5 * UNHEARD_S)
        return RestResponse(body=json.dumps({"outputs": [{"data": (-X).tolist()}]}).encode())

    with (
        serving(repository, free_port()) as one,
        fake_rest_server() as fake,
        routed(f"{one.address}+{fake.port}", "--unheard", str(UNHEARD_S)) as route,
    ):
        fake.answer = take_time
        assert by_rest(route) == ""
        assert counted(route, "surplus_replica_ejections_total")[one.address, ""] == 0
