"""``engine token``, ``engine health``, and options of who may ask that contradict each other."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from surplus.engine.serving.server_params import ServerParams
from tests.cli.calls import Command
from tests.serving import tls
from tests.serving.fakes import ServerThread, identity


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    return tmp_path / "tokens.toml"


@pytest.fixture
def guarded(engine: Command, tokens: Path) -> Iterator[tuple[ServerThread, str]]:
    """A server that tells its health to nobody without a token, and one for it."""
    made = engine("token", tokens, "probe", "--rights", "health")
    assert made.status == 0
    server = ServerThread(
        ServerParams(grpc_port=0, http_port=0, tokens=str(tokens), open_rights=())
    )
    server.serve("m", identity())
    yield server, made.out.strip()
    server.stop()


def test_a_token_is_made_used_and_listed(
    engine: Command, guarded, tokens: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, token = guarded
    http = f"http://{server.http_url}"
    for url in (server.url, http):
        for word in ((), ("--live",)):
            refused = engine("health", url, *word)
            assert refused.status == 1
            assert refused.is_one_clear_line()
    monkeypatch.setenv("SURPLUS_TOKEN", token)
    for url in (server.url, http):
        assert engine("health", url).out == "ready\n"
        assert engine("health", url, "--live").out == "live\n"
    server.call(server.server.plane.leave)
    for url in (server.url, http):
        left = engine("health", url)
        assert (left.status, left.out) == (1, "not ready\n")
        assert engine("health", url, "--live").out == "live\n"
    listed = engine("token", tokens)
    assert (listed.status, token in listed.out) == (0, False)
    assert "probe" in listed.out


def test_health_over_tls(engine: Command, tmp_path: Path) -> None:
    made, mine = tls.identity(tmp_path, "server"), tls.identity(tmp_path, "mine")
    server = ServerThread(
        ServerParams(
            grpc_port=0,
            http_port=0,
            tls_cert=str(made.certificate),
            tls_key=str(made.key),
            tls_client_ca=str(mine.ca),
        )
    )
    server.serve("m", identity())
    words = ("--tls-ca", made.ca, "--tls-cert", mine.certificate, "--tls-key", mine.key)
    for url in (server.url, f"https://{server.http_url}"):
        assert engine("health", url, *words).out == "ready\n"
        assert engine("health", url, *words[:2]).is_one_clear_line()
    server.stop()
    assert ssl.OPENSSL_VERSION_INFO >= (3,)


WRONG_SERVE = [
    (("--open", "infer"), "nothing needs a token without --tokens"),
    (("--tokens", "none.toml"), "--tokens none.toml: No such file"),
    (("--tokens", "{}", "--open", "repository"), "needs a token whatever is open"),
    (("--tokens", "{}", "--open", "all"), "--open has 'all'; there are health"),
    (("--host", "0.0.0.0", "--model-control-mode", "explicit"), "give --tokens"),
    (("--host", "0.0.0.0", "--policy", "edf", "--slo", "lenet=1s", "--model-control"), "--tokens"),
    (("--drain-delay", "-1"), "drain_delay_s is -1.0, must be at least 0"),
]


@pytest.mark.parametrize(("words", "said"), WRONG_SERVE, ids=[said for _, said in WRONG_SERVE])
def test_serve_refuses(engine: Command, tokens: Path, words: tuple[str, ...], said: str) -> None:
    tokens.write_text("")
    given = [word.format(tokens) for word in words]
    called = engine("serve", engine.path("lenet.onnx"), "--port", "0", *given)
    assert called.is_one_clear_line()
    assert said in called.err


WRONG_OTHERS = [
    (("token", "t.toml", "a"), "--rights"),
    (("token", "t.toml", "--days", "3"), "--days: of a new token"),
    (("token", "none.toml"), "No such file"),
    (("health", "--timeout", "0"), "--timeout must be above 0"),
    (("health", "--tls-cert", "x"), "--tls-cert and --tls-key go together"),
    (("health", "--tls-cert", "x", "--tls-key", "y"), "--tls-ca"),
    (("health", "127.0.0.1:1", "--timeout", "0.2"), "127.0.0.1:1"),
    (("health", "http://127.0.0.1:1"), "does not answer"),
    (("health", "localhost:1", "--tls-ca", "none.pem"), "none.pem"),
    (("health", "https://localhost:1", "--tls-ca", "none.pem"), "none.pem"),
]


@pytest.mark.parametrize(
    ("words", "said"), WRONG_OTHERS, ids=[" ".join(w) for w, _ in WRONG_OTHERS]
)
def test_others_refuse(engine: Command, words: tuple[str, ...], said: str) -> None:
    called = engine(*words)
    assert called.is_one_clear_line()
    assert said in called.err
