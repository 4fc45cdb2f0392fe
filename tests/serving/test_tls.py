"""TLS and mutual TLS, over gRPC and HTTP, with both front ends."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import grpc
import numpy as np
import pytest
import tritonclient.http as triton
import trustme
from tritonclient.grpc import service_pb2

from surplus.engine.errors import ConfigError
from surplus.engine.serving import native_front
from surplus.engine.serving.messages import SERVICE
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from surplus.engine.serving.tls_context import server_context
from surplus.engine.serving.tls_files import TlsFiles
from surplus.loadgen.cli import main as loadgen_main
from tests.serving import tls
from tests.serving.fakes import WAIT_S, ServerThread, identity
from tests.serving.test_readiness import until

LIVE = f"/{SERVICE}/ServerLive"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def server_identity(folder: Path) -> tls.Identity:
    return tls.identity(folder, "server")


@pytest.fixture(scope="module")
def clients_ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def client_identity(folder: Path, clients_ca: trustme.CA) -> tls.Identity:
    return tls.identity(folder, "client", clients_ca)


@pytest.fixture(scope="module")
def stranger(folder: Path) -> tls.Identity:
    return tls.identity(folder, "stranger")


def params_of(shown: tls.Identity, front_end: FrontEnd, client_ca: str = "") -> ServerParams:
    return ServerParams(
        grpc_port=0,
        http_port=0,
        front_end=front_end,
        tls_cert=str(shown.certificate),
        tls_key=str(shown.key),
        tls_client_ca=client_ca,
    )


def started(
    shown: tls.Identity, front_end: FrontEnd, client_ca: str = "", **more: float
) -> ServerThread:
    server = ServerThread(replace(params_of(shown, front_end, client_ca), **more))
    server.serve("identity", identity())
    return server


@pytest.fixture(scope="module", params=[FrontEnd.NATIVE, FrontEnd.PYTHON])
def server(request: pytest.FixtureRequest, server_identity: tls.Identity) -> Iterator[ServerThread]:
    server = started(server_identity, request.param)
    yield server
    server.stop()


@pytest.fixture(scope="module", params=[FrontEnd.NATIVE, FrontEnd.PYTHON])
def mutual(
    request: pytest.FixtureRequest, server_identity: tls.Identity, client_identity: tls.Identity
) -> Iterator[ServerThread]:
    server = started(server_identity, request.param, str(client_identity.ca))
    yield server
    server.stop()


def channel_to(
    server: ServerThread, authority: Path, shown: tls.Identity | None = None
) -> grpc.Channel:
    """A gRPC client that trusts an authority, and shows its own certificate if it has one."""
    pair = (
        (None, None) if shown is None else (shown.key.read_bytes(), shown.certificate.read_bytes())
    )
    credentials = grpc.ssl_channel_credentials(authority.read_bytes(), *pair)
    return grpc.secure_channel(server.url, credentials)


def is_live(channel: grpc.Channel) -> bool:
    """Whether the server answers; what gRPC cannot reach, does not."""
    with channel:
        try:
            return bool(channel.unary_unary(LIVE)(b"", timeout=WAIT_S) == b"\x08\x01")
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            return False


def http_status(
    server: ServerThread, authority: Path, shown: tls.Identity | None = None
) -> int | None:
    """Of a health check over HTTP; None where there is no connection."""
    context = ssl.create_default_context(cafile=str(authority))
    if shown is not None:
        context.load_cert_chain(shown.certificate, shown.key)
    host, port = server.http_url.split(":")
    connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=WAIT_S)
    try:
        connection.request("GET", "/v2/health/live")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


@pytest.mark.parametrize("count", [1, 1000, 150_000, 1_000_000])
def test_tensors_of_any_size_come_back(server, server_identity, count: int) -> None:
    x = np.arange(count, dtype=np.float32)
    request = service_pb2.ModelInferRequest(model_name="identity")
    request.inputs.add(name="x", datatype="FP32", shape=[count])
    request.raw_input_contents.append(x.tobytes())
    with channel_to(server, server_identity.ca) as channel:
        infer = channel.unary_unary(f"/{SERVICE}/ModelInfer")
        for _ in range(3):
            data = infer(request.SerializeToString(), timeout=WAIT_S)
            answer = service_pb2.ModelInferResponse.FromString(data)
            assert answer.raw_output_contents[0] == x.tobytes()


def test_calls_at_once_share_a_connection(server, server_identity) -> None:
    with channel_to(server, server_identity.ca) as channel:
        call = channel.unary_unary(LIVE)
        running = [call.future(b"", timeout=WAIT_S) for _ in range(500)]
        assert all(one.result() == b"\x08\x01" for one in running)


def test_one_port_for_all_is_encrypted_too(server_identity) -> None:
    params = replace(params_of(server_identity, FrontEnd.NATIVE), http_port=None, one_port=True)
    server = ServerThread(params)
    try:
        assert is_live(channel_to(server, server_identity.ca))
        assert server.server.http_port == int(server.url.split(":")[1])
        assert http_status(server, server_identity.ca) == 200
    finally:
        server.stop()


@pytest.mark.parametrize("count", [10, 1_000_000])
def test_tensors_of_any_size_come_back_over_http(server, server_identity, count: int) -> None:
    x = np.arange(count, dtype=np.float32)
    asked = triton.InferInput("x", [count], "FP32")
    asked.set_data_from_numpy(x)
    options = {"ca_certs": str(server_identity.ca)}
    with triton.InferenceServerClient(server.http_url, ssl=True, ssl_options=options) as client:
        for _ in range(3):
            assert np.array_equal(client.infer("identity", [asked]).as_numpy("y"), x)


def test_http_is_encrypted_too(server, server_identity) -> None:
    assert http_status(server, server_identity.ca) == 200


def test_who_trusts_another_authority_does_not_connect(server, stranger) -> None:
    assert not is_live(channel_to(server, stranger.ca))
    assert http_status(server, stranger.ca) is None


def test_clients_need_a_certificate_of_the_right_authority(
    mutual, server_identity, client_identity, stranger
) -> None:
    for shown, expected in ((client_identity, True), (None, False), (stranger, False)):
        assert is_live(channel_to(mutual, server_identity.ca, shown)) == expected
        assert http_status(mutual, server_identity.ca, shown) == (200 if expected else None)


def connected(server: ServerThread) -> socket.socket:
    host, port = server.url.split(":")
    return socket.create_connection((host, int(port)), timeout=WAIT_S)


def ends(connection: socket.socket) -> bool:
    """Whether the server closes it, whatever it says before."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


