"""Copies on the wire, of a runtime whose clock is known."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from surplus.engine.devices.cuda_runtime import CudaRuntime
from surplus.engine.errors import DeviceError
from surplus.engine.profiling.wire_probe import wire_times
from tests.fakes.driver import RUNTIME, compiled


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("runtime"), RUNTIME)


@pytest.fixture
def runtime(library: Path, monkeypatch: pytest.MonkeyPatch) -> CudaRuntime:
    monkeypatch.setenv("SURPLUS_CUDA_LIBRARY", str(library))
    return CudaRuntime(0)


def alive(library: Path) -> int:
    return int(ctypes.CDLL(str(library)).fakeAlive())


def test_times_are_those_of_the_wire_and_all_is_given_back(
    runtime: CudaRuntime, library: Path
) -> None:
    for size in (4096, 1 << 20):
        found = wire_times(runtime, size)
        kinds = {(t.direction, t.pinned, t.overlapped) for t in found}
        assert len(kinds) == len(found) == 8
        for time in found:
            expected = 1e3 + size / 10 if time.pinned else 5e3 + size / 2
            assert time.copy_ns == pytest.approx(expected, rel=1e-4)
            assert time.bytes_per_s == pytest.approx(size / expected * 1e9, rel=1e-4)
            assert time.call_ns > 0
    assert alive(library) == 0


def test_what_cuda_refuses_is_named(
    library: Path, monkeypatch: pytest.MonkeyPatch, runtime: CudaRuntime
) -> None:
    with pytest.raises(DeviceError, match="cudaSetDevice failed with CUDA error 101"):
        CudaRuntime(3)
    with pytest.raises(DeviceError, match="cudaFree failed with CUDA error 1"):
        runtime.free_device_memory(8)
    monkeypatch.setenv("SURPLUS_CUDA_LIBRARY", str(Path(__file__)))
    with pytest.raises(DeviceError, match=r"cannot be loaded .*test_wire_probe"):
        CudaRuntime(0)
