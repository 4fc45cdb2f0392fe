import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from bench.models.large_models import write_large_model
from surplus.engine.cache_folder import cache_folder
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.errors import ExecutionError, InputError, ProfileError
from surplus.engine.profiling.calibrate import calibrate, random_inputs
from surplus.engine.profiling.costs import problem_of
from surplus.engine.profiling.counters import Counters
from surplus.engine.profiling.cpu_profiler import OVERHEAD_TRIES, ProfilingParams
from surplus.engine.profiling.disturbance import Watch
from surplus.engine.profiling.profile import Profile, TensorProfile
from surplus.engine.profiling.profiler import profile_graph
from surplus.engine.profiling.timing import Timing
from surplus.engine.profiling.timing_store import TimingStore
from surplus.placement.widths import narrow

DEVICES = parse_devices("cpu:2,emulated:gpu")
INPUTS = {"x": np.ones((3, 16), np.float32), "names": np.array(["b", "a"], dtype=object)}


class CountingTimer:
    """1 ms for everything, but 1 microsecond for the session alone."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, session, inputs, repeats, budget_ns, warmup) -> list[int]:
        self.calls += 1
        return [1_000] * 3 if self.calls == 1 else [1_000_000, 1_010_000, 1_030_000]


def value(name, shape=None, elem_type=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, elem_type, shape)


@pytest.fixture
def graph(tmp_path: Path):
    """Two equal MatMuls of other weights, a data-dependent shape, a sequence, text, an alias."""
    rng = np.random.default_rng(1)
    constants = [
        numpy_helper.from_array(rng.normal(size=(16, 16)).astype(np.float32), name)
        for name in ("w1", "w2")
    ]
    constants.append(numpy_helper.from_array(np.array(0), "zero"))
    constants.append(numpy_helper.from_array(np.array([-1]), "flat"))
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"]),
        helper.make_node("MatMul", ["x", "w2"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("NonZero", ["c"], ["where"]),
        helper.make_node("Reshape", ["c", "flat"], ["line"]),
        helper.make_node("SequenceConstruct", ["line", "line"], ["s"]),
        helper.make_node("SequenceAt", ["s", "zero"], ["q"]),
        helper.make_node("Shape", ["a"], ["shape"]),
        helper.make_node("Shape", ["b"], ["shape_b"]),
        helper.make_node("Identity", ["names"], ["same_names"]),
    ]
    made = helper.make_graph(
        nodes,
        "test",
        [value("x", ["n", 16]), value("names", [2], TensorProto.STRING)],
        [
            value("where", None, TensorProto.INT64),
            value("q"),
            value("shape", [2], TensorProto.INT64),
            value("shape_b", [2], TensorProto.INT64),
            value("same_names", [2], TensorProto.STRING),
        ],
        constants,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return read(path, tmp_path / "graphs")


@pytest.fixture
def profile(graph) -> Profile:
    return profile_graph(graph, DEVICES, INPUTS, timer=CountingTimer())


def task(graph, kind: str, nth: int = 0) -> str:
    return [t.name for t in graph.tasks if t.op_type == kind][nth]


def test_calibration_sees_every_size(graph) -> None:
    seen = {}
    for step in calibrate(graph, INPUTS):
        seen = step.seen
    assert seen["a"].shape == (3, 16)
    assert seen["a"].size_bytes == 4 * 48
    assert seen["where"].shape[0] == 2
    assert seen["s"].shape is None
    assert set(seen) == {t.name for t in graph.tensors}


def test_equal_signatures_are_measured_once(graph) -> None:
    timer = CountingTimer()
    made = profile_graph(graph, DEVICES[:1], INPUTS, timer=timer)
    signatures = {t.signature for t in made.tasks if t.op not in ("Reshape", "Identity")}
    assert len(signatures) < len(made.tasks)
    overhead_and_whole_model = OVERHEAD_TRIES + 2
    assert timer.calls == overhead_and_whole_model + 2 * len(signatures)


def test_second_profile_measures_nothing(graph, tmp_path: Path) -> None:
    first, second = CountingTimer(), CountingTimer()
    a = profile_graph(graph, DEVICES, INPUTS, cache=tmp_path / "store", timer=first)
    b = profile_graph(graph, DEVICES, INPUTS, cache=tmp_path / "store", timer=second)
    assert first.calls > 0
    assert second.calls == 0
    assert a.tasks == b.tasks
    assert a.whole_model == b.whole_model


class Cores:
    """Two cores of which another process takes one, while ``taken``."""

    def __init__(self) -> None:
        self.taken = True
        self.readings = 0

    def watch(self) -> Watch:
        return Watch(self._read, cores=2)

    def _read(self) -> Counters:
        self.readings += 1
        now_ns = time.monotonic_ns()
        return Counters(now_ns, 0, 2, now_ns if self.taken else 0, 0, {})


def test_what_was_measured_beside_others_is_measured_again_when_they_are_gone(
    graph, tmp_path: Path
) -> None:
    cores = Cores()

    def calls() -> int:
        timer = CountingTimer()
        store = tmp_path / "store"
        profile_graph(graph, DEVICES, INPUTS, cache=store, timer=timer, watch=cores.watch())
        return timer.calls

    first = calls()
    cores.taken = False
    again = calls()
    assert 0 < again <= first
    assert calls() == 0
    cores.taken = True
    assert calls() == 0  # what a quiet machine told holds on a busy one, too


def test_a_busy_machine_is_asked_about_once_a_signature(tmp_path: Path) -> None:
    """20,000 nodes asked 40,000 times, for half of a load's time."""
    inputs = {"x": np.ones((1, 16), np.float32)}

    def readings(nodes: int) -> int:
        path = write_large_model("chain", nodes, tmp_path)
        cores = Cores()
        chain = read(path, tmp_path / "cache")
        timer = CountingTimer()
        profile_graph(chain, DEVICES[:1], inputs, timer=timer, watch=cores.watch())
        return cores.readings

    assert readings(40) == readings(20) > 0


