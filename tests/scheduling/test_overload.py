"""A server under a policy with more load than it can serve: every query is answered or refused."""

from __future__ import annotations

import queue
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
import tritonclient.grpc as triton

from surplus.colocation.profiles.measured_profile import MeasuredModel, MeasuredProfile
from tests.scheduling.stage import HEADER

WAIT_S = 120
SLOW = """slow (float[n, 3] x) => (float[n, 3] y) {
    axes = Constant <value = int64[2] {0, 1}> ()
    size = Constant <value = int64[2] {1500, 1500}> ()
    s = ReduceSum(x, axes)  m = Expand(s, size)  p = MatMul(m, m)
    r = ReduceMax(p, axes)  y = Add(x, r)
}"""
"""Some seven thousand million operations that no optimisation removes."""
PREDICTED_MS = 60_000.0
TIMEOUT_US = 60_500_000
"""A query may begin within half a second of its arrival; the first ones are over long before."""
QUERIES, MOST = 96, 64


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("overload")
    model = folder / "repository" / "slow" / "1"
    model.mkdir(parents=True)
    onnx.save(onnx.parser.parse_model(HEADER + SLOW), model / "model.onnx")
    shares = dict.fromkeys(("50", "100"), (PREDICTED_MS,))
    one = MeasuredModel(1, (1,), shares, (0.0,))
    profile = folder / "profile.json"
    profile.write_text(MeasuredProfile("cpu:2", {"slow": one}, {}).to_json())
    words = ["--policy", "edf_drop", "--slo", "slow=600s", "--devices", "cpu:2", "--max-batch", "1"]
    words += ["--profile", str(profile), "--max-in-flight", str(MOST), "--port", "0"]
    command = [sys.executable, "-m", "surplus.engine.cli.main", "serve", str(folder / "repository")]
    process = subprocess.Popen(
        [*command, *words, "--cache", str(folder / "cache")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        found = re.search(r"on (\S+) \(gRPC", process.stdout.readline())
        assert found
        yield found[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0
    finally:
        process.kill()
        process.communicate()


def asked(address: str, timeouts_us: list[int]) -> list[tuple[str, str]]:
    """Status and message of queries that are sent at once; "" of those that are answered."""
    ends: queue.Queue[tuple[str, str]] = queue.Queue()

    def ended(result: Any, error: Any) -> None:
        ends.put(("", "") if error is None else (error.status(), error.message()))

    rows = np.ones((1, 3), np.float32)
    tensor = triton.InferInput("x", rows.shape, "FP32")
    tensor.set_data_from_numpy(rows)
    with triton.InferenceServerClient(address) as client:
        for timeout_us in timeouts_us:
            client.async_infer("slow", [tensor], ended, timeout=timeout_us or None)
        return [ends.get(timeout=WAIT_S) for _ in timeouts_us]


def test_overload_is_answered_dropped_or_turned_away(address: str) -> None:
    asked(address, [0, 0])  # sessions are open from now on
    ends = asked(address, [TIMEOUT_US] * QUERIES)
    kinds = [status.removeprefix("StatusCode.") for status, _ in ends]
    assert set(kinds) == {"", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"}
    assert kinds.count("RESOURCE_EXHAUSTED") >= QUERIES - MOST - kinds.count("")
    missed = [message for _, message in ends if "deadline" in message]
    assert len(missed) == kinds.count("DEADLINE_EXCEEDED")
    dropped = r"predicted to end \S+ ms after it came, \S+ ms after its deadline of \S+ ms"
    assert all(re.search(dropped, message) for message in missed), missed
    for kind, (_, message) in zip(kinds, ends, strict=True):
        if kind == "RESOURCE_EXHAUSTED":
            assert f"has {MOST} queries in flight" in message


def test_it_serves_on_after_overload(address: str) -> None:
    assert asked(address, [0]) == [("", "")]
