"""What is missing to drive a GPU is named, one thing after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from surplus.engine import _core
from surplus.engine.devices import cuda_driver, cuda_runtime
from surplus.engine.devices.cuda_driver import GpuFacts, read_driver, used_memory_bytes
from surplus.engine.devices.cuda_parts import PROVIDER, TENSORRT_PROVIDER, cuda_parts
from surplus.engine.devices.inventory import inventory
from surplus.engine.devices.kinds import cuda
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.errors import DeviceError
from tests.fakes.driver import compiled


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def driver(library: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(cuda_driver, "LIBRARY", str(library))
    return monkeypatch


@pytest.fixture
def complete(driver: pytest.MonkeyPatch, library: Path, tmp_path: Path) -> pytest.MonkeyPatch:
    """All that a GPU needs; the runtime is some library, which is all that is asked of it."""
    for name in ("libonnxruntime.so.1", PROVIDER):
        (tmp_path / name).touch()
    driver.setenv("SURPLUS_CUDA_LIBRARY", str(library))
    driver.setenv("SURPLUS_ORT_LIBRARY", str(tmp_path / "libonnxruntime.so.1"))
    driver.setattr(_core, "has_cuda_sessions", True, raising=False)
    return driver


def refusal(device: str) -> str:
    with pytest.raises(DeviceError) as caught:
        next(s for s in parse_devices(device) if s.kind == "cuda").check_present()
    text = str(caught.value)
    assert re.match(r"device 'cuda:.*; emulated:gpu stands in for a GPU$", text)
    return text


def missing() -> dict[str, str]:
    return {part.name: part.missing for part in cuda_parts()}


def test_the_driver_describes_its_gpus(driver: pytest.MonkeyPatch) -> None:
    driver.setenv("FAKE_GPUS", "2")
    facts = read_driver()
    assert facts.cuda_version == "13.2"
    assert facts.gpus == tuple(
        GpuFacts(i, f"Fake GPU {i}", 141 << 30, 132, "9.0") for i in range(2)
    )


def test_the_memory_in_use_is_that_of_the_gpu(driver: pytest.MonkeyPatch) -> None:
    assert [used_memory_bytes(index) for index in (0, 2, 0)] == [1 << 20, 3 << 20, 1 << 20]


def test_a_machine_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_driver, "LIBRARY", "libcuda-none.so")
    assert "no CUDA driver: libcuda-none.so: cannot open" in refusal("cuda:0")


def test_a_driver_that_does_not_start_is_quoted(driver: pytest.MonkeyPatch) -> None:
    driver.setenv("FAKE_CUINIT", "100")
    assert "cuInit failed with CUDA error 100 (CUDA_ERROR_NO_DEVICE)" in refusal("cuda:0")
    driver.setenv("FAKE_CUINIT", "7")
    assert "cuInit failed with CUDA error 7 (NVIDIA" in refusal("cuda:0")


def test_a_driver_without_a_gpu(driver: pytest.MonkeyPatch) -> None:
    driver.setenv("FAKE_GPUS", "0")
    assert "sees no GPU" in refusal("cuda:0")


def test_a_library_that_is_no_driver(
    driver: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_driver, "LIBRARY", "libc.so.6")
    assert "the CUDA driver libc.so.6 lacks cuInit" in refusal("cuda:0")


def test_the_runtime_is_missing(complete: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "broken.so").touch()
    complete.setenv("SURPLUS_CUDA_LIBRARY", str(tmp_path / "broken.so"))
    assert re.search(r"runtime library cannot be loaded .*broken\.so.*\[gpu\]", refusal("cuda:0"))


def test_the_usual_names_of_the_runtime_are_tried(complete: pytest.MonkeyPatch) -> None:
    complete.setattr(cuda_runtime, "find_cuda_library", lambda: "")
    complete.setattr(cuda_runtime, "_USUAL_NAMES", ("libnone.so", "libc.so.6"))
    assert not any(missing().values())
    complete.setattr(cuda_runtime, "_USUAL_NAMES", ("libnone.so", "libnone2.so"))
    assert "(tried libnone.so, libnone2.so)" in missing()["CUDA runtime"]


def test_an_onnx_runtime_without_cuda(complete: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / PROVIDER).unlink()
    text = refusal("cuda:0")
    assert f"has no {PROVIDER}" in text
    assert "pip install 'surplus-engine[gpu]'" in text


@pytest.mark.parametrize(
    ("wheel", "loaded", "is_refused"),
    [("1.31.0", "1.32.0", True), ("1.32.0", "1.32.0", False), ("1.32.0", "1", False)],
)
def test_a_provider_of_another_version_is_refused_by_name(
    complete: pytest.MonkeyPatch, tmp_path: Path, wheel: str, loaded: str, is_refused: bool
) -> None:
    """As where onnxruntime and onnxruntime-gpu are installed into one folder."""
    site = tmp_path / "site-packages"
    capi, info = site / "onnxruntime" / "capi", site / f"onnxruntime_gpu-{wheel}.dist-info"
    for folder in (capi, info):
        folder.mkdir(parents=True)
    for name in (f"libonnxruntime.so.{loaded}", PROVIDER):
        (capi / name).touch()
    (info / "METADATA").write_text(f"Name: onnxruntime-gpu\nVersion: {wheel}\n")
    (info / "RECORD").write_text(f"onnxruntime/capi/{PROVIDER},,\n")
    complete.setenv("SURPLUS_ORT_LIBRARY", str(capi / f"libonnxruntime.so.{loaded}"))
    found = missing()["CUDA provider of ONNX Runtime"]
    assert bool(found) is is_refused
    if is_refused:
        assert f"{PROVIDER} is of onnxruntime-gpu 1.31.0, ONNX Runtime is 1.32.0" in found
        assert "install onnxruntime-gpu alone" in refusal("cuda:0")


def test_a_core_without_sessions_on_the_gpu(complete: pytest.MonkeyPatch) -> None:
    complete.setattr(_core, "has_cuda_sessions", False, raising=False)
    assert "its core opens no sessions on the GPU" in refusal("cuda:0")


def test_all_is_there(complete: pytest.MonkeyPatch) -> None:
    assert not any(missing().values())
    parse_devices("cpu:1,cuda:0:4")[1].check_present()
    assert "sees 1 GPUs, numbered from 0" in refusal("cuda:1")
    complete.setattr(cuda, "DIVIDES", False)
    assert "cannot divide a GPU" in refusal("cuda:0[64sm]")
    complete.setattr(cuda, "DIVIDES", True)
    parse_devices("cpu:1,cuda:0[64sm]:2")[1].check_present()


def test_the_inventory_lists_what_can_be_named(complete: pytest.MonkeyPatch) -> None:
    rows = {row["device"]: row for row in inventory()["devices"]}
    assert rows["cuda:0"]["usable"] == "yes"
    assert rows["cuda:0"]["memory GiB"] == 141
    assert "132 SMs" in rows["cuda:0"]["is"]
    complete.setattr(_core, "has_cuda_sessions", False, raising=False)
    rows = {row["device"]: row for row in inventory()["devices"]}
    assert rows["cuda:0"]["usable"].startswith("no: device 'cuda:0': ")
    named = [row for row in rows if not row.startswith("cuda")]
    assert len(parse_devices(named[0])) == 1
    kinds = {parse_devices(f"cpu:1,{row}")[1].kind for row in named[1:]}
    assert kinds == {"emulated", "plugin"}
    assert all(
        rows[row]["is"].startswith("EMULATED") for row in named if row.startswith("emulated")
    )


def test_a_machine_without_a_gpu_lists_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_driver, "LIBRARY", "libcuda-none.so")
    found = inventory()
    assert not any(row["device"].startswith("cuda") for row in found["devices"])
    assert found["cuda"][0]["missing"].startswith("no CUDA driver")


def test_what_tensorrt_needs_is_asked_for_with_it_only(
    complete: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parse_devices("cpu:1,cuda:0")[1].check_present()
    assert f"has no {TENSORRT_PROVIDER}: this ONNX Runtime is without TensorRT" in refusal(
        "cpu:1,cuda:0[tensorrt]"
    )
    (tmp_path / TENSORRT_PROVIDER).touch()
    assert "there is no libnvinfer.so.10 (pip install tensorrt" in refusal("cpu:1,cuda:0[tensorrt]")