def test_what_takes_seconds_is_not_repeated(graph) -> None:
    asked: list[int] = []

    def timer(session, inputs, repeats, budget_ns, warmup) -> list[int]:
        asked.append(repeats)
        return [2_000_000_000]

    params = ProfilingParams(max_repeats=200)
    made = profile_graph(graph, DEVICES[:1], INPUTS, timer=timer, params=params)
    assert set(asked) == {200}
    assert made.whole_model_ns("cpu", 1) == 2_000_000_000


def test_times_are_medians_without_the_session(graph, profile: Profile) -> None:
    assert profile.session_overhead_ns == 1_000 - 150
    name = task(graph, "MatMul")
    for width in (1, 2):
        assert profile.service_ns(name, "cpu", width) == 1_010_000 - 850
    row = next(t for t in profile.tasks if t.name == name)
    assert row.times["cpu"][1].mad_ns == 10_000
    assert profile.whole_model_ns("cpu", 2) == 1_010_000
    assert profile.whole_model_ns("emulated:gpu") is None


def test_aliases_cost_what_an_operator_costs_at_least(graph, profile: Profile) -> None:
    assert profile.service_ns(task(graph, "Reshape"), "cpu") == 150


def test_gpu_takes_neither_sequences_nor_text(graph, profile: Profile) -> None:
    assert profile.service_ns(task(graph, "SequenceConstruct"), "emulated:gpu") is None
    assert profile.service_ns(task(graph, "MatMul"), "emulated:gpu") == 7_000
    assert "derived" in profile.device("emulated:gpu").origin
    assert profile.device("cpu").origin == "measured"


def test_real_timer(graph) -> None:
    params = ProfilingParams(max_repeats=5, budget_ns=100_000, whole_budget_ns=100_000)
    made = profile_graph(graph, DEVICES, INPUTS, params=params)
    assert all(times[w].ns >= 1 for t in made.tasks for times in t.times.values() for w in times)


def test_progress_reaches_its_total(graph) -> None:
    calls: list[tuple[str, int, int]] = []
    profile_graph(
        graph, DEVICES, INPUTS, timer=CountingTimer(), progress=lambda *c: calls.append(c)
    )
    assert ("profile tasks", len(graph.tasks), len(graph.tasks)) in calls
    assert calls[-1] == ("profile whole model", 2, 2)


def test_round_trip(profile: Profile, tmp_path: Path) -> None:
    profile.save(tmp_path / "p.json")
    assert Profile.load(tmp_path / "p.json") == profile
    assert profile.device_specs() == DEVICES
    assert [p.name for p in tmp_path.glob("*.tmp")] == []


def test_totals(graph, profile: Profile) -> None:
    rows = profile.totals_by_operator()
    assert sum(row["tasks"] for row in rows) == len(graph.tasks)
    assert rows[0]["cpu ms"] >= rows[-1]["cpu ms"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw.pop("format"), "field 'format'"),
        (lambda raw: raw.pop("tensors"), "missing required field `tensors`"),
        (lambda raw: raw.update(extra=1), "field 'extra' is unknown"),
        (lambda raw: raw.update(tasks={}), r"profile\.tasks: expected `array`"),
        (lambda raw: raw["devices"][0].update(lanes="two"), r"devices\[0\]\.lanes: expected `int`"),
        (lambda raw: raw["devices"][0].update(lanes=0), "needs a lane"),
        (lambda raw: raw["devices"][0].update(kind="tpu"), "'tpu' is unknown"),
        (lambda raw: raw["links"][0].update(bytes_per_s=0), "bytes_per_s must be > 0"),
        (lambda raw: raw["tasks"][0]["times"]["cpu"].update(x={"ns": 1}), "at `key` in `\\$.tasks"),
        (lambda raw: raw["tasks"][0]["times"]["cpu"]["1"].update(ns=-1), "must be >= 0"),
        (lambda raw: raw["machine"].update(cores=True), r"machine\.cores: expected `int`"),
    ],
)
def test_malformed_profiles_name_the_field(profile: Profile, change, message: str) -> None:
    raw = json.loads(profile.to_json())
    change(raw)
    with pytest.raises(ProfileError, match=message):
        Profile.from_json(json.dumps(raw))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000])
