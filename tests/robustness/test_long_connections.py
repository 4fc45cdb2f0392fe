"""A connection that is asked for long holds no more than one that was asked a little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from surplus.engine.devices.machine_memory import resident_bytes
from tests.isolation.served import served, write_model

MIB = 1 << 20


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_many_queries_on_one_connection_leave_nothing(tmp_path: Path, protocol: str) -> None:
    write_model(tmp_path / "models", "negated")
    with served(tmp_path / "models") as server:
        address = server.address if protocol == "grpc" else server.http_address
        command = [sys.executable, "-m", "surplus.loadgen", "--url", address]
        command += ["--model", "negated", "--protocol", protocol, "--input", "x:4:FP32"]
        command += ["--users", "1", "--client", "native", "--warmup", "0s", "--json", "-"]

        def ask(count: int) -> int:
            """Answers queries on a connection; what the server holds then."""
            options = ["--count", str(count), "--duration", "1ms"]
            done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["summary"]["errors"] == {}
            return resident_bytes(server.process.pid)

        # Each leaves its connection's memory; a call that left 260 bytes would add 21 MB.
        before = ask(5_000)
        assert ask(80_000) - before < 10 * MIB
