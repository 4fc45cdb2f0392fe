"""The Python face of the scheduler, with nodes that need no ONNX."""

import gc
import select
import threading
import time

import numpy as np
import pytest

core = pytest.importorskip("surplus.engine._core")

HOUR_NS = 3_600_000_000_000
TRIES = 10_000
"""Where others hold the cores, a lane may begin when the other has ended."""


def cpu(lanes=1):
    return core.DeviceOptions(kind="cpu", name="cpu", lanes=lanes)


def emulated(lanes=1, **options):
    device = core.DeviceOptions(kind="emulated", name="gpu", lanes=lanes)
    for name, value in options.items():
        setattr(device if name == "memory_bytes" else device.emulated, name, value)
    return device


@pytest.fixture(params=[1, 2, 3])
def machine(request):
    machine = core.Machine([cpu(request.param), emulated(2)])
    yield machine
    machine.close()


def chain(machine, count=3, **work):
    builder = core.PlanBuilder(machine)
    node = builder.add_work("n0", 0)
    for i in range(1, count):
        node = builder.add_work(f"n{i}", 0, after=[node], **work)
    return builder.build()


def test_plan_runs_and_counts(machine):
    plan = chain(machine, 5)
    assert plan.node_names == ["n0", "n1", "n2", "n3", "n4"]
    assert plan.run([]) == []
    stats = machine.stats()
    cpu_row, gpu_row = stats["devices"]
    assert cpu_row.pop("lanes") in (1, 2, 3)
    assert cpu_row == {"name": "cpu", "executed": 5, "queued": 0, "held": 0}
    assert gpu_row == {"name": "gpu", "lanes": 2, "executed": 0, "queued": 0, "held": 0}
    assert (stats["live_values"], stats["live_bytes"]) == (0, 0)


def test_submitted_run_reports_itself(machine):
    run = chain(machine).submit([], tag=7)
    assert run.wait()
    assert (run.done, run.status, run.error, run.error_node, run.tag) == (True, "ok", "", -1, 7)
    assert run.outputs() == []


def test_spans_follow_the_dependencies(machine):
    run = chain(machine, 4).submit([], traced=True)
    run.wait()
    spans = run.spans()
    assert spans.dtype == np.int64
    assert spans[:, 0].tolist() == [0, 1, 2, 3]
    assert (spans[:, 1] >= 0).all()
    assert (spans[:, 2] <= spans[:, 3]).all()
    assert (spans[1:, 3] >= spans[:-1, 4]).all()


def test_traced_run_tells_when_it_was_submitted(machine):
    before_ns = time.monotonic_ns()
    run = chain(machine, 4).submit([], traced=True)
    assert before_ns <= run.submitted_ns <= time.monotonic_ns()
    run.wait()
    assert run.submitted_ns + run.spans()[-1, 4] <= time.monotonic_ns()


def test_untraced_run_has_no_spans(machine):
    run = chain(machine).submit([])
    run.wait()
    assert run.spans().shape == (0, 5)
    assert run.submitted_ns == 0


def test_emulated_device_charges_the_service_time(machine):
    builder = core.PlanBuilder(machine)
    builder.add_work("a", 1, spin_ns=1_000_000)
    builder.add_work("b", 1, spin_ns=1_000_000)
    plan = builder.build()
    for _ in range(TRIES):
        run = plan.submit([], traced=True)
        run.wait()
        start, end = run.spans()[:, 3], run.spans()[:, 4]
        assert (end - start).tolist() == [1_000_000, 1_000_000]
        if max(start) < min(end):
            break
    assert max(start) < min(end), "two lanes never overlap"


def test_failure_names_the_node_and_reaches_the_caller(machine):
    builder = core.PlanBuilder(machine)
    bad = builder.add_work("bad", 0, fail=True)
    builder.add_work("later", 0, after=[bad])
    plan = builder.build()
    with pytest.raises(RuntimeError, match="segment 'bad'"):
        plan.run([])
    run = plan.submit([])
    run.wait()
    assert (run.status, run.error_node) == ("failed", 0)


def test_timeout_cancels_the_run():
    machine = core.Machine([cpu(), emulated()])
    builder = core.PlanBuilder(machine)
    builder.add_work("slow", 1, spin_ns=HOUR_NS)
    plan = builder.build()
    with pytest.raises(TimeoutError):
        plan.run([], timeout_s=0.01)
    run = plan.submit([])
    assert not run.wait(timeout_s=0.0)
    run.cancel()
    assert run.wait()
    assert run.status == "cancelled"


@pytest.mark.parametrize("timeout_s", [1e10, 1e300, float("inf")])
def test_a_timeout_beyond_the_clock_is_none(machine, timeout_s):
    plan = chain(machine)
    assert plan.execute([], timeout_s=timeout_s).status == "ok"
    run = plan.submit([])
    assert run.wait(timeout_s=timeout_s)


