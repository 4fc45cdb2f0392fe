"""A server that is killed under load, and one whose wall clock jumps: queries are answered."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from bench.safety.attack_server import Attacked
from bench.safety.call_attacks import vanishing
from bench.safety.target import request
from tests.core.test_native import find_tool

QUERY = request("identity", "FP32", [4], bytes(16))
HALF_A_DAY_S = 43_200
CLOCK = Path(__file__).parent / "jumping_clock.c"


@pytest.mark.parametrize("after_queries", [0, 200])
def test_who_is_killed_under_load_starts_again_over_its_cache(
    tmp_path: Path, after_queries: int
) -> None:
    for _ in range(2):
        with Attacked(tmp_path, "", ()) as server:
            asked = threading.Semaphore(0)

            def ask(server: Attacked = server, asked: threading.Semaphore = asked) -> None:
                while server.target.infer(QUERY) == "OK":
                    asked.release()
                for _ in range(after_queries):
                    asked.release()

            asking = [threading.Thread(target=ask) for _ in range(2)]
            for thread in asking:
                thread.start()
            for _ in range(after_queries):
                asked.acquire()
            server.kill()
            for thread in asking:
                thread.join()
    with Attacked(tmp_path, "", ()) as server:
        assert Counter(server.target.infer(QUERY) for _ in range(20)) == {"OK": 20}
        assert "Traceback" not in server.log.read_text()


def test_nothing_waits_for_the_wall_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "jumping_clock.so"
    command = [find_tool("cc"), "-shared", "-fPIC", "-O1", str(CLOCK), "-o", str(library)]
    subprocess.run(command, check=True)
    shown = subprocess.run(
        ["date", "+%s"], env={"LD_PRELOAD": str(library), "PATH": "/usr/bin:/bin"}, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    assert abs(int(shown.stdout) - time.time()) > HALF_A_DAY_S
    with monkeypatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        server = Attacked(tmp_path, "1GiB", ["--max-body-s", "30"])
    with server:
        assert Counter(server.target.infer(QUERY) for _ in range(50)) == {"OK": 50}
        assert vanishing(server.target, clients=20) == {"gone": 20}
        document = b'{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [2]}]}'
        assert server.target.post("identity", document) == "200"
        assert server.target.infer(QUERY) == "OK"
        assert server.stop() == 0
