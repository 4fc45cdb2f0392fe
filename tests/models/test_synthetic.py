"""Synthetic graphs against numpy and their parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from surplus import models


@pytest.mark.parametrize("kind", ["elementwise", "matmul"])
def test_fork_join_counts_its_nodes(kind: str, basic_shape: Callable) -> None:
    shape = basic_shape(models.build("fork_join", branches=7, depth=3, size=16, kind=kind))
    # Nothing is merged away: fork, seven branches of three, join.
    assert shape.nodes == 1 + 7 * 3 + 1
    assert (shape.max_in, shape.max_out, shape.widest_level) == (7, 7, 7)


def test_chain_computes_what_its_nodes_say(run: Callable) -> None:
    model = models.build("chain", length=3, size=8)
    add, multiply = (np.frombuffer(t.raw_data, np.float32)[0] for t in model.graph.initializer)
    inputs = models.example_inputs("chain", size=8)
    np.testing.assert_allclose(
        run(model, inputs)["y"], -((inputs["x"] + add) * multiply), rtol=1e-6
    )


def test_outputs_still_depend_on_the_input(run: Callable) -> None:
    # 600 nodes deep, the output must not have collapsed to a constant.
    model = models.build("chain", length=600)
    assert run(model, models.example_inputs("chain"))["y"].std() > 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_random_dag_is_drawn_by_its_seed(seed: int, run: Callable, basic_shape: Callable) -> None:
    model = models.build("random_dag", nodes=60, width=8, seed=seed)
    assert basic_shape(model).nodes == 61
    assert np.isfinite(run(model, models.example_inputs("random_dag"))["y"]).all()
    other = models.build("random_dag", nodes=60, width=8, seed=seed + 1)
    assert [n.input for n in other.graph.node] != [n.input for n in model.graph.node]