def hello(announced: int, record: int = 16_000) -> bytes:
    """The beginning of a client's first message that announces as many bytes."""
    head = b"\x01" + announced.to_bytes(3, "big")
    return b"\x16\x03\x01" + record.to_bytes(2, "big") + head


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(100),
        bytes(range(256)) * 8,
        hello(100) + b"\xff" * 16_000,
    ],
    ids=["http", "http2", "garbage", "a hello of garbage"],
)
def test_what_is_no_tls_ends_its_connection_only(server, server_identity, said: bytes) -> None:
    with connected(server) as connection:
        connection.sendall(said)
        assert ends(connection)
    assert is_live(channel_to(server, server_identity.ca))


@pytest.fixture
def native(server_identity: tls.Identity) -> Iterator[ServerThread]:
    server = started(server_identity, FrontEnd.NATIVE, max_handshake_s=0.5)
    yield server
    server.stop()


def test_handshakes_that_are_not_finished_end(native, server_identity) -> None:
    """Side by side: each lasts as long as a handshake may."""
    with ExitStack() as opened:
        connections = []
        for said in (b"", b"\x16", hello(100)):
            connections.append(opened.enter_context(connected(native)))
            connections[-1].sendall(said)
        assert all(map(ends, connections))
    until(lambda: is_live(channel_to(native, server_identity.ca)))


def test_a_hello_that_trickles_in_ends(native) -> None:
    stop = threading.Event()
    with connected(native) as connection:

        def trickle() -> None:
            for byte in hello(5000) + bytes(4000):
                if stop.wait(0.05):
                    return
                try:
                    connection.send(bytes([byte]))
                except OSError:
                    return

        trickling = threading.Thread(target=trickle)
        trickling.start()
        assert ends(connection)
        stop.set()
        trickling.join()


@pytest.mark.parametrize("said", [hello(1 << 17), hello(100, record=3)], ids=["huge", "in pieces"])
def test_memory_is_not_taken_for_what_is_announced(native, said: bytes) -> None:
    """It ends at once, not after the time for a handshake: it has not come whole."""
    with connected(native) as connection:
        for byte in said:
            connection.send(bytes([byte]))
        assert ends(connection)