def test_a_timeout_must_be_a_number(machine):
    with pytest.raises(ValueError, match="must be a number, got nan"):
        chain(machine).execute([], timeout_s=float("nan"))


def test_passed_deadline_ends_the_run(machine):
    run = chain(machine).submit([], deadline_ns=time.monotonic_ns() - 1)
    run.wait()
    assert run.status == "deadline"


def test_close_cancels_and_refuses():
    machine = core.Machine([cpu(2), emulated()])
    builder = core.PlanBuilder(machine)
    slow = builder.add_work("slow", 1, spin_ns=HOUR_NS)
    builder.add_work("after", 0, after=[slow])
    plan = builder.build()
    run = plan.submit([])
    waiter = threading.Thread(target=run.wait)
    waiter.start()
    machine.close()
    waiter.join()
    assert run.status == "cancelled"
    with pytest.raises(RuntimeError, match="closed"):
        plan.submit([])


def test_plan_keeps_its_machine_alive():
    machine = core.Machine([cpu(2)])
    plan = chain(machine)
    del machine
    gc.collect()
    assert plan.run([]) == []


def test_completions_wake_an_event_loop(machine):
    plan, completions = chain(machine), core.CompletionQueue()
    for tag in range(20):
        plan.submit([], completions=completions, tag=tag)
    seen = []
    while len(seen) < 20:
        assert select.select([completions.fd], [], [], 60)[0]
        seen += [run.tag for run in completions.drain()]
    assert sorted(seen) == list(range(20))


def test_many_threads_share_a_plan(machine):
    plan = chain(machine, 10)
    errors = []

    def call():
        for _ in range(50):
            try:
                plan.run([])
            except RuntimeError as error:
                errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert machine.stats()["devices"][0]["executed"] == 4 * 50 * 10


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda b: b.add_work("far", 9), "'far': device 9"),
        (lambda b: b.add_work("fat", 0, width=99), "'fat': width 99"),
        (lambda b: (b.add_work("loop", 0, after=[0]), b.build()), "'loop' lies on or behind"),
        (lambda b: b.set_outputs([3]), "value 3 is unknown"),
        (lambda b: (b.set_outputs([b.add_value("v")]), b.build()), "'v' is an output"),
    ],
)
def test_builder_refuses_and_names(machine, build, message):
    with pytest.raises(ValueError, match=message):
        build(core.PlanBuilder(machine))


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ([], "at least one device"),
        ([cpu(0)], "lanes must be 1 to"),
        ([core.DeviceOptions(kind="tpu", name="t")], "kind 'tpu' is unknown"),
        ([emulated(slowdown=[0.0])], "slowdown factors"),
        ([emulated(h2d_bytes_per_s=0.0)], "bandwidths"),
    ],
)
def test_machine_refuses_bad_devices(devices, message):
    with pytest.raises(ValueError, match=message):
        core.Machine(devices)


def copies_of_two_inputs(awaited):
    """Copies `a` and `b` from the host to the GPU, in this order; `a` waits for a value, too."""
    machine = core.Machine([cpu(), emulated(h2d_latency_ns=50_000)])
    builder = core.PlanBuilder(machine)
    values = {name: builder.add_value(name) for name in ("x", "y", "at", "bt")}
    builder.set_inputs([values["x"], values["y"]])
    builder.add_copy("a", 0, 1, values["x"], values["at"], rank=1, awaits=[values[awaited]])
    builder.add_copy("b", 0, 1, values["y"], values["bt"], rank=2)
    return builder


def test_a_copy_waits_for_a_value_that_it_does_not_read():
    run = copies_of_two_inputs("bt").build().submit([None, None], traced=True)
    assert run.wait()
    spans = {row[0]: row for row in run.spans().tolist()}
    assert spans[0][3] >= spans[1][4] >= 50_000


def test_what_waits_for_itself_is_refused():
    with pytest.raises(ValueError, match="'a' lies on or behind a cycle"):
        copies_of_two_inputs("at").build()


def test_what_nobody_writes_is_not_waited_for():
    builder = copies_of_two_inputs("bt")
    with pytest.raises(ValueError, match="'c': value 9 is unknown"):
        builder.add_copy("c", 0, 1, 0, builder.add_value("up"), awaits=[9])
    builder.add_copy("c", 0, 1, 0, builder.add_value("ct"), awaits=[builder.add_value("none")])
    with pytest.raises(ValueError, match="'c': value 'none' is never written"):
        builder.build()


def test_values_pass_through_copies():
    machine = core.Machine([cpu(), emulated()])
    builder = core.PlanBuilder(machine)
    source, there, back = (builder.add_value(name) for name in ("in", "there", "back"))
    builder.set_inputs([source])
    builder.add_copy("up", 0, 1, source, there)
    builder.add_copy("down", 1, 0, there, back)
    builder.set_outputs([back])
    plan = builder.build()
    run = plan.submit([None])
    run.wait()
    assert run.outputs() == [None]
    with pytest.raises(ValueError, match="has 1 inputs, got 0"):
        plan.run([])
