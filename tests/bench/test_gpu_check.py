"""The GPU check, rehearsed on an emulated GPU, and what it is made of."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from bench.gpu_check import __main__ as command
from bench.gpu_check import check as check_module
from bench.gpu_check import gpu_memory
from bench.gpu_check.check import Check, CheckParams
from bench.gpu_check.contender import WHOLE
from bench.gpu_check.figures import LATENCY, THROUGHPUT, figure
from bench.gpu_check.fixed_sizes import with_fixed_sizes
from bench.gpu_check.onnxruntime_cuda import CPU, CUDA, captured_runner, runner, session
from bench.gpu_check.other_process import isolated_runner
from bench.gpu_check.overlap_share import overlap_share
from bench.gpu_check.parts import OVERHEAD_S, ModelSpec, Part, first, full, model_of, short
from bench.gpu_check.relative_error import relative_error
from bench.gpu_check.setting import Setting, folder_name, gpu_title, timed_devices
from bench.gpu_check.unit import run_unit
from surplus import models
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.errors import DeviceError
from surplus.engine.profiling.profile import Profile
from surplus.placement.timeline import Span, SpanKind

DEVICES = "cpu:1,emulated:gpu:4"
FOLDER = "EMULATED-titan-rtx"
MACHINE = {"processor": "P", "cores": 2, "gpu": "G", "onnxruntime": "1", "commit": "c"}


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, *words: str) -> int:
    """The command, its models and results in ``folder``."""
    monkeypatch.setattr(
        "sys.argv",
        ["gpu_check", "--results", str(folder), "--work", str(folder / "work"), *words],
    )
    return command.main()


def quick(workers: int) -> tuple[Part, ...]:
    """The short check, each unit measured for a moment."""
    return tuple(replace(part, unit_s=0.2) for part in short(workers))


def in_this_process(part: Part, unit: str, setting: Setting, left_s: float) -> dict[str, Any]:
    """What ``run_unit`` does, without a new process for each unit; failures are raised."""
    assert left_s > 0
    measure = import_module(f"bench.gpu_check.units.{part.name}").measure
    found: dict[str, Any] = measure(model_of(unit), setting).to_dict()
    return found


def stored(folder: Path, part: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / FOLDER / f"{part}.json").read_text())
    return found


def test_a_rehearsal_runs_end_to_end_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "short", quick)
    monkeypatch.setattr(command, "Check", partial(Check, run=in_this_process))
    assert run(monkeypatch, tmp_path, "--short", "--devices", DEVICES) == 0
    lines = capsys.readouterr().out.splitlines()
    progress = lines[: lines.index("")]
    assert all(line.startswith("EMULATED ") for line in progress)
    page = (tmp_path / FOLDER / "README.md").read_text()
    assert "**EMULATED: no GPU took part.**" in page
    for part in short(1):
        document = stored(tmp_path, part.name)
        assert set(document["units"]) == {spec.text for spec in part.models}
        assert document["machine"]["gpu"] == "EMULATED titan_rtx"
        for unit in document["units"].values():
            values = [row["value"] for row in unit["figures"] if row["value"] is not None]
            assert all(math.isfinite(value) and value >= 0 for value in values)
    outputs = [
        row for unit in stored(tmp_path, "outputs")["units"].values() for row in unit["figures"]
    ]
    assert outputs
    assert all(row["met"] for row in outputs)
    profile = Profile.load(next((tmp_path / FOLDER).glob("*.profile.json.gz")))
    assert [device.name for device in profile.devices] == ["cpu", "emulated:gpu"]

    assert run(monkeypatch, tmp_path, "--short", "--devices", DEVICES) == 0
    assert "1 of 1 are stored" in capsys.readouterr().out


def test_a_machine_without_a_gpu_is_told_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("surplus.engine.devices.cuda_driver.LIBRARY", "libcuda-none.so")
    assert run(monkeypatch, tmp_path) == 2
    assert "gpu-check: no CUDA driver" in capsys.readouterr().err
    assert run(monkeypatch, tmp_path, "--devices", "cpu:2") == 2
    assert "needs one GPU beside the CPU, got 0" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


class Clock:
    """Goes on when a unit runs."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.asked: list[str] = []

    def __call__(self) -> float:
        return self.now_s

    def run(self, part: Part, unit: str, setting: Setting, left_s: float) -> dict[str, Any]:
        assert left_s > 0
        self.asked.append(f"{part.name} {unit}")
        self.now_s += min(part.unit_s, left_s)
        if unit == "dlrm":
            return {"error": "it failed"}
        if part.unit_s > left_s:
            return {"error": f"stopped after {left_s:.0f} s"}
        return {"figures": [], "details": {"budget": setting.budget_s}}