@pytest.mark.parametrize("front_end", [FrontEnd.NATIVE, FrontEnd.PYTHON])
def test_renewed_files_are_shown_to_who_connects_next(tmp_path, front_end) -> None:
    first = tls.identity(tmp_path, "server")
    old_ca = tmp_path / "old.ca"
    old_ca.write_bytes(first.ca.read_bytes())
    server = started(first, front_end)
    try:
        with channel_to(server, old_ca) as stays:
            call = stays.unary_unary(LIVE)
            assert call(b"", timeout=WAIT_S) == b"\x08\x01"
            renewed = tls.identity(tmp_path, "server")
            until(lambda: is_live(channel_to(server, renewed.ca)))
            until(lambda: http_status(server, renewed.ca) == 200)
            assert not is_live(channel_to(server, old_ca))
            assert call(b"", timeout=WAIT_S) == b"\x08\x01"
    finally:
        server.stop()


def test_without_openssl_python_speaks_tls(monkeypatch, caplog, server_identity) -> None:
    def missing() -> str:
        raise RuntimeError("TLS needs OpenSSL 3: libssl.so.3: cannot open shared object file")

    monkeypatch.setattr(native_front._core, "TlsContext", SimpleNamespace(check=missing))
    server = started(server_identity, FrontEnd.AUTO)
    try:
        assert is_live(channel_to(server, server_identity.ca))
    finally:
        server.stop()
    assert "gRPC by Python, which is slower: TLS needs OpenSSL 3" in caplog.text
    with pytest.raises(ConfigError, match="native front end cannot serve: TLS needs OpenSSL 3"):
        asyncio.run(AsyncServer(params_of(server_identity, FrontEnd.NATIVE)).start())


def test_files_that_do_not_fit_each_other_are_not_taken(tmp_path, caplog) -> None:
    shown = tls.identity(tmp_path, "server")
    other = tls.identity(tmp_path, "other")
    server = started(shown, FrontEnd.NATIVE)
    try:
        shown.key.write_bytes(other.key.read_bytes())
        until(lambda: "the certificates stay as they were" in caplog.text)
        assert is_live(channel_to(server, shown.ca))
    finally:
        server.stop()


def refused(tmp_path: Path, change: Callable[[tls.Identity], None]) -> str:
    shown = tls.identity(tmp_path, "server")
    change(shown)
    with pytest.raises(ConfigError) as caught:
        server_context(TlsFiles(str(shown.certificate), str(shown.key), str(shown.ca)))
    return str(caught.value).replace(str(tmp_path), "")


def _encrypt(shown: tls.Identity) -> None:
    shown.key.write_text("-----BEGIN ENCRYPTED PRIVATE KEY-----\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda shown: shown.certificate.unlink(), "--tls-cert /server.pem: No such file"),
        (lambda shown: shown.certificate.write_text("x"), "--tls-cert /server.pem: there is no"),
        (
            lambda shown: shown.certificate.write_text(
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
            ),
            "--tls-cert /server.pem: OpenSSL cannot read it",
        ),
        (lambda shown: shown.key.unlink(), "--tls-key /server.key: No such file"),
        (lambda shown: shown.key.write_text("x"), "--tls-key /server.key: there is no private key"),
        (_encrypt, "--tls-key /server.key: it has a passphrase"),
        (
            lambda shown: shown.key.write_text(
                "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
            ),
            "--tls-key /server.key: OpenSSL cannot read it",
        ),
        (
            lambda shown: tls.identity(shown.key.parent, "other").key.rename(shown.key),
            "--tls-key /server.key: it is not the key of the certificate in /server.pem",
        ),
        (lambda shown: shown.ca.write_text("x"), "--tls-client-ca /server.ca: there is no"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, change, said: str) -> None:
    assert said in refused(tmp_path, change)


@pytest.mark.parametrize(
    "params",
    [{"tls_cert": "a"}, {"tls_key": "a"}, {"tls_client_ca": "a"}],
)
def test_files_that_go_together(params) -> None:
    with pytest.raises(ValueError, match="tls_cert and tls_key"):
        ServerParams(**params)


def test_the_load_generator_asks_over_tls(
    mutual, server_identity, client_identity, stranger, capsys
) -> None:
    def asked(shown: tls.Identity) -> int:
        target = ["--url", mutual.url.replace("127.0.0.1", "localhost"), "--model", "identity"]
        load = ["--shape", "x:4", "--count", "5", "--warmup", "0s", "--json", "-"]
        files = {"ca": server_identity.ca, "cert": shown.certificate, "key": shown.key}
        words = [word for name, path in files.items() for word in (f"--tls-{name}", str(path))]
        return loadgen_main([*target, *load, *words])

    assert asked(client_identity) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["errors"] == {}
    assert asked(stranger) == 1
    assert loadgen_main(["--model", "m", "--tls-key", "k"]) == 2
