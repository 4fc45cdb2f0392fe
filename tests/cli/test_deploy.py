"""``engine deploy`` as a process: serves until it is told to end, and leaves nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from surplus.engine.cli.main import main
from tests.deployment.client import ask, resolve
from tests.deployment.settings import cluster_file, model_table, save_version

READY_S = 120


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_version(tmp_path / "repository", "net", 1)
    return cluster_file(tmp_path, model_table("net"))


@pytest.fixture
def deployed(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(path.parent / "cache"))
    command = [sys.executable, "-m", "surplus.engine.cli.main", "deploy", str(path), "--local", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_it_serves_until_it_is_told_to_end(
    deployed: subprocess.Popen[str], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deployed.stdout is not None
    first, second = deployed.stdout.readline(), deployed.stdout.readline()
    assert first == f"deploying net from {path.parent / 'repository'}\n"
    resolver = second.removeprefix("addresses: http://").partition("/")[0]
    (replica,) = resolve(resolver, "net")
    assert ask(replica["http"], "net", 3.0) == 1.0
    path.write_text(path.read_text().replace("127.0.0.1:0", resolver))
    assert main(["deploy", str(path), "--local", "1"]) == 1  # two on one port
    assert f"cannot listen on {resolver}" in capsys.readouterr().err
    deployed.send_signal(signal.SIGTERM)
    assert deployed.wait(READY_S) == 0
    with pytest.raises(OSError, match="refused"):
        ask(replica["http"], "net", 3.0)


def test_what_is_wrong_is_one_line(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["deploy", str(tmp_path / "none.toml"), "--local", "1"]) == 1
    assert main(["deploy", str(path), "--local", "-1"]) == 1
    path.write_text(path.read_text().replace("slo_ms = 200", "slo_ms = 1"))
    assert main(["deploy", str(path), "--local", "1"]) == 1
    none, local, slo = capsys.readouterr().err.splitlines()
    assert "none.toml: No such file" in none
    assert "--local must be" in local
    assert "model 'net' fits no kind of node: 'cpu': a query takes 10 ms, the target is 1 ms" in slo


def test_without_ray_it_says_what_to_install(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "surplus.engine.deployment.ray_machines", raising=False)
    assert main(["deploy", str(path)]) == 1
    assert "pip install 'surplus-engine[ray]'" in capsys.readouterr().err