PARTS = (
    Part("one", (ModelSpec("lenet"), ModelSpec("dlrm")), 10),
    Part("two", (ModelSpec("moe"),), 20),
)


def play(
    tmp_path: Path, seconds: float, anew: bool = False, machine: dict[str, Any] | None = None
) -> tuple[Clock, Check]:
    clock = Clock()
    setting = Setting(DEVICES, tmp_path, tmp_path / "g", 0)
    params = CheckParams(setting, seconds, anew)
    check = Check(PARTS, params, machine or MACHINE, lambda line: None, clock.run, clock)
    check.play()
    return clock, check


def test_what_failed_or_had_no_time_is_measured_at_the_next_start(tmp_path: Path) -> None:
    first, check = play(tmp_path, 15)
    assert first.asked == ["one lenet", "one dlrm"]
    assert check.stores["two"].units["moe"]["error"].startswith("out of time")
    assert check.stores["one"].units["lenet"]["details"] == {"budget": 10}
    later = {**MACHINE, "commit": "d"}
    again, check = play(tmp_path, 100, machine=later)
    assert again.asked == ["one dlrm", "two moe"]
    assert check.stores["one"].units["lenet"]["commit"] == "c"
    assert check.stores["two"].units["moe"]["commit"] == "d"
    assert play(tmp_path, 100)[0].asked == ["one dlrm"]
    assert len(play(tmp_path, 100, anew=True)[0].asked) == 3


def test_what_is_cut_off_by_the_end_of_a_check_keeps_its_earlier_figures(tmp_path: Path) -> None:
    play(tmp_path, 100)
    later = {**MACHINE, "commit": "d"}
    clock, check = play(tmp_path, 25, anew=True, machine=later)
    assert clock.asked == ["one lenet", "one dlrm", "two moe"]
    kept = check.stores["two"].units["moe"]
    assert kept["details"] == {"budget": 20}
    assert kept["commit"] == "c"
    assert check.stores["one"].units["lenet"]["commit"] == "d"


def test_figures_of_another_machine_or_a_torn_file_are_dropped(tmp_path: Path) -> None:
    play(tmp_path, 100)
    other = play(tmp_path, 100, machine={**MACHINE, "gpu": "H"})[0]
    assert len(other.asked) == 3
    (tmp_path / "g" / "two.json").write_text("{")
    again = play(tmp_path, 100, machine={**MACHINE, "gpu": "H"})[0]
    assert again.asked == ["one dlrm", "two moe"]


def test_a_unit_measures_in_a_process_of_its_own(tmp_path: Path) -> None:
    setting = Setting(timed_devices(DEVICES), tmp_path, tmp_path, 0.2)
    found = run_unit(Part("outputs", (), 1), "lenet", setting, 60)
    assert [row["met"] for row in found["figures"]] == [True, True]


def test_a_contender_is_counted_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {**asdict(Setting(DEVICES, tmp_path, tmp_path, 0.2)), "work": str(tmp_path)}
    words = ["lenet", json.dumps({**row, "results": str(tmp_path)}), WHOLE, ""]
    monkeypatch.setattr("sys.argv", ["gpu_memory", *words])
    gpu_memory.main()
    assert int(capsys.readouterr().out) > 0


def test_an_emulated_gpu_answers_from_what_it_recorded_where_times_count() -> None:
    assert timed_devices(DEVICES) == "cpu:1,emulated:gpu[titan_rtx,replay]:4"
    assert timed_devices("cpu:2,cuda:0:4") == "cpu:2,cuda:0:4"


def test_a_unit_that_fails_says_why(tmp_path: Path) -> None:
    setting = Setting(DEVICES, tmp_path, tmp_path, 1)
    found = run_unit(Part("build", (), 1), "no_such_model", setting, 60)
    assert "no_such_model" in found["error"]


def test_a_unit_is_stopped_when_its_time_is_over(tmp_path: Path) -> None:
    setting = Setting(DEVICES, tmp_path, tmp_path, 1)
    found = run_unit(Part("outputs", (), 1), "lenet", setting, 0.0)
    assert found["error"] == "stopped after 0 s"


def test_the_parts_fit_into_eight_minutes() -> None:
    timed = [part for part in full(8) if part.workers == 1]
    seconds = sum((part.unit_s + OVERHEAD_S) * len(part.models) for part in timed)
    assert seconds + 120 <= command.SECONDS < 480
    assert {spec.name for spec in full(8)[0].models} == set(models.model_names())
    assert {part.name for part in full(8)} == {part.name for part in short(8)}


def test_the_first_stage_ends_within_five_minutes_whatever_hangs() -> None:
    limits = [part.limit_s or math.inf for part in first() for _ in part.models]
    assert sum(limits) <= command.FIRST_SECONDS == 300


