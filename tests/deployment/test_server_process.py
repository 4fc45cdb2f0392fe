"""A node's server is back at once when it is killed: a spare process takes its place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from surplus.engine.deployment.server_process import ServerProcess
from tests.deployment.client import ask
from tests.deployment.settings import save_version
from tests.deployment.waiting import wait_for

LATE_IMPORTS = """
import os, signal, sys
from surplus.engine.cli import serve_tied
from surplus.engine.cli.main import main

class Watch:
    def write(self, text):
        if text.startswith("metrics"):
            late = [name for name in sys.modules if name.startswith("surplus") and name not in warm]
            sys.stderr.write(f"late: {' '.join(late)}\\n")
            os.kill(os.getpid(), signal.SIGTERM)
    def flush(self):
        pass

serve_tied.warm()
warm = set(sys.modules)
sys.stdout = Watch()
main(["serve", *sys.argv[1:]])
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    save_version(tmp_path / "repository", "net", 1)
    return tmp_path / "repository"


@pytest.fixture
def server(repository: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    options = [str(repository), "--devices", "cpu:1"]
    with closing(ServerProcess(options, "127.0.0.1", tmp_path / "log", 1.0)) as made:
        yield made


def _children() -> set[int]:
    found = set()
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has ended, and may be another test's
            if "surplus.engine.cli.serve_tied" in child.cmdline():
                found.add(child.pid)
    return found


def _is_answered(server: ServerProcess) -> bool:
    return bool(server.addresses.http) and ask(server.addresses.http, "net", 3.0) == 1.0


def test_a_spare_takes_the_place_of_who_was_killed(server: ServerProcess) -> None:
    wait_for(lambda: _is_answered(server), "the server")
    addresses, killed = server.addresses, server.pid
    (spare,) = _children() - {killed}
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: server.pid not in (0, killed) and _is_answered(server), "the next one")
    assert server.pid == spare
    assert server.addresses == addresses
    assert server.starts == 2
    wait_for(lambda: len(_children()) == 2, "another spare")


def test_it_is_back_without_a_spare_too(server: ServerProcess) -> None:
    wait_for(lambda: _is_answered(server), "the server")
    killed = server.pid
    for process in _children():
        os.kill(process, signal.SIGKILL)
    wait_for(lambda: server.pid not in (0, killed) and _is_answered(server), "the next one")


def test_nothing_is_left_when_it_is_closed(repository: Path, tmp_path: Path) -> None:
    server = ServerProcess([str(repository)], "127.0.0.1", tmp_path / "log", 1.0)
    wait_for(lambda: server.addresses.http, "the server")
    assert len(_children()) == 2
    server.close()
    assert _children() == set()


def test_a_spare_has_imported_what_a_server_needs(repository: Path) -> None:
    options = [str(repository), "--devices", "cpu:1", "--model-control-mode", "poll"]
    ports = ["--port", "0", "--http-port", "0", "--metrics-port", "0"]
    command = [sys.executable, "-c", LATE_IMPORTS, *options, *ports]
    for _ in range(2):  # at its first start a server learns what its model is like
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("late: ")]
    assert len(line.split()) < 30, line
