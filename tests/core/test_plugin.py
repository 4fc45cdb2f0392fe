"""Sessions on a plugin provider: made, run and destroyed by one thread, beside those of the CPU."""

import gc
import threading

import numpy as np
import pytest
from onnx import TensorProto, helper

from surplus.engine._core import DeviceOptions, Machine, PlanBuilder, open_plugin
from surplus.engine.native import load_runtime
from surplus.engine.values import from_value, to_value
from tests.core.session_plans import model
from tests.fakes.plugin import fake_plugin

CPU, PLUGIN = 0, 1

FLOAT = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
NEG_EXP_ABS = model(
    [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Exp", ["a"], ["b"]),  # the provider does not take it: the CPU does
        helper.make_node("Abs", ["b"], ["y"]),
    ],
    [("x", FLOAT)],
    [("y", FLOAT)],
)
ADD = model([helper.make_node("Add", ["x", "x"], ["y"])], [("x", FLOAT)], [("y", FLOAT)])

load_runtime()


@pytest.fixture(scope="module")
def fake():
    return fake_plugin()


def machine_with(fake, name="fake"):
    open_plugin(name, str(fake.path))
    device = DeviceOptions(kind="plugin", name=f"plugin:{name}", lanes=1)
    device.provider = name
    return Machine([DeviceOptions(kind="cpu", name="cpu", lanes=2), device])


def chain(machine, *segments):
    """Segments one after another, each on its device, its input and output named x and y."""
    builder = PlanBuilder(machine)
    first = value = builder.add_value("input")
    at = CPU
    for number, (device, proto) in enumerate(segments):
        value, at = moved(builder, value, at, device), device
        made = builder.add_value(f"made {number}")
        builder.add_session(f"s{number}", device, proto, [("x", value)], [("y", made)], rank=number)
        value = made
    builder.set_inputs([first])
    builder.set_outputs([moved(builder, value, at, CPU)])
    return builder.build()


def moved(builder, value, source, target):
    if source == target:
        return value
    there = builder.add_value("moved")
    builder.add_copy("copy", source, target, value, there)
    return there


def answer(plan, numbers):
    outputs = plan.run([to_value(np.array(numbers, np.float32), TensorProto.FLOAT)])
    return from_value(outputs[0])


def test_segments_of_both_devices_answer_as_numpy(fake):
    machine = machine_with(fake)
    before = fake.runs()
    plan = chain(machine, (PLUGIN, NEG_EXP_ABS), (CPU, ADD), (PLUGIN, ADD))
    x = np.array([[0.5, -1.0], [2.0, 0.0]], np.float32)
    np.testing.assert_allclose(answer(plan, x), 4 * np.exp(-x), rtol=1e-6)
    assert fake.runs() == before + 3  # Neg and Abs, and one Add
    machine.close()


def test_machines_and_callers_share_the_one_thread(fake):
    machines = [machine_with(fake) for _ in range(3)]
    plans = [chain(m, (PLUGIN, ADD), (CPU, ADD), (PLUGIN, NEG_EXP_ABS)) for m in machines]
    wrong = []

    def call(plan):
        for number in range(20):
            if not np.allclose(answer(plan, [number / 10]), np.exp(-0.4 * number), rtol=1e-6):
                wrong.append(number)

    callers = [threading.Thread(target=call, args=(plan,)) for plan in plans * 2]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong
    for machine in machines:
        machine.close()
    assert fake.strays() == 0


def test_sessions_go_with_their_plans_on_their_thread(fake, tmp_path):
    machine = machine_with(fake)
    answer(chain(machine, (PLUGIN, ADD)), [1.0])
    gc.collect()
    chain(machine, (CPU, ADD))
    idle = chain(machine, (PLUGIN, ADD))  # made by the thread after what was dropped
    assert fake.sessions() == 1
    path = tmp_path / "add.onnx"
    path.write_bytes(ADD)
    shared = [chain(machine, (PLUGIN, str(path))) for _ in range(3)]
    on_cpu = chain(machine, (CPU, str(path)))
    assert fake.sessions() == 2  # one file is one session, that of the CPU another
    assert answer(on_cpu, [1.0]) == answer(shared[0], [1.0]) == answer(idle, [1.0]) == 2.0
    del shared, idle, on_cpu
    machine.close()
    assert fake.strays() == 0


def test_spans_lie_on_one_lane_and_follow_each_other(fake):
    machine = machine_with(fake)
    builder = PlanBuilder(machine)
    x = builder.add_value("x")
    for number in range(4):
        made = builder.add_value(f"y{number}")
        builder.add_session(f"s{number}", PLUGIN, ADD, [("x", x)], [("y", made)], rank=-number)
    builder.set_inputs([x])
    run = builder.build().execute([to_value(np.ones(4, np.float32), 1)], traced=True)
    spans = run.spans()
    ordered = spans[np.argsort(spans[:, 3])]
    assert set(spans[:, 1]) == {0}
    assert (ordered[1:, 3] >= ordered[:-1, 4]).all()
    machine.close()


def test_a_failing_run_names_its_segment_and_the_reason(fake):
    machine = machine_with(fake, "failing")
    plan = chain(machine, (PLUGIN, ADD))
    with pytest.raises(RuntimeError, match=r"(model|segment) 's0': .*the fake provider fails"):
        answer(plan, [1.0])
    machine.close()


def test_a_session_that_may_not_fall_back_is_refused(fake):
    machine = machine_with(fake)
    builder = PlanBuilder(machine)
    x, y = builder.add_value("x"), builder.add_value("y")
    config = {"session.disable_cpu_ep_fallback": "1"}
    with pytest.raises(RuntimeError, match="fallback"):
        builder.add_session("s", PLUGIN, NEG_EXP_ABS, [("x", x)], [("y", y)], config=config)
    machine.close()


def test_a_library_is_registered_once_and_says_what_it_drives(fake):
    described = open_plugin("fake", str(fake.path))
    assert described == open_plugin("fake", str(fake.path))
    assert [row["provider"] for row in described] == ["FakeExecutionProvider"]
    assert described[0]["kind"] == "CPU"
    assert described[0]["facts"]["version"] == "0.1.0"
    with pytest.raises(RuntimeError, match=r"'fake' is already loaded from .*fake_plugin"):
        open_plugin("fake", "/elsewhere.so")


def test_what_does_not_register_is_quoted(fake, tmp_path):
    with pytest.raises(RuntimeError, match="the fake provider is broken"):
        open_plugin("broken", str(fake.path))
    with pytest.raises(RuntimeError, match="absent"):
        open_plugin("none", str(tmp_path / "absent.so"))
    text = tmp_path / "text.so"
    text.write_text("no library")
    with pytest.raises(RuntimeError, match=r"text\.so"):
        open_plugin("none", str(text))


def test_a_provider_without_a_processor_opens_no_session(fake):
    assert open_plugin("idle", str(fake.path)) == []
    machine = machine_with(fake, "idle")
    with pytest.raises(RuntimeError, match="'idle' finds no processor"):
        chain(machine, (PLUGIN, ADD))
    machine.close()


def test_a_device_without_its_provider_is_refused():
    with pytest.raises(RuntimeError, match="'unheard' is not open"):
        DeviceOptions(kind="plugin", name="plugin:unheard", lanes=1).provider = "unheard"
    with pytest.raises(ValueError, match="its provider is not open"):
        Machine([DeviceOptions(kind="plugin", name="plugin:unheard", lanes=1)])
