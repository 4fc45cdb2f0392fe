"""ONNX Runtime's real CUDA provider in our core; run by test_null_gpu.py.

What the fakes of ONNX Runtime take for granted is checked of the real one: that its sessions keep
to their lane's stream, do not wait, allocate through our pools, share weights and graphs as we
think, and fail as we think.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from bench.gpu_check.fixed_sizes import with_fixed_sizes
from surplus import models
from surplus.engine import _core
from surplus.engine.devices.kinds import cuda as cuda_kind
from surplus.engine.devices.machines import open_machine
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.native import open_session
from surplus.engine.profiling.operator_probe import renamings
from surplus.engine.profiling.segment_probe import Probed, ProbeParams, SegmentProbe
from surplus.engine.values import from_value, to_value

CPU, GPU = 0, 1
DRAINS_AFTER = 256
"""As ``CudaSessionKernel::drains_after``."""

SEALED = (DRAINS_AFTER - 60) // 3
"""Queries that three times make no session drain, after 40 others."""

SMALL: dict[str, dict[str, object]] = {
    "lenet": {},
    "squeezenet": {"image_size": 64},
    "bert_base": {"layers": 2, "hidden": 64, "sequence": 8, "vocabulary": 100},
    "dlrm": {"rows": 100, "tables": 4, "batch": 4},
    "multi_task": {"tasks": 3, "width": 16},
    "moe": {"hidden": 32, "tokens": 8},
    "resnet50": {"image_size": 64},
}
DETECTORS: dict[str, dict[str, object]] = {
    "ssd_per_class": {"classes": 3},
    "faster_rcnn": {"classes": 3, "image_size": 64, "proposals": 50},
}


class NullCuda:
    """The CUDA library of this process."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ["SURPLUS_CUDA_LIBRARY"])
        for name in ("Violations", "Launches"):
            getattr(self._library, f"fakeCuda{name}").restype = ctypes.c_size_t

    @contextmanager
    def sealed(self) -> Iterator[None]:
        """Nothing may be allocated or freed of CUDA meanwhile, nor the host wait for the GPU."""
        self._library.fakeCudaSeal(True)
        try:
            yield
        finally:
            self._library.fakeCudaSeal(False)

    def violations(self) -> list[str]:
        """Rules that were broken since the last call, the first few."""
        text = ctypes.create_string_buffer(8192)
        self._library.fakeCudaViolations(text, ctypes.c_size_t(len(text)))
        self._library.fakeCudaForgive()
        return [part.split(" (thread")[0] for part in text.value.decode().split("; ") if part]

    def launches(self, sms: int = 0) -> int:
        """Kernels on streams of partitions of so many SMs; 0: of the whole GPU."""
        return int(self._library.fakeCudaLaunches(ctypes.c_uint(sms)))

    def inject(self, function: str, code: int, nth: int = 1) -> None:
        self._library.fakeCudaInject(function.encode(), nth, code)

    def lose(self, gpu: int, code: int) -> None:
        """Nothing of a GPU works from now on but with this code."""
        self._library.fakeCudaLose(gpu, code)

    def limit(self, size_bytes: int) -> None:
        """Device memory that there is; 0: no limit."""
        self._library.fakeCudaMemory(ctypes.c_size_t(size_bytes))


@pytest.fixture
def cuda() -> Iterator[NullCuda]:
    library = NullCuda()
    library.violations()
    yield library
    assert library.violations() == []


