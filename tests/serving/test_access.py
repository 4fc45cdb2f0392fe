"""Who may do what, asked from outside: every call and path, both front ends, TLS and none."""

from __future__ import annotations

import hashlib
import http.client
import itertools
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import grpc
import numpy as np
import pytest
import trustme
from tritonclient.grpc import service_pb2

from surplus.engine.serving.http_face import HttpFace
from surplus.engine.serving.messages import HEALTH, SERVICE, descriptor_pool, services
from surplus.engine.serving.rights import CALLS, PATHS, Right, api_of_path
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from tests.serving import tls
from tests.serving.fakes import WAIT_S, ServerThread, identity
from tests.serving.test_readiness import until

UNKNOWN = grpc.StatusCode.UNAUTHENTICATED
FORBIDDEN = grpc.StatusCode.PERMISSION_DENIED
TURNED_AWAY = (UNKNOWN, FORBIDDEN)
RPCS = [
    (f"/{service}/{method.name}", CALLS[service][method.name].right)
    for service in services()
    for method in descriptor_pool().FindServiceByName(service).methods
]
ROUTES = [(key, api.right) for key, api in PATHS.items()]


def secret_of(name: str) -> str:
    return f"{name}-secret-of-the-tests"


def entry(name: str, *rights: str, more: str = "") -> str:
    digest = hashlib.sha256(secret_of(name).encode()).hexdigest()
    return (
        f'[[token]]\nname = "{name}"\nsha256 = "{digest}"\nrights = {[*map(str, rights)]}\n{more}\n'
    )


def tokens_text() -> str:
    each = [entry(right, right) for right in Right]
    others = [entry(f"no-{right}", *(one for one in Right if one is not right)) for right in Right]
    return "\n".join(
        [
            *each,
            *others,
            entry("expired", *Right, more="expires = 2001-01-01T00:00:00Z"),
            entry("one-model", *Right, more='models = ["identity"]'),
            '[[certificate]]\nname = "shop"\nrights = ["infer"]\n',
        ]
    )


