"""Models whole on a GPU: fixed, open and empty sizes, integers, NMS; run by test_fake_gpu.py.

The provider is the CPU's (``cpu_as_cuda.cpp``), so answers are the same to the bit.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import surplus
from surplus import models
from surplus.engine import _core
from surplus.engine.devices.machines import open_machine
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.native import open_session
from surplus.engine.values import from_value, to_value

CPU, GPU, LANES = 0, 1, 2


def whole_on_gpu(machine: _core.Machine, path: Path, session: _core.Session) -> _core.Plan:
    """One segment between copies."""
    builder = _core.PlanBuilder(machine)
    given, made, answers, moved = [], [], [], []
    for name in session.input_names:
        given.append(builder.add_value(name))
        moved.append((name, builder.add_value(name)))
        builder.add_copy(name, CPU, GPU, given[-1], moved[-1][1])
    for name in session.output_names:
        made.append((name, builder.add_value(name)))
    builder.add_session("whole", GPU, str(path), moved, made)
    for name, value in made:
        answers.append(builder.add_value(name))
        builder.add_copy(name, GPU, CPU, value, answers[-1])
    builder.set_inputs(given)
    builder.set_outputs(answers)
    return builder.build()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("lenet", {}),
        ("dlrm", {"rows": 100}),
        ("moe", {"routing": "gather", "hidden": 64}),
        ("ssd_per_class", {"classes": 3}),
    ],
)
def test_a_model_answers_on_every_lane_as_on_the_cpu(
    name: str, parameters: dict[str, object], tmp_path: Path
) -> None:
    path = models.save(models.build(name, **parameters), tmp_path / "m.onnx")
    arrays = models.example_inputs(name, **parameters)
    session = open_session(str(path))
    inputs = {key: to_value(array) for key, array in arrays.items()}
    expected = [from_value(value) for value in session.run(inputs)]
    machine = open_machine(parse_devices(f"cpu:1,cuda:0:{LANES}"))
    plan = whole_on_gpu(machine, path, session)
    runs = [plan.submit([inputs[key] for key in session.input_names]) for _ in range(2 * LANES)]
    for run in runs:
        assert run.wait()
        assert run.status == "ok", run.error
        for value, wanted in zip(run.outputs(), expected, strict=True):
            np.testing.assert_array_equal(from_value(value), wanted)
    assert machine.stats()["devices"][GPU]["executed"] > 0
    machine.close()


def test_a_cut_model_answers_as_the_whole(tmp_path: Path) -> None:
    parameters = {"tasks": 3, "width": 16}
    path = models.save(models.build("multi_task", **parameters), tmp_path / "m.onnx")
    arrays = models.example_inputs("multi_task", **parameters)
    session = open_session(str(path))
    expected = session.run({key: to_value(array) for key, array in arrays.items()})
    for policy in ("heft", "best"):
        model = surplus.load(
            path, f"cpu:1,cuda:0:{LANES}", policy, inputs=arrays, cache=tmp_path / "cache"
        )
        answers = model.run(arrays)
        for key, wanted in zip(session.output_names, expected, strict=True):
            np.testing.assert_allclose(answers[key], from_value(wanted), rtol=1e-5, atol=1e-6)
