"""Every model at a small size, with inputs and what plain ONNX Runtime answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surplus.engine.dfg.graph import Graph
from surplus.engine.native import open_session
from surplus.engine.planning.stages import Costs
from surplus.engine.values import from_value, to_value

SMALL: dict[str, dict[str, Any]] = {
    "alexnet": {"image_size": 63, "hidden": 64, "classes": 10},
    "bert_base": {"layers": 2, "hidden": 128, "sequence": 32, "vocabulary": 500},
    "bert_large": {"layers": 2, "hidden": 128, "sequence": 32, "vocabulary": 500},
    "chain": {"length": 40},
    "deepfm": {"rows": 100, "batch": 16},
    "densenet121": {"image_size": 32, "growth": 4, "classes": 10},
    "densenet161": {"image_size": 32, "growth": 4, "classes": 10},
    "diamonds": {"count": 6},
    "dlrm": {"tables": 8, "rows": 100, "batch": 16},
    "efficientnet_b0": {"image_size": 32, "classes": 10},
    "faster_rcnn": {"image_size": 128, "proposals": 300, "classes": 8},
    "fork_join": {"branches": 12, "depth": 4},
    "googlenet": {"image_size": 32, "classes": 10},
    "inception_v3": {"image_size": 96, "classes": 10},
    "lenet": {},
    "mask_rcnn": {"image_size": 128, "proposals": 300, "classes": 8},
    "mnasnet": {"image_size": 32, "classes": 10},
    "mobilenet_v2": {"image_size": 64, "classes": 10},
    "moe": {"tokens": 16, "hidden": 32},
    "multi_task": {"tasks": 8, "experts": 2},
    "random_dag": {"nodes": 60, "width": 8},
    "random_wide": {"width": 12, "depth": 4, "cross": 0.2},
    "resnet101": {"image_size": 32, "classes": 10, "width": 16},
    "resnet152": {"image_size": 32, "classes": 10, "width": 16},
    "resnet18": {"image_size": 32, "classes": 10, "width": 16},
    "resnet50": {"image_size": 64, "classes": 10},
    "resnext50": {"image_size": 32, "classes": 10, "width": 16},
    "shufflenet_v2": {"image_size": 32, "classes": 10},
    "squeezenet": {"image_size": 32, "classes": 10},
    "ssd": {"image_size": 257, "classes": 3},
    "ssd_mobilenet_v1": {"image_size": 96, "classes": 3},
    "ssd_per_class": {"image_size": 257, "classes": 3},
    "tiny_yolov2": {"image_size": 32, "width": 4},
    "two_tower": {"rows": 100, "batch": 16, "hidden": 64},
    "vgg16": {"image_size": 32, "width": 8, "hidden": 64, "classes": 10},
    "vgg19": {"image_size": 32, "width": 8, "hidden": 64, "classes": 10},
}

REPEATING = {
    "alexnet",
    "densenet161",
    "faster_rcnn",
    "mnasnet",
    "resnet18",
    "resnet101",
    "resnet152",
    "resnext50",
    "squeezenet",
    "ssd_mobilenet_v1",
    "vgg16",
    "vgg19",
}
"""Their operators and patterns come from other models here, too: left to the slow run."""

RELATIVE = 1e-4
NEGLIGIBLE = 1e-5
"""Of an output's largest magnitude: below that, a value is the rest of a cancellation."""


@dataclass(frozen=True)
class Prepared:
    """A model read by the engine, and the oracle's answer to one query."""

    path: Path
    graph: Graph
    inputs: dict[str, np.ndarray]
    expected: dict[str, Any]
    costs_on: Callable[[str], Costs]

    def check(self, outputs: Mapping[str, Any]) -> None:
        """Raise AssertionError where the outputs are not the oracle's."""
        assert outputs.keys() == self.expected.keys()
        for name, right in self.expected.items():
            floor = NEGLIGIBLE * float(np.max(np.abs(right), initial=0.0))
            np.testing.assert_allclose(
                outputs[name], right, rtol=RELATIVE, atol=floor, strict=True, err_msg=name
            )


def plain_outputs(path: Path, inputs: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """What one session of the user's file answers."""
    session = open_session(str(path))
    found = session.run({name: to_value(array) for name, array in inputs.items()})
    return {n: from_value(v) for n, v in zip(session.output_names, found, strict=True)}
