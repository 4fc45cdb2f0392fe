"""``engine route`` before real servers, of which some are killed, drained and started again."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException

from bench.infrastructure.ports import free_port
from tests.isolation.served import WAIT_S, Serving, serving, until, write_model
from tests.proxy.routed import COMMAND, counted, frozen, get, routed

X = np.arange(4, dtype=np.float32)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proxy")
    write_model(folder, "neg")
    return folder


@pytest.fixture(scope="module")
def pair(repository: Path) -> Iterator[list[Serving]]:
    with ExitStack() as stack:
        yield [stack.enter_context(serving(repository, free_port())) for _ in range(2)]


@pytest.fixture(scope="module")
def route(pair: list[Serving]) -> Iterator[Serving]:
    with routed(*(one.address for one in pair)) as process:
        yield process


def given(x: np.ndarray, module=triton):
    tensor = module.InferInput("x", list(x.shape), "FP32")
    tensor.set_data_from_numpy(x)
    return [tensor]


def asks(client: triton.InferenceServerClient, x: np.ndarray = X, **options: object) -> bool:
    return bool((client.infer("neg", given(x), **options).as_numpy("y") == -x).all())


class Load:
    """Some users that ask one after the other until the end of the block."""

    def __init__(self, route: Serving, users: int = 4) -> None:
        self.answered = [0]
        self._route = route
        self._ended = threading.Event()
        self._pool = ThreadPoolExecutor(users)
        self._users = [self._pool.submit(self._ask) for _ in range(users)]

    def _ask(self) -> None:
        with self._route.client() as client:
            while not self._ended.is_set():
                assert asks(client, X + len(self.answered))
                self.answered.append(1)

    def more(self, queries: int) -> None:
        """Wait until that many more were answered, each as it should be."""
        wanted = len(self.answered) + queries
        until(lambda: len(self.answered) >= wanted or any(user.done() for user in self._users))
        self._check()

    def _check(self) -> None:
        for user in self._users:
            if user.done():
                user.result()

    def __enter__(self) -> Load:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._pool.shutdown()
        self._check()


def test_queries_of_every_protocol_are_answered(pair: list[Serving], route: Serving) -> None:
    with route.client() as client:
        for _ in range(20):
            assert asks(client)
        assert client.is_server_ready()
        assert client.is_model_ready("neg")
        assert client.get_model_metadata("neg").inputs[0].name == "x"
        assert client.get_model_config("neg").config.name == "neg"
    with triton_http.InferenceServerClient(route.http_address) as client:
        for binary in (True, False):
            tensor = triton_http.InferInput("x", [4], "FP32")
            tensor.set_data_from_numpy(X, binary_data=binary)
            wanted = [triton_http.InferRequestedOutput("y", binary_data=binary)]
            answer = client.infer("neg", [tensor], outputs=wanted).as_numpy("y")
            assert (answer == -X).all()
    sent = counted(route, "surplus_replica_queries_total")
    assert sum(value for (_, outcome), value in sent.items() if outcome == "answered") >= 22
    assert {address for address, _ in sent} == {one.address for one in pair}


def test_streams_are_answered_in_their_order(route: Serving) -> None:
    answers: list[np.ndarray] = []
    done = threading.Semaphore(0)

    def hear(result, error) -> None:
        answers.append(error or result.as_numpy("y"))
        done.release()

    with route.client() as client:
        client.start_stream(hear)
        for number in range(30):
            client.async_stream_infer("neg", given(X + number))
        for _ in range(30):
            assert done.acquire(timeout=WAIT_S)
    assert [float(answer[0]) for answer in answers] == [-number for number in range(30)]


def test_large_queries_pass_whole(route: Serving) -> None:
    x = np.arange(3_000_000, dtype=np.float32)
    with route.client() as client:
        assert asks(client, x)


def test_what_is_wrong_is_said_as_the_servers_say_it(pair: list[Serving], route: Serving) -> None:
    wrong = triton.InferInput("z", [4], "FP32")
    wrong.set_data_from_numpy(X)

    def said(address: str) -> list[str]:
        found = []
        with triton.InferenceServerClient(address) as client:
            for model, inputs in (("neg", [wrong]), ("nobody", given(X))):
                with pytest.raises(InferenceServerException) as error:
                    client.infer(model, inputs)
                found.append(str(error.value))
        return found

    assert said(route.address) == said(pair[0].address)


def test_a_query_that_is_due_is_given_up(repository: Path) -> None:
    with (
        serving(repository, free_port()) as one,
        routed(one.address) as route,
        route.client() as client,
    ):
        assert asks(client)
        with frozen(one.process):
            for _ in range(3):
                with pytest.raises(InferenceServerException, match="DEADLINE_EXCEEDED"):
                    asks(client, client_timeout=0.2)
        until(lambda: _is_answered(client))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_ends_under_load_costs_no_query_and_is_back_when_it_is(
    repository: Path, number: signal.Signals
) -> None:
    port = free_port()
    with (
        serving(repository, free_port()) as other,
        ExitStack() as again,
        serving(repository, port) as one,
        routed(one.address, other.address) as route,
        Load(route) as load,
    ):
        load.more(100)
        one.process.send_signal(number)
        one.process.wait()
        load.more(100)

        def answered() -> float:
            found = counted(route, "surplus_replica_queries_total")
            return found[one.address, "answered"]

        before = answered()
        again.enter_context(serving(repository, port))
        until(lambda: answered() > before + 20)
        found = counted(route, "surplus_replica_queries_total")
        total = {
            outcome: sum(value for (_, of), value in found.items() if of == outcome)
            for outcome in ("failed", "retried")
        }
        assert total["failed"] == total["retried"]
        if number is signal.SIGKILL:
            assert counted(route, "surplus_replica_ejections_total")[one.address, ""] >= 1


def test_where_no_server_is_left_the_route_is_not_ready_until_one_is_back(
    repository: Path,
) -> None:
    port = free_port()
    with ExitStack() as stack:
        one = stack.enter_context(serving(repository, port))
        route = stack.enter_context(routed(one.address))
        client = stack.enter_context(route.client())
        assert asks(client)
        one.process.kill()
        one.process.wait()
        until(lambda: not client.is_server_ready())
        assert client.is_server_live()
        with pytest.raises(InferenceServerException, match=r"reached|refused|closed|broken"):
            asks(client)
        stack.enter_context(serving(repository, port))
        until(lambda: client.is_server_ready())
        assert asks(client)


def test_models_that_come_later_are_routed(repository: Path, tmp_path: Path) -> None:
    write_model(tmp_path, "abs", "Abs")
    port = free_port()
    with (
        serving(repository, free_port()) as one,
        routed(one.address, f"127.0.0.1:{port}", "--look", "0.1") as route,
        route.client() as client,
        serving(tmp_path, port),
    ):
        until(lambda: client.is_model_ready("abs"))
        answer = client.infer("abs", given(-X)).as_numpy("y")
        assert (answer == X).all()
        assert asks(client)


class Resolver(BaseHTTPRequestHandler):
    replicas: tuple[str, ...] = ()
    asked: ClassVar[Counter[str]] = Counter()
    wakes: ClassVar[threading.Event] = threading.Event()

    def do_GET(self) -> None:
        rows = [{"grpc": address, "http": "", "load": 0} for address in self.replicas]
        model = self.path.rpartition("/")[2]
        self.asked[model] += 1
        if model == "sleeper":
            self.wakes.wait(WAIT_S)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"model": model, "replicas": rows}).encode())

    def log_message(self, *_: object) -> None:
        pass


def test_a_resolver_says_who_has_a_model(pair: list[Serving]) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Resolver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            Resolver.replicas = (pair[0].address,)
            url = f"http://127.0.0.1:{server.server_port}"
            with (
                routed("--resolver", url, "--model", "neg", "--look", "0.1") as route,
                route.client() as client,
            ):
                assert asks(client)
                Resolver.replicas = (pair[1].address,)
                until(lambda: _is_asked(route, client, pair[1].address))
        finally:
            server.shutdown()
            thread.join()


def test_a_model_that_is_waited_for_holds_up_no_other(pair: list[Serving]) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Resolver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            Resolver.replicas = (pair[0].address,)
            Resolver.wakes.set()
            url = f"http://127.0.0.1:{server.server_port}"
            models = ("--model", "sleeper", "--model", "neg", "--look", "0.1")
            with routed("--resolver", url, *models) as route, route.client() as client:
                assert asks(client)
                Resolver.wakes.clear()
                Resolver.asked.clear()
                until(lambda: Resolver.asked["neg"] > Resolver.asked["sleeper"] + 3)
        finally:
            Resolver.wakes.set()
            server.shutdown()
            thread.join()


def _is_asked(route: Serving, client: triton.InferenceServerClient, address: str) -> bool:
    assert asks(client)
    found = counted(route, "surplus_replica_queries_total")
    return found.get((address, "answered"), 0.0) > 0


def _is_answered(client: triton.InferenceServerClient) -> bool:
    try:
        return asks(client, client_timeout=1.0)
    except InferenceServerException:
        return False


def test_it_ends_when_it_is_told_to(pair: list[Serving]) -> None:
    with routed(pair[0].address) as route:
        with route.client() as client:
            assert asks(client)
        route.process.send_signal(signal.SIGTERM)
        assert route.process.wait(WAIT_S) == 0


def test_the_status_page_and_readiness_over_rest_are_its_own(route: Serving) -> None:
    assert json.loads(get(route, "/v2/health/ready")) == {"ready": True}
    assert "neg" in get(route, "/metrics")
    with pytest.raises(urllib.error.HTTPError):
        get(route, "/v2/models/nobody/ready")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "servers are given, or a resolver"),
        (("a:1", "--resolver", "http://r:1"), "one of both"),
        (("--resolver", "http://r:1"), "names of models"),
        (("--resolver", "r:1", "--model", "m"), "does not begin with http://"),
        (("nowhere",), "'nowhere' is not host:port"),
        (("127.0.0.1:9", "--wait", "3"), "nothing to route: 127.0.0.1:9: UNAVAILABLE"),
        (("127.0.0.1:9", "--front-end", "python"), "--front-end python: queries are routed by"),
        (("127.0.0.1:9", "--shared-memory"), "--shared-memory: queries are routed by"),
        (("127.0.0.1:9", "--look", "0"), "look_s must be above 0"),
        (("127.0.0.1:9", "--eject", "0"), "eject_s must be > 0"),
        (("127.0.0.1:9", "--unheard", "0"), "unheard_s must be at least 0.1"),
        (("127.0.0.1:9+http",), "'127.0.0.1:9+http' is not host:port+port"),
        (("127.0.0.1:9", "--servers-tls-key", "k"), "need --servers-tls-ca"),
        (("127.0.0.1:9", "--servers-tls-ca", "no-ca.pem"), "authorities 'no-ca.pem'"),
    ],
)
def test_what_makes_no_sense_is_said(words: tuple[str, ...], said: str) -> None:
    command = [*COMMAND, *words, "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") <= 2
