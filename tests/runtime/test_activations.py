"""The bytes of tensors that a plan holds at once, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.activation_size import Activations
from surplus.engine.pipeline.activations import planned_activations
from tests.constant_costs import constant_problem, whole_plan
from tests.runtime.runtime_models import read_text

SPECS = parse_devices("cpu:1")

FORK = """fork (float[{dim}] x) => (float[{dim}] y) {{
  a = Neg(x)
  b = Exp(a)
  c = Abs(a)
  y = Add(b, c)
}}"""


def activations(text: str, folder: Path, **inputs: np.ndarray) -> Activations:
    graph = read_text(text, folder)
    return planned_activations(graph, whole_plan(graph, constant_problem(graph, SPECS)), inputs)


def test_a_tensor_lives_until_its_last_reader(tmp_path: Path) -> None:
    # x a | a b | a b c | b c y: three of 4 bytes at most, as x ends with a and a with c.
    assert activations(FORK.format(dim=100), tmp_path) == Activations(1200, 0)


def test_a_chain_holds_two(tmp_path: Path) -> None:
    text = "chain (float[100] x) => (float[100] y) { a = Neg(x)  b = Exp(a)  y = Abs(b) }"
    assert activations(text, tmp_path) == Activations(800, 0)


def test_named_sizes_come_from_the_inputs(tmp_path: Path) -> None:
    found = activations(FORK.format(dim="n"), tmp_path, x=np.zeros(100, np.float32))
    assert found == Activations(1200, 0)


def test_unknown_sizes_are_counted(tmp_path: Path) -> None:
    assert activations(FORK.format(dim="n"), tmp_path) == Activations(0, 5)
