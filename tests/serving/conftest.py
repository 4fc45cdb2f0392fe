from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tritonclient.grpc as triton

from surplus.engine.serving.server_params import FrontEnd, ServerParams
from tests.serving.fakes import ServerThread, arithmetic, identity

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session", params=[FrontEnd.NATIVE, FrontEnd.PYTHON])
def served(request: pytest.FixtureRequest) -> Iterator[ServerThread]:
    """A server with models ``identity`` and ``arithmetic``; tests add models of their own.

    With each front end: what clients see is the same.
    """
    thread = ServerThread(
        ServerParams(
            grpc_port=0,
            http_port=0,
            max_in_flight=64,
            max_message_bytes=8 << 20,
            front_end=request.param,
        )
    )
    thread.serve("identity", identity())
    thread.serve("arithmetic", arithmetic())
    yield thread
    thread.stop()


@pytest.fixture(scope="session")
def client(served: ServerThread) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(served.url) as client:
        yield client


@pytest.fixture(scope="session")
def _numbers() -> Iterator[int]:
    return itertools.count()


@pytest.fixture
def fresh_name(_numbers: Iterator[int]) -> str:
    """A model name that no other test uses."""
    return f"model-{next(_numbers)}"


@pytest.fixture(params=[FrontEnd.NATIVE, FrontEnd.PYTHON])
def own_server(request: pytest.FixtureRequest) -> Iterator[ServerThread]:
    """A server that the test may stop or fill; with each front end."""
    thread = ServerThread(
        ServerParams(
            grpc_port=0,
            http_port=0,
            max_in_flight=2,
            drain_timeout_s=30,
            front_end=request.param,
        )
    )
    yield thread
    thread.stop()


@pytest.fixture
def process() -> Iterator[subprocess.Popen]:
    """``server_process.py``, running."""
    command = [sys.executable, "-m", "tests.serving.server_process"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    yield process
    process.kill()
    process.communicate()