@dataclass
class Guarded:
    """A server with tokens, and how its clients reach it."""

    thread: ServerThread
    tokens: Path
    server_identity: tls.Identity | None = None
    shown: tls.Identity | None = None

    def channel(self) -> grpc.Channel:
        if self.server_identity is None:
            return grpc.insecure_channel(self.thread.url)
        pair = (None, None)
        if self.shown is not None:
            pair = (self.shown.key.read_bytes(), self.shown.certificate.read_bytes())
        credentials = grpc.ssl_channel_credentials(self.server_identity.ca.read_bytes(), *pair)
        return grpc.secure_channel(self.thread.url, credentials)

    def status_of_call(self, path: str, token: str | None, message: bytes = b"") -> grpc.StatusCode:
        """Of a call with one message: its status, OK if an answer came."""
        with self.channel() as channel:
            return status_of_call(channel, path, token, message)

    def connection(self) -> http.client.HTTPConnection:
        host, port = self.thread.http_url.split(":")
        if self.server_identity is None:
            return http.client.HTTPConnection(host, int(port), timeout=WAIT_S)
        context = ssl.create_default_context(cafile=str(self.server_identity.ca))
        if self.shown is not None:
            context.load_cert_chain(self.shown.certificate, self.shown.key)
        return http.client.HTTPSConnection(host, int(port), context=context, timeout=WAIT_S)

    def answer(
        self, route: str, token: str | None, body: bytes | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, head and body of a request."""
        method, _, path = route.partition(" ")
        path = path.replace("{name}", "identity").replace("{version}", "1")
        headers = {} if token is None else {"Authorization": f"Bearer {secret_of(token)}"}
        connection = self.connection()
        try:
            sent = body if body is not None else b"{}" if method == "POST" else None
            connection.request(method, path, sent, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()


def status_of_call(
    channel: grpc.Channel, path: str, token: str | None, message: bytes = b""
) -> grpc.StatusCode:
    metadata = [] if token is None else [("authorization", f"Bearer {secret_of(token)}")]
    call = channel.stream_stream(path)(iter([message]), metadata=metadata, timeout=WAIT_S)
    try:
        next(call)
    except StopIteration:
        return call.code()
    except grpc.RpcError as error:
        return error.code()
    call.cancel()  # a watch goes on for ever
    return grpc.StatusCode.OK


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("access")


TRANSPORTS = ("plain", "tls", "mutual")


@pytest.fixture(
    scope="module",
    params=itertools.product((FrontEnd.NATIVE, FrontEnd.PYTHON), TRANSPORTS),
    ids=lambda pair: "-".join(pair),
)
def guarded(request: pytest.FixtureRequest, folder: Path) -> Iterator[Guarded]:
    front_end, transport = request.param
    tokens = folder / f"{front_end}-{transport}.toml"
    tokens.write_text(tokens_text())
    params = ServerParams(
        grpc_port=0,
        http_port=0,
        front_end=front_end,
        tokens=str(tokens),
        open_rights=(),
    )
    made = shown = None
    if transport != "plain":
        made = tls.identity(folder, f"server-{front_end}-{transport}")
        params = replace(params, tls_cert=str(made.certificate), tls_key=str(made.key))
    if transport == "mutual":
        shown = tls.identity(folder, f"client-{front_end}", name="nobody")
        params = replace(params, tls_client_ca=str(shown.ca))
    thread = ServerThread(params)
    thread.serve("identity", identity())
    yield Guarded(thread, tokens, made, shown)
    thread.stop()


def test_every_call_has_a_right() -> None:
    described = {
        (service, method.name)
        for service in services()
        for method in descriptor_pool().FindServiceByName(service).methods
    }
    assert {(service, name) for service, rows in CALLS.items() for name in rows} == described


def test_every_path_has_a_right(guarded) -> None:
    face = HttpFace(guarded.thread.server.plane, None, 1)  # refuses a path without one
    served = {f"{method} {path.replace('/versions/{version}', '')}" for method, path in face.paths}
    assert served == set(PATHS)
    with pytest.raises(LookupError, match="GET /v2/new"):
        api_of_path("GET", "/v2/new")


def test_loading_is_an_administrators() -> None:
    loads = [right for path, right in RPCS if "ModelLoad" in path or "ModelUnload" in path]
    loads += [right for route, right in ROUTES if route.endswith(("/load", "/unload"))]
    assert loads == [Right.REPOSITORY] * 4


@pytest.mark.parametrize(("path", "right"), RPCS, ids=[path for path, _ in RPCS])
def test_calls(guarded, path: str, right: Right) -> None:
    with guarded.channel() as channel:

        def status(token: str | None) -> grpc.StatusCode:
            return status_of_call(channel, path, token)

        assert status(None) is UNKNOWN
        assert status("of nobody") is UNKNOWN
        assert status("expired") is UNKNOWN
        assert status(f"no-{right}") is FORBIDDEN
        assert status(right) not in TURNED_AWAY


@pytest.mark.parametrize(("route", "right"), ROUTES, ids=[route for route, _ in ROUTES])
def test_paths(guarded, route: str, right: Right) -> None:
    for token in (None, "of nobody", "expired"):
        status, headers, body = guarded.answer(route, token)
        assert (status, headers.get("WWW-Authenticate")) == (401, "Bearer")
        assert "token" in json.loads(body)["error"]
    status, _, body = guarded.answer(route, f"no-{right}")
    assert (status, json.loads(body)["error"]) == (
        403,
        f"'no-{right}' has no right '{right}'",
    )
    assert guarded.answer(route, right)[0] not in (401, 403)


def infer_message(model: str) -> bytes:
    request = service_pb2.ModelInferRequest(model_name=model)
    request.inputs.add(name="x", datatype="FP32", shape=[2])
    request.raw_input_contents.append(np.float32([1, 2]).tobytes())
    return request.SerializeToString()


def test_a_token_for_one_model(guarded) -> None:
    def status(method: str, message: bytes) -> grpc.StatusCode:
        return guarded.status_of_call(f"/{SERVICE}/{method}", "one-model", message)

    guarded.thread.serve("other", identity())
    assert status("ModelInfer", infer_message("identity")) is grpc.StatusCode.OK
    assert status("ModelInfer", infer_message("other")) is FORBIDDEN
    mine = service_pb2.ModelStatisticsRequest(name="identity").SerializeToString()
    assert status("ModelStatistics", mine) is grpc.StatusCode.OK
    for method in ("ModelStatistics", "RepositoryIndex", "LogSettings"):  # they tell of all
        assert status(method, b"") is FORBIDDEN
    document = json.dumps(
        {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]}
    ).encode()
    assert guarded.answer("POST /v2/models/identity/infer", "one-model", document)[0] == 200
    assert guarded.answer("POST /v2/models/other/infer", "one-model", document)[0] == 403
    assert guarded.answer("GET /v2/models/stats", "one-model")[0] == 403


def test_a_stream_asks_of_each_query(guarded) -> None:
    guarded.thread.serve("another", identity())
    metadata = [("authorization", f"Bearer {secret_of('one-model')}")]
    sent = [infer_message(name) for name in ("identity", "another", "identity")]
    with guarded.channel() as channel:
        call = channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")(
            iter(sent), metadata=metadata, timeout=WAIT_S
        )
        answers = [service_pb2.ModelStreamInferResponse.FromString(data) for data in call]
    said = [answer.error_message for answer in answers]
    assert said == ["", "'one-model' has no right 'infer' to this model", ""]


def test_what_is_no_bearer_is_no_token(guarded) -> None:
    said = ("Basic abc", "Bearer", "Bearer ", secret_of("infer"), "Bearer " + "x" * 5000)
    for text in said:
        connection = guarded.connection()
        connection.request("GET", "/v2", headers={"Authorization": text})
        assert connection.getresponse().status == 401
        connection.close()
    connection = guarded.connection()
    connection.request("GET", "/v2", headers={"Authorization": f"bEARER {secret_of('metadata')}"})
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.parametrize("front_end", [FrontEnd.NATIVE, FrontEnd.PYTHON])
def test_what_is_revoked_ends_within_a_stream(front_end: FrontEnd, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(entry("a", "infer") + entry("b", "infer"))
    server = ServerThread(
        ServerParams(grpc_port=0, http_port=0, front_end=front_end, tokens=str(tokens))
    )
    server.serve("identity", identity())
    asked = threading.Semaphore(0)

    def queries() -> Iterator[bytes]:
        while asked.acquire(timeout=WAIT_S):
            yield infer_message("identity")

    with grpc.insecure_channel(server.url) as channel:
        call = channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")(
            queries(), metadata=[("authorization", f"Bearer {secret_of('a')}")], timeout=WAIT_S
        )

        def said() -> str:
            asked.release()
            return service_pb2.ModelStreamInferResponse.FromString(next(call)).error_message

        assert said() == ""
        tokens.write_text("[[token]]")  # it is wrong, so that what holds stays
        server.call(server.server.look_at_tokens)
        assert said() == ""
        tokens.write_text(entry("b", "infer"))
        server.call(server.server.look_at_tokens)
        assert said() == "the token is not known"
        tokens.write_text(entry("a", "infer") + entry("b", "infer"))
        until(lambda: said() == "")  # looked at by itself
        call.cancel()
    server.stop()


@pytest.mark.parametrize("front_end", [FrontEnd.NATIVE, FrontEnd.PYTHON])
def test_a_certificates_names_have_rights(front_end: FrontEnd, tmp_path: Path) -> None:
    authority = trustme.CA()
    shown = tls.identity(tmp_path, "shop", authority, name="shop")
    stranger = tls.identity(tmp_path, "stranger", authority, name="shop.evil")
    made = tls.identity(tmp_path, "server")
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(
        '[[certificate]]\nname = "shop"\nrights = ["infer"]\n' + entry("a", "settings")
    )
    server = ServerThread(
        ServerParams(
            grpc_port=0,
            http_port=0,
            front_end=front_end,
            tokens=str(tokens),
            tls_cert=str(made.certificate),
            tls_key=str(made.key),
            tls_client_ca=str(shown.ca),
        )
    )
    server.serve("identity", identity())
    shop, other = (Guarded(server, tokens, made, who) for who in (shown, stranger))
    infer, settings = f"/{SERVICE}/ModelInfer", f"/{SERVICE}/LogSettings"
    message = infer_message("identity")
    assert shop.status_of_call(infer, None, message) is grpc.StatusCode.OK
    assert shop.status_of_call(settings, None) is FORBIDDEN
    assert shop.status_of_call(settings, "a") is grpc.StatusCode.OK
    assert shop.status_of_call(infer, "of nobody", message) is UNKNOWN
    assert other.status_of_call(infer, None, message) is UNKNOWN
    assert shop.answer("POST /v2/models/identity/infer", None)[0] == 400  # no inputs
    assert shop.answer("GET /v2/logging", None)[0] == 403
    assert other.answer("POST /v2/models/identity/infer", None)[0] == 401
    assert other.status_of_call(f"/{HEALTH}/Check", None) is grpc.StatusCode.OK
    server.stop()


@pytest.mark.parametrize("front_end", [FrontEnd.NATIVE, FrontEnd.PYTHON])
def test_other_machines_load_nothing_without_a_token(front_end: FrontEnd) -> None:
    server = ServerThread(
        ServerParams(host="0.0.0.0", grpc_port=0, http_port=0, front_end=front_end)
    )
    server.serve("identity", identity())
    anybody = Guarded(server, Path())
    for method in ("RepositoryModelLoad", "RepositoryModelUnload"):
        assert anybody.status_of_call(f"/{SERVICE}/{method}", None) is FORBIDDEN
        assert anybody.status_of_call(f"/{SERVICE}/{method}", "of nobody") is FORBIDDEN
    for what in ("load", "unload"):
        route = f"POST /v2/repository/models/{{name}}/{what}"
        status, _, body = anybody.answer(route, None)
        assert (status, json.loads(body)["error"]) == (
            403,
            "nobody has the right 'repository' here",
        )
    assert anybody.answer("GET /v2", None)[0] == 200
    server.stop()


@pytest.mark.parametrize("front_end", [FrontEnd.NATIVE, FrontEnd.PYTHON])
def test_the_metrics_port_asks_the_same(front_end: FrontEnd, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(entry("prometheus", "statistics") + entry("shop", "infer"))
    server = ServerThread(
        ServerParams(
            grpc_port=0, http_port=0, metrics_port=0, front_end=front_end, tokens=str(tokens)
        )
    )
    port = server.server.metrics_port

    def status(path: str, token: str | None) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
        headers = {} if token is None else {"Authorization": f"Bearer {secret_of(token)}"}
        connection.request("GET", path, headers=headers)
        found = connection.getresponse().status
        connection.close()
        return found

    assert [status("/metrics", who) for who in (None, "shop", "prometheus")] == [401, 403, 200]
    assert [status("/v2/surplus/server", who) for who in (None, "prometheus")] == [401, 200]
    assert status("/status", None) == 200  # it says nothing by itself
    tokens.write_text(entry("shop", "infer"))
    server.call(server.server.look_at_tokens)
    assert status("/metrics", "prometheus") == 401
    server.stop()


def test_who_is_not_known_sends_no_body(guarded) -> None:
    """It is turned away by the head of the request, whatever it says that follows."""
    connection = guarded.connection()
    connection.putrequest("POST", "/v2/models/identity/infer")
    connection.putheader("Content-Length", str(32 << 20))
    connection.endheaders()
    assert connection.getresponse().status == 401
    with suppress(OSError):
        connection.close()