def test_what_is_no_profile(text: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(ProfileError, match=r"p\.json"):
        Profile.load(path)


def test_unknown_names(profile: Profile) -> None:
    with pytest.raises(ProfileError, match="no task 'nobody'"):
        profile.service_ns("nobody", "cpu")
    with pytest.raises(ProfileError, match="no width 3"):
        profile.service_ns(profile.tasks[0].name, "cpu", 3)
    with pytest.raises(ProfileError, match="no device 'npu'"):
        profile.service_ns(profile.tasks[0].name, "npu")


def test_an_empty_tensor_is_copied_like_any_other(graph, profile: Profile) -> None:
    empty = replace(profile, tensors={**profile.tensors, "where": TensorProfile(0, (2, 0))})
    problem = problem_of(graph, empty)
    size_bytes = next(t.size_bytes for t in problem.tensors if t.name == "where")
    assert size_bytes > 0
    assert problem.copy_ns(1, 0, size_bytes) >= problem.copy_ns(1, 0, 1)


def test_problem(graph, profile: Profile) -> None:
    problem = problem_of(graph, profile)
    assert [d.name for d in problem.devices] == ["cpu", "emulated:gpu"]
    assert problem.devices[1].memory_bytes == 24 << 30
    assert [t.name for t in problem.tasks] == [t.name for t in graph.tasks]
    by_kind = {t.kind: t for t in problem.tasks}
    assert by_kind["MatMul"].default_device == 1
    assert by_kind["MatMul"].weight_bytes == 4 * 256
    assert by_kind["SequenceAt"].default_device == 0
    assert by_kind["SequenceAt"].service_ns[1] is None
    sizes = {t.name: t.size_bytes for t in problem.tensors}
    assert sizes["a"] == 4 * 48
    assert sizes["s"] == 0
    assert len(problem.links) == 2


def test_tasks_may_take_the_widths_that_were_profiled(graph, profile: Profile) -> None:
    problem = problem_of(graph, profile, widths=True)
    width = profile.device("cpu").widths[-1]
    assert width > 1
    assert problem.places == ((0, 0), (1, 0), (0, width))
    for task in problem.tasks:
        assert task.wider_ns == (((width, profile.service_ns(task.name, "cpu", width)),), ())
    assert problem_of(graph, profile) == narrow(problem)


def test_problem_for_fewer_devices_and_other_lanes(graph, profile: Profile) -> None:
    problem = problem_of(graph, profile, parse_devices("cpu:1"))
    assert [(d.name, d.lanes) for d in problem.devices] == [("cpu", 1)]
    assert problem.links == ()


def test_problem_refuses_what_does_not_fit(graph, profile: Profile) -> None:
    with pytest.raises(ProfileError, match="no device 'emulated:npu'"):
        problem_of(graph, profile, parse_devices("cpu:1,emulated:npu"))
    with pytest.raises(ProfileError, match="profiled as titan_rtx, not h200"):
        problem_of(graph, profile, parse_devices("cpu:1,emulated:gpu[h200]"))
    raw = json.loads(profile.to_json())
    raw["model_hash"] = "0" * 64
    with pytest.raises(ProfileError, match="of another model"):
        problem_of(graph, Profile.from_json(json.dumps(raw)))


def test_two_gpus_are_linked_through_the_host(graph) -> None:
    specs = parse_devices("cpu:1,emulated:a,emulated:b[h200]")
    made = profile_graph(graph, specs, INPUTS, timer=CountingTimer())
    assert len(problem_of(graph, made).links) == 6


def test_inputs_that_do_not_fit(graph) -> None:
    with pytest.raises(InputError, match="'names' is missing"):
        profile_graph(graph, DEVICES, {"x": INPUTS["x"]}, timer=CountingTimer())
    wrong = {**INPUTS, "x": np.ones((3, 5), np.float32)}
    with pytest.raises(ExecutionError, match="MatMul"):
        profile_graph(graph, DEVICES, wrong, timer=CountingTimer())


def test_random_inputs(graph) -> None:
    made = random_inputs(graph, {"n": 5})
    assert made["x"].shape == (5, 16)
    assert made["x"].dtype == np.float32
    assert made["names"].tolist() == ["a", "a"]
    assert random_inputs(graph, {})["x"].shape == (1, 16)
    np.testing.assert_array_equal(made["x"], random_inputs(graph, {"n": 5})["x"])


def test_store_survives_damage_and_unwritable_folders(tmp_path: Path) -> None:
    (tmp_path / "timings-2.sqlite").write_bytes(b"no database, " * 100)
    store = TimingStore(tmp_path)
    store.put("k", Timing(5, 1))
    store.close()
    again = TimingStore(tmp_path)
    assert again.get("k") == Timing(5, 1)
    again.close()
    (tmp_path / "file").touch()
    lost = TimingStore(tmp_path / "file" / "below")
    lost.put("k", Timing(7))
    assert lost.get("k") == Timing(7)
    lost.close()


def test_cache_folder() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/surplus")
    assert cache_folder({}) == Path.home() / ".cache" / "surplus"
