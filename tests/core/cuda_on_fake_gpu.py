"""Plans over a CUDA device from Python; run by tests/fake_gpu/test_fake_gpu.py."""

import numpy as np
import pytest
from onnx import helper

from surplus.engine._core import DeviceOptions, Machine, PlanBuilder
from surplus.engine.native import load_runtime
from surplus.engine.values import from_value, to_value
from tests.core.session_plans import ADD, FLOAT, model
from tests.fakes.cuda_library import FakeCuda

CPU, GPU = 0, 1

RELU = model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT)], [("y", FLOAT)])

load_runtime()


@pytest.fixture
def fake():
    return FakeCuda()


def cuda(path, lanes, sms=0, driver=None):
    options = DeviceOptions(kind="cuda", name=f"cuda:0[{sms}sm]" if sms else "cuda:0", lanes=lanes)
    cuda_options = options.cuda
    cuda_options.library = str(path)
    cuda_options.driver = str(driver or path)
    cuda_options.sms = sms
    cuda_options.reserve_bytes = 1 << 20
    return options


@pytest.fixture(params=[1, 3])
def machine(fake, request):
    machine = Machine(
        [DeviceOptions(kind="cpu", name="cpu", lanes=2), cuda(fake.path, request.param)]
    )
    yield machine
    machine.close()
    assert fake.violations() == ""


def branches(machine, count):
    """On the GPU: y_i = relu(2 x) for each of ``count`` branches, doubled again on the CPU."""
    builder = PlanBuilder(machine)
    x, moved, doubled = (builder.add_value(name) for name in ("x", "moved", "doubled"))
    builder.add_copy("in", CPU, GPU, x, moved)
    builder.add_session("double", GPU, ADD, [("x", moved)], [("y", doubled)])
    outputs = []
    for i in range(count):
        made, back, y = (builder.add_value(f"{name}{i}") for name in ("made", "back", "y"))
        builder.add_session(f"relu{i}", GPU, RELU, [("x", doubled)], [("y", made)])
        builder.add_copy(f"out{i}", GPU, CPU, made, back)
        builder.add_session(f"cpu{i}", CPU, ADD, [("x", back)], [("y", y)])
        outputs.append(y)
    builder.set_inputs([x])
    builder.set_outputs(outputs)
    return builder.build()


def test_segments_on_both_devices_answer_right(machine):
    plan = branches(machine, 4)
    arrays = [np.random.default_rng(i).standard_normal((i, 7)).astype(np.float32) for i in range(9)]
    runs = [plan.submit([to_value(array)]) for array in arrays]
    for run, array in zip(runs, arrays, strict=True):
        assert run.wait()
        assert run.status == "ok", run.error
        for value in run.outputs():
            np.testing.assert_array_equal(from_value(value), 2 * np.maximum(2 * array, 0))


def test_all_of_cuda_is_given_back(fake):
    machine = Machine([DeviceOptions(), cuda(fake.path, 2)])
    value = branches(machine, 2).run([to_value(np.ones(5, np.float32))])[0]
    machine.close()
    np.testing.assert_array_equal(from_value(value), np.full(5, 4, np.float32))
    assert fake.violations() == ""
    del value
    assert fake.alive() == 0


def test_a_lost_device_says_so_in_runs_and_statistics(fake):
    machine = Machine([DeviceOptions(), cuda(fake.path, 1)])
    plan = branches(machine, 2)
    fake.inject("execute", 3, 700)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"'cuda:0' is lost: .*700 .cudaErrorIllegalAddress"):
            plan.run([to_value(np.ones(5, np.float32))])
    assert "700" in machine.stats()["devices"][GPU]["failure"]
    assert "failure" not in machine.stats()["devices"][CPU]
    machine.close()


def test_a_plan_says_why_a_segment_is_not_captured(machine):
    builder = PlanBuilder(machine)
    x, moved, made, y = (builder.add_value(name) for name in ("x", "moved", "made", "y"))
    builder.add_copy("in", CPU, GPU, x, moved)
    builder.add_session("relu", GPU, RELU, [("x", moved)], [("y", made)], captured_ns=0)
    builder.add_copy("out", GPU, CPU, made, y)
    builder.set_inputs([x])
    builder.set_outputs([y])
    plan = builder.build()
    assert plan.captured_nodes == []
    assert plan.uncaptured == {1: "its sizes are open"}
    (value,) = plan.run([to_value(np.array([-1.0, 2.0], np.float32))])
    np.testing.assert_array_equal(from_value(value), [0.0, 2.0])
    assert machine.stats()["devices"][GPU]["replayed"] == 0


def test_strings_have_no_place_on_a_gpu(machine):
    plan = branches(machine, 1)
    with pytest.raises(RuntimeError, match="only tensors of numbers"):
        plan.run([to_value(np.array(["a"], object))])


def test_an_output_in_gpu_memory_is_refused_when_the_plan_is_built(machine):
    builder = PlanBuilder(machine)
    x, moved = builder.add_value("x"), builder.add_value("moved")
    builder.add_copy("in", CPU, GPU, x, moved)
    builder.set_inputs([x])
    builder.set_outputs([moved])
    with pytest.raises(ValueError, match="'cuda:0': add a copy to a CPU"):
        builder.build()


@pytest.mark.parametrize("has_driver", [True, False])
def test_partitions_of_a_gpu_share_its_memory(fake, tmp_path, has_driver):
    driver = None if has_driver else tmp_path / "libcuda.so.1"
    parts = [cuda(fake.path, 2, sms, driver) for sms in (64, 32)]
    machine = Machine([DeviceOptions(), *parts])
    builder = PlanBuilder(machine)
    x, moved, doubled, made, y = (builder.add_value(n) for n in ("x", "moved", "2x", "made", "y"))
    builder.add_copy("in", CPU, GPU, x, moved)
    builder.add_session("double", GPU, ADD, [("x", moved)], [("y", doubled)])
    builder.add_session("relu", GPU + 1, RELU, [("x", doubled)], [("y", made)])
    builder.add_copy("out", GPU + 1, CPU, made, y)
    builder.set_inputs([x])
    builder.set_outputs([y])
    (value,) = builder.build().run([to_value(np.array([-1.0, 2.0], np.float32))])
    np.testing.assert_array_equal(from_value(value), [0.0, 4.0])
    rows = machine.stats()["devices"]
    assert [row["name"] for row in rows] == ["cpu", "cuda:0[64sm]", "cuda:0[32sm]"]
    assert ["warning" in row for row in rows] == [False, not has_driver, not has_driver]
    machine.close()
    assert fake.violations() == ""
