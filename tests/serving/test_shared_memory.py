"""Regions of shared memory: what a hostile client does to them harms its own queries only."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from surplus.engine.errors import (
    ExecutionError,
    InputError,
    RegionExistsError,
    SharedMemoryError,
    TooManyRegionsError,
    UnknownRegionError,
    UnsupportedError,
)
from surplus.engine.serving.server_params import ServerParams
from surplus.engine.serving.shared_memory import RegionPart, SharedRegions
from tests.serving.fakes import ServerThread, tensor

VECTOR = np.array([1.5, -2.0, 3.25], np.float32)
SIZE = 4096


@pytest.fixture
def memory(fresh_name):
    """A file of shared memory."""
    path = Path(f"/dev/shm/surplus-test-{os.getpid()}-{fresh_name}")
    path.write_bytes(bytes(SIZE))
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture
def regions():
    return SharedRegions(most_bytes=64)


def test_bytes_there_and_back(regions, memory):
    regions.register("r", memory.name, 16, 100)
    regions.write("y", RegionPart("r", 4, 12), VECTOR.view(np.uint8))
    assert memory.read_bytes()[20:32] == VECTOR.tobytes()
    assert regions.read("x", RegionPart("r", 4, 12)) == VECTOR.tobytes()
    (row,) = regions.status("r")
    assert row == {"name": "r", "key": memory.name, "offset": 16, "byte_size": 100}


def test_refusals_are_errors_of_ours(regions, memory):
    regions.register("r", memory.name, 0, SIZE)
    for error, call in {
        RegionExistsError: lambda: regions.register("r", memory.name, 0, 1),
        InputError: lambda: regions.register("s", memory.name, 0, SIZE + 1),
        SharedMemoryError: lambda: regions.register("s", "surplus-test-none", 0, 1),
        UnknownRegionError: lambda: regions.status("s"),
        ExecutionError: lambda: regions.write("y", RegionPart("r", 0, 2), b"abc"),
    }.items():
        with pytest.raises(error):
            call()
    with pytest.raises(InputError, match="input 'x': shared_memory_byte_size is 65, at most 64"):
        regions.read("x", RegionPart("r", 0, 65))


def test_there_are_as_many_as_the_table_takes(regions, memory):
    for index in range(512):
        regions.register(str(index), memory.name, 0, 1)
    with pytest.raises(TooManyRegionsError, match="there are 512 already"):
        regions.register("one more", memory.name, 0, 1)
    regions.unregister()
    assert regions.status() == []


def _shared(region, shape=(3,), size_bytes=12):
    made = triton.InferInput("x", list(shape), "FP32")
    made.set_shared_memory(region, size_bytes)
    return [made]


def _refused(call, *arguments, **options):
    with pytest.raises(InferenceServerException) as caught:
        call(*arguments, **options)
    return caught.value.status().removeprefix("StatusCode."), caught.value.message()


@pytest.fixture
def region(client, memory, fresh_name):
    """The file, registered with the server of all tests."""
    client.register_system_shared_memory(fresh_name, f"/{memory.name}", SIZE)
    yield fresh_name
    client.unregister_system_shared_memory(fresh_name)


def test_a_truncated_region_fails_its_own_queries(client, memory, region):
    """Whoever maps it is ended by SIGBUS."""
    os.truncate(memory, 0)
    code, details = _refused(client.infer, "identity", _shared(region))
    assert (code, "was truncated" in details) == ("INVALID_ARGUMENT", True)
    output = triton.InferRequestedOutput("y")
    output.set_shared_memory(region, 12)
    sent = [tensor("x", VECTOR, "FP32")]
    code, details = _refused(client.infer, "identity", sent, outputs=[output])
    assert (code, "was truncated" in details) == ("INVALID_ARGUMENT", True)
    assert memory.stat().st_size == 0
    np.testing.assert_array_equal(client.infer("identity", sent).as_numpy("y"), VECTOR)


def test_a_region_that_is_truncated_again_and_again_ends_nothing(client, memory, region):
    stop = threading.Event()

    def truncate():
        while not stop.is_set():
            for size in (0, 8, SIZE):
                os.truncate(memory, size)

    thread = threading.Thread(target=truncate)
    thread.start()
    output = triton.InferRequestedOutput("y")
    output.set_shared_memory(region, 12, 2048)
    try:
        for _ in range(200):
            try:
                client.infer("identity", _shared(region), outputs=[output])
            except InferenceServerException as error:
                assert error.status() == "StatusCode.INVALID_ARGUMENT"  # noqa: PT017
                assert "was truncated" in error.message()  # noqa: PT017
    finally:
        stop.set()
        thread.join()
    assert client.is_server_ready()


def test_a_region_whose_file_is_gone_is_still_there(client, memory, region):
    memory.unlink()
    answer = client.infer("identity", _shared(region))
    np.testing.assert_array_equal(answer.as_numpy("y"), np.zeros(3, np.float32))


def test_what_is_read_is_bounded_as_requests_are(client, memory, fresh_name):
    """A file may say that it is as large as it likes, and take no memory."""
    os.truncate(memory, 1 << 40)
    client.register_system_shared_memory(fresh_name, memory.name, 1 << 40)
    shape, size_bytes = (1 << 38,), 1 << 40
    code, details = _refused(client.infer, "identity", _shared(fresh_name, shape, size_bytes))
    assert (code, f"at most {8 << 20} bytes" in details) == ("INVALID_ARGUMENT", True)
    client.unregister_system_shared_memory(fresh_name)


def test_files_elsewhere_cannot_be_registered(client, fresh_name, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    for key in (str(secret), f"../..{secret}", f"/../..{secret}", "..", ""):
        code, _ = _refused(client.register_system_shared_memory, fresh_name, key, 6)
        assert code == "INVALID_ARGUMENT"
    link = Path(f"/dev/shm/surplus-test-{os.getpid()}-{fresh_name}")
    link.symlink_to(secret)
    try:
        code, _ = _refused(client.register_system_shared_memory, fresh_name, link.name, 6)
        assert code == "INTERNAL"
    finally:
        link.unlink()


def test_contents_and_shared_memory_exclude_each_other(client, region):
    given = _shared(region)
    given[0]._raw_content = VECTOR.tobytes()
    code, details = _refused(client.infer, "identity", given)
    assert (code, "1 raw_input_contents for 0 inputs" in details) == ("INVALID_ARGUMENT", True)


@pytest.mark.parametrize(
    ("host", "asked", "is_open"),
    [
        ("127.0.0.1", None, True),
        ("127.3.2.1", None, True),
        ("::1", None, True),
        ("localhost", None, True),
        ("0.0.0.0", None, False),
        ("::", None, False),
        ("models.example.org", None, False),
        ("0.0.0.0", True, True),
        ("127.0.0.1", False, False),
    ],
)
def test_memory_is_shared_where_only_this_machine_may_ask(memory, host, asked, is_open):
    params = ServerParams(host=host, shared_memory=asked)
    assert params.shares_memory == is_open
    regions = SharedRegions(64, is_open=is_open)
    if is_open:
        regions.register("r", memory.name, 0, 1)
    else:
        with pytest.raises(UnsupportedError, match="--shared-memory lets them"):
            regions.register("r", memory.name, 0, 1)


def test_a_server_that_others_may_ask_takes_none(memory):
    params = ServerParams(host="0.0.0.0", grpc_port=0)
    server = ServerThread(params)
    try:
        with triton.InferenceServerClient(server.url) as client:
            code, _ = _refused(client.register_system_shared_memory, "r", memory.name, 6)
            assert code == "UNIMPLEMENTED"
    finally:
        server.stop()