class Subject:
    """A model as one segment on each GPU of a machine, or on those given, between copies."""

    def __init__(
        self,
        machine: _core.Machine,
        path: Path,
        *,
        captured: bool = False,
        gpus: Sequence[int] = (),
    ) -> None:
        self.machine = machine
        session = open_session(str(path))
        names = session.input_names
        self.weight_bytes = sum(
            np.prod(tensor.dims, dtype=int) * 4 for tensor in onnx.load(path).graph.initializer
        )
        builder = _core.PlanBuilder(machine)
        given = [builder.add_value(name) for name in names]
        answers = []
        for gpu in gpus or range(GPU, len(machine.stats()["devices"])):
            moved, made = [], []
            for name, value in zip(names, given, strict=True):
                moved.append((name, builder.add_value(name)))
                builder.add_copy(name, CPU, gpu, value, moved[-1][1])
            for name in session.output_names:
                made.append((name, builder.add_value(name)))
            charge = 0 if captured else -1
            builder.add_session("whole", gpu, str(path), moved, made, captured_ns=charge)
            for name, value in made:
                answers.append(builder.add_value(name))
                builder.add_copy(name, gpu, CPU, value, answers[-1])
        builder.set_inputs(given)
        builder.set_outputs(answers)
        self.plan = builder.build()

    def run(self, inputs: list[_core.Value], times: int, at_once: int = 4) -> None:
        """Queries, some of them in flight together."""
        for _ in range(times // at_once):
            runs = [self.plan.submit(inputs) for _ in range(at_once)]
            for run in runs:
                assert run.wait()
                assert run.status == "ok", run.error

    def run_sealed(self, cuda: NullCuda, inputs: list[_core.Value], times: int) -> list[str]:
        """What breaks the seal in so many queries.

        Again where a lane was opened meanwhile, since queries overlapped: each is opened once.
        """
        while True:
            before = self.opened()
            with cuda.sealed():
                self.run(inputs, times)
            broken = cuda.violations()
            if self.opened() == before:
                return broken

    def opened(self) -> int:
        """Lanes of sessions that were opened since, or refused."""
        rows = self.machine.stats()["devices"][GPU:]
        return sum(row["opened"] + row["refused"] for row in rows)

    def gpu(self, index: int = GPU) -> dict[str, int]:
        found: dict[str, int] = self.machine.stats()["devices"][index]
        return found


@pytest.fixture
def opened() -> Iterator[list[_core.Machine]]:
    """Machines to be closed at the end."""
    machines: list[_core.Machine] = []
    yield machines
    for machine in machines:
        machine.close()


def built(name: str, folder: Path) -> tuple[Path, list[_core.Value]]:
    """A model of fixed sizes, and its example inputs in order."""
    parameters = {**SMALL, **DETECTORS}[name]
    arrays = models.example_inputs(name, **parameters)
    path = models.save(models.build(name, **parameters), folder / f"{name}.onnx")
    fixed = with_fixed_sizes(path, arrays)
    names = open_session(str(fixed)).input_names
    return fixed, [to_value(arrays[key]) for key in names]


def on(devices: str, opened: list[_core.Machine]) -> _core.Machine:
    opened.append(open_machine(parse_devices(devices)))
    return opened[-1]


@pytest.mark.parametrize("name", SMALL)
def test_runs_neither_wait_nor_allocate(
    name: str, cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    path, inputs = built(name, tmp_path)
    subject = Subject(on("cpu:1,cuda:0:2", opened), path)
    subject.run(inputs, 40)
    before = cuda.launches()
    assert subject.run_sealed(cuda, inputs, SEALED) == []
    assert cuda.launches() > before


def test_tensorrt_is_asked_and_says_what_it_misses(
    cuda: NullCuda,
    opened: list[_core.Machine],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The real provider of onnxruntime-gpu, without TensorRT's own libraries."""
    monkeypatch.setattr(cuda_kind.Cuda, "check_present", lambda self, spec: None)
    path, _ = built("lenet", tmp_path)
    machine = on("cpu:1,cuda:0[tensorrt]:1", opened)
    with pytest.raises(RuntimeError, match=r"no TensorRT provider here: .*libnvinfer\.so"):
        Subject(machine, path)


@pytest.mark.parametrize("name", SMALL)
def test_a_segment_of_fixed_sizes_is_captured_and_replayed(
    name: str, cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    path, inputs = built(name, tmp_path)
    subject = Subject(on("cpu:1,cuda:0:2", opened), path, captured=True)
    assert subject.plan.uncaptured == {}
    subject.run(inputs, 8)
    with cuda.sealed():
        subject.run(inputs, 2000)
    assert subject.gpu()["replayed"] == 2008


@pytest.mark.parametrize("name", DETECTORS)
def test_detectors_run_whole(
    name: str, cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    path, inputs = built(name, tmp_path)
    subject = Subject(on("cpu:1,cuda:0:2", opened), path)
    subject.run(inputs, 8)


def test_lanes_and_partitions_share_weights(
    cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    path, inputs = built("resnet50", tmp_path)
    machine = on("cpu:1,cuda:0[64sm]:2,cuda:0[32sm]:2", opened)
    subject = Subject(machine, path)
    subject.run(inputs, 8)
    assert subject.weight_bytes > 90_000_000
    assert subject.gpu()["used_bytes"] < 1.2 * subject.weight_bytes


def test_sessions_of_a_lane_share_a_cublas_handle(
    cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    path, inputs = built("lenet", tmp_path)
    machine = on("cpu:1,cuda:0:2", opened)
    subjects = [Subject(machine, path, captured=captured) for captured in (False, True, False)]
    for subject in subjects:
        subject.run(inputs, 8)
    handles = ctypes.CDLL("libcublas.so.13").nullCublasHandles
    assert handles() <= machine.stats()["devices"][GPU]["lanes"]
    assert ctypes.CDLL("libcublas.so.13").nullCublasMath() == 0  # as the next session expects it
    counted = [subject.gpu()["memory_bytes"] for subject in subjects]
    more = Subject(machine, path)
    assert more.gpu()["memory_bytes"] == counted[-1]
    del subjects, subject, more
    machine.close()
    assert handles() == 0


def test_kernels_keep_to_their_partition(
    cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    path, inputs = built("squeezenet", tmp_path)
    subject = Subject(on("cpu:1,cuda:0[64sm]:2,cuda:0[32sm]:1", opened), path)
    before = [cuda.launches(sms) for sms in (0, 64, 32)]
    subject.run(inputs, 40)
    after = [cuda.launches(sms) for sms in (0, 64, 32)]
    of_all, of_64, of_32 = (b - a for a, b in zip(before, after, strict=True))
    assert of_all == 0
    assert of_64 == of_32 > 0


def test_what_only_renames_launches_nothing_within_a_segment(
    cuda: NullCuda, opened: list[_core.Machine]
) -> None:
    probe = SegmentProbe(on("cpu:1,cuda:0:2", opened), GPU, ProbeParams(1, 3, 3, 0))
    launches = []
    for count in (0, 32):
        chain = renamings(count)
        before = cuda.launches()
        probe.times(Probed(chain.model, chain.inputs, chain.outputs))
        launches.append(cuda.launches() - before)
    assert launches[0] == launches[1] > 0


def unequal_concat(folder: Path) -> Path:
    """y = the inputs side by side, of 40 sizes: the provider sends the sizes in pinned memory."""
    value = helper.make_tensor_value_info
    inputs = [value(f"x{i}", TensorProto.FLOAT, [4, i + 1]) for i in range(40)]
    node = helper.make_node("Concat", [x.name for x in inputs], ["y"], axis=1)
    size = sum(i + 1 for i in range(40))
    graph = helper.make_graph([node], "concat", inputs, [value("y", TensorProto.FLOAT, [4, size])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "concat.onnx")
    return folder / "concat.onnx"


def test_pinned_memory_that_kernels_leave_is_given_back(
    cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    path = unequal_concat(tmp_path)
    subject = Subject(on("cpu:1,cuda:0:2", opened), path)
    inputs = [to_value(np.ones((4, i + 1), np.float32)) for i in range(40)]
    subject.run(inputs, 8 * DRAINS_AFTER)
    cuda.violations()
    # Draining waits; nothing more is allocated.
    broken = subject.run_sealed(cuda, inputs, 8 * DRAINS_AFTER)
    assert set(broken) == {"cudaStreamSynchronize after warm-up"}


def test_a_segment_that_goes_frees_pinned_memory_in_no_host_function(
    cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    """There the provider's own arena would end, and the process with it: an H100 showed it."""
    machine = on("cpu:1,cuda:0:2", opened)
    subject = Subject(machine, unequal_concat(tmp_path))
    subject.run([to_value(np.ones((4, i + 1), np.float32)) for i in range(40)], 8)
    del subject
    path, inputs = built("lenet", tmp_path)
    Subject(machine, path).run(inputs, 8)  # the stream goes on, and calls what it was given


def test_a_query_without_memory_fails_alone(
    cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    path, inputs = built("squeezenet", tmp_path)
    subject = Subject(on("cpu:1,cuda:0:1", opened), path)
    subject.run(inputs, 8)
    kept = subject.gpu()["memory_bytes"]
    big, big_inputs = built("resnet50", tmp_path)
    cuda.limit(kept)
    with pytest.raises(RuntimeError, match="memory"):
        Subject(subject.machine, big)
    subject.run(inputs, 8)
    cuda.limit(0)
    Subject(subject.machine, big).run(big_inputs, 8)


@pytest.mark.parametrize("function", ["launch", "execute", "cudaEventRecord"])
def test_a_lost_device_ends_queries_with_its_error(
    function: str, cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    path, inputs = built("squeezenet", tmp_path)
    machine = open_machine(parse_devices("cpu:1,cuda:0:2"), reopens=True)
    opened.append(machine)
    subject = Subject(machine, path)
    subject.run(inputs, 8)
    cuda.inject(function, 700, nth=5)
    failed = []
    for _ in range(3):
        run = subject.plan.submit(inputs)
        assert run.wait()
        if run.status != "ok":
            failed.append(run.error)
    assert failed
    assert all("is lost" in text and "700" in text for text in failed), failed
    assert "700" in str(subject.gpu()["failure"])
    machine.close()
    Subject(on("cpu:1,cuda:0:2", opened), path).run(inputs, 40)


def test_a_launch_that_fails_fails_its_query_alone(
    cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    out_of_resources = 701
    path, inputs = built("squeezenet", tmp_path)
    subject = Subject(on("cpu:1,cuda:0:1", opened), path)
    subject.run(inputs, 8)
    cuda.inject("launch", out_of_resources, nth=5)
    run = subject.plan.submit(inputs)
    assert run.wait()
    assert run.status == "failed"
    subject.run(inputs, 40)


def test_answers_are_zeros(cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path) -> None:
    """Or the provider's kernels would not be those that these tests are about."""
    path, inputs = built("lenet", tmp_path)
    subject = Subject(on("cpu:1,cuda:0:1", opened), path)
    run = subject.plan.submit(inputs)
    assert run.wait()
    (answer,) = run.outputs()
    assert not np.any(from_value(answer))
