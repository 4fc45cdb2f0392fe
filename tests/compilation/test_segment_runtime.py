"""What is beneath compiled layers, with a layer written by hand: no TVM is needed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine import _core
from surplus.engine.compilation.c_source import SegmentVersion
from surplus.engine.compilation.layer import BlockLayers, Layer, PackRef, TensorRef
from surplus.engine.compilation.library import link
from surplus.engine.compilation.program import LayerProgram
from surplus.engine.compilation.steps import steps_of
from surplus.engine.compilation.works import Rowwise
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.native import load_runtime
from surplus.engine.values import from_value, to_value

SOURCE = Path(__file__).parent / "doubling.c"
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-c")
ROWS, COLUMNS = 6, 16
WEIGHTS = np.arange(COLUMNS, dtype=np.float32)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Segments ``twice`` (y = (x w) w) and ``failing``."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("segments")
    command = [compiler, *FLAGS, str(SOURCE), "-o", str(folder / "doubling.o")]
    subprocess.run(command, check=True, timeout=300)
    work = Rowwise((1, ROWS, COLUMNS), LayerProgram())
    weights = PackRef("AS_IS", "w", COLUMNS)
    first = Layer("first", work, (TensorRef("x"), weights), TensorRef("h"))
    second = Layer("second", work, (TensorRef("h"), weights), TensorRef("y"))
    shapes = dict.fromkeys("xhy", (1, ROWS, COLUMNS))
    block = BlockLayers(0, 2, ("x",), ("y",), (first, second), shapes, {})
    steps = steps_of(block)
    segments = [
        SegmentVersion("twice", block, steps, ("doubling", "doubling")),
        SegmentVersion("failing", block, steps, ("doubling", "failing")),
    ]
    link(segments, [folder / "doubling.o"], folder, folder / "lib.so")
    return folder / "lib.so"


def run(library: Path, x: Any, symbol: str = "twice", lanes: int = 1, weights: Any = None) -> Any:
    load_runtime()
    machine = machine_for(parse_devices("cpu:2"))
    builder = _core.PlanBuilder(machine)
    source, made = builder.add_value("x"), builder.add_value("y")
    constants = [to_value(WEIGHTS if weights is None else weights)]
    outputs = [(made, 1, (-1, ROWS, COLUMNS))]
    builder.add_compiled(symbol, 0, str(library), symbol, [source], outputs, constants, lanes)
    builder.set_inputs([source])
    builder.set_outputs([made])
    plan = builder.build()
    answers = [plan.run([to_value(x)]) for _ in range(3)]
    for answer in answers[1:]:
        np.testing.assert_array_equal(from_value(answer[0]), from_value(answers[0][0]))
    return from_value(answers[0][0])


def inputs(batch: int, rows: int = ROWS) -> Any:
    return np.random.default_rng(batch).standard_normal((batch, rows, COLUMNS), np.float32)


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("batch", [1, 3])
def test_layers_run_one_after_another_on_lanes(library: Path, lanes: int, batch: int) -> None:
    x = inputs(batch)
    np.testing.assert_array_equal(run(library, x, lanes=lanes), x * WEIGHTS * WEIGHTS)


def test_inputs_that_are_not_aligned_are_moved(library: Path) -> None:
    """TVM's code counts on 64 bytes; an engine's tensors may begin anywhere."""
    memory = np.zeros(2 * ROWS * COLUMNS + 17, np.float32)
    for offset in range(17):
        x = memory[offset : offset + 2 * ROWS * COLUMNS].reshape(2, ROWS, COLUMNS)
        x[:] = inputs(2)
        np.testing.assert_array_equal(run(library, x), x * WEIGHTS * WEIGHTS)


def test_what_does_not_fit_is_refused(library: Path) -> None:
    with pytest.raises(RuntimeError, match="an input is of another shape"):
        run(library, inputs(1, rows=5))
    with pytest.raises(RuntimeError, match="an input is of another type"):
        run(library, inputs(1).astype(np.float64))
    with pytest.raises(RuntimeError, match="a constant is of another type or size"):
        run(library, inputs(1), weights=WEIGHTS[:3])


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_layer_that_fails_on_one_lane_has_failed(library: Path, lanes: int) -> None:
    with pytest.raises(RuntimeError, match="a layer failed"):
        run(library, inputs(1), symbol="failing", lanes=lanes)