def test_a_model_with_its_parameters_is_read_back() -> None:
    for part in (*first(), *full(1), *short(1)):
        assert [model_of(spec.text) for spec in part.models] == list(part.models)


def test_bars() -> None:
    assert figure("f", 0.6, LATENCY).met is True
    assert figure("f", 0.61, LATENCY).met is False
    assert figure("f", 1.79, THROUGHPUT).met is False
    assert figure("f", math.nan, THROUGHPUT).met is False
    assert figure("f", None, LATENCY, "why").met is None
    assert figure("f", 1.0).bar == ""


def span(kind: SpanKind, resource: str, start: int, end: int) -> Span:
    return Span(kind, 0, "s", "c", resource, (0,), start, start, end)


def test_overlap_is_of_the_side_that_did_less() -> None:
    task = SpanKind.SEGMENT
    spans = [
        span(task, "gpu", 0, 10),
        span(task, "gpu", 5, 20),  # another lane
        span(task, "gpu", 30, 40),
        span(task, "cpu", 15, 25),
        span(SpanKind.COPY, "host->gpu", 0, 100),
    ]
    assert overlap_share(spans, "gpu") == pytest.approx(5 / 10)
    assert overlap_share(spans[:3], "gpu") is None
    assert overlap_share([], "gpu") is None


def test_errors_are_relative_to_the_largest_of_an_output() -> None:
    a = {"y": np.array([1.0, -4.0], np.float32), "n": np.array([1, 2])}
    assert relative_error(a, a) == 0
    assert relative_error({**a, "y": np.array([1.0, -4.004], np.float32)}, a) == pytest.approx(
        1e-3, rel=1e-3
    )
    assert relative_error({"y": a["y"]}, a) == math.inf
    assert relative_error({**a, "y": np.ones(3, np.float32)}, a) == math.inf
    assert relative_error({**a, "y": np.array([np.nan, -4], np.float32)}, a) == math.inf
    zero = {"y": np.zeros(2, np.float32)}
    assert relative_error(zero, zero) == 0
    assert relative_error({"y": np.ones(2, np.float32)}, zero) == math.inf


def test_gpus_have_folders() -> None:
    assert folder_name("NVIDIA H200") == "nvidia-h200"
    specs = parse_devices("cpu:1,emulated:gpu[t4]")
    assert folder_name(gpu_title(specs)) == "EMULATED-t4"
    with pytest.raises(DeviceError, match="got 2"):
        gpu_title(parse_devices("cpu:1,emulated:a,emulated:b"))
    with pytest.raises(DeviceError, match="'plugin:webgpu': the check is of CUDA"):
        gpu_title(parse_devices("cpu:1,plugin:webgpu"))


def test_onnx_runtimes_own_package_answers_the_same_bound_or_not(tmp_path: Path) -> None:
    path = models.save(models.build("lenet"), tmp_path / "lenet.onnx")
    inputs = models.example_inputs("lenet")
    plain = runner(path, inputs, CPU)()
    bound = captured_runner(path, inputs, CPU, "cpu")
    for _ in range(2):
        assert relative_error(bound(), plain) == 0
    with pytest.raises(RuntimeError, match="has no CUDAExecutionProvider"):
        session(path, CUDA)


def test_open_sizes_are_fixed_once(tmp_path: Path) -> None:
    path = models.save(models.build("lenet"), tmp_path / "lenet.onnx")
    inputs = models.example_inputs("lenet")
    fixed = with_fixed_sizes(path, inputs)
    graph = onnx.load(fixed).graph
    dims = [
        dim for value in (*graph.input, *graph.output) for dim in value.type.tensor_type.shape.dim
    ]
    assert not any(dim.dim_param for dim in dims)
    assert relative_error(runner(fixed, inputs, CPU)(), runner(path, inputs, CPU)()) == 0
    assert with_fixed_sizes(path, inputs) == fixed


def test_each_part_has_its_file() -> None:
    folder = Path(check_module.__file__).parent / "units"
    assert {part.name for part in (*first(), *full(1))} <= {
        path.stem for path in folder.glob("*.py")
    }


def test_onnx_runtimes_package_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    path = models.save(models.build("lenet"), tmp_path / "m.onnx")
    inputs = models.example_inputs("lenet")
    run = isolated_runner(path, inputs, CPU)
    assert [run() for _ in range(3)] == [{}] * 3
    with ThreadPoolExecutor(3) as callers:
        assert list(callers.map(lambda _: run(), range(9))) == [{}] * 9
    with pytest.raises(RuntimeError, match=r"cannot run it(.|\n)*missing.onnx"):
        isolated_runner(tmp_path / "missing.onnx", inputs, CPU)
