"""The official ONNX backend cases: a model, inputs and the outputs to expect.

``python -m tests.conformance.cases FILE`` collects and pickles them. Collecting executes onnx's own
modules, which warn a lot and take long, so it has its own process and its result is kept.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

Run = Callable[[dict[str, Any]], list[Any]]


@dataclass(frozen=True)
class Case:
    """One model with data sets of (inputs, expected outputs), in the model's order."""

    name: str
    model: bytes
    data_sets: list[tuple[list[Any], list[Any]]] = field(repr=False)
    rtol: float
    atol: float

    def fails(self, run: Run) -> str:
        """What goes wrong when ``run`` answers this case; empty if nothing does."""
        from onnx.backend.test.runner import Runner

        names = input_names(onnx.ModelProto.FromString(self.model))
        try:
            for inputs, expected in self.data_sets:
                outputs = run(dict(zip(names, inputs, strict=True)))
                Runner.assert_similar_outputs(expected, outputs, self.rtol, self.atol)
        except Exception as error:
            return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        return ""


def input_names(model: onnx.ModelProto) -> list[str]:
    """Inputs that a data set gives, in order."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in constants]


def collect() -> list[Case]:
    """All cases that need no download, in order of their names."""
    from onnx.backend.test.loader import load_model_tests

    cases = [_node_case(test) for test in load_model_tests(kind="node")]
    for kind in ("real", "simple", "pytorch-converted", "pytorch-operator"):
        cases += [_model_case(test) for test in load_model_tests(kind=kind)]
    older = [_older(case) for case in cases]
    return sorted([*cases, *filter(None, older)], key=lambda case: case.name)


def _older(case: Case) -> Case | None:
    """The same model in the IR version before: a runtime of the day may refuse the newest."""
    model = onnx.ModelProto.FromString(case.model)
    if model.ir_version < onnx.IR_VERSION:
        return None
    model.ir_version = onnx.IR_VERSION - 1
    return replace(case, name=f"{case.name} (older IR)", model=model.SerializeToString())


def _node_case(test: Any) -> Case:
    sets = [([_plain(i) for i in ins], [_plain(o) for o in outs]) for ins, outs in test.data_sets]
    return Case(test.name, test.model.SerializeToString(), sets, test.rtol, test.atol)


def _plain(item: Any) -> Any:
    """Some modules hand out protobufs, or numpy scalars for tensors of no dimension."""
    if isinstance(item, onnx.TensorProto):
        return numpy_helper.to_array(item)
    return np.asarray(item) if isinstance(item, np.generic) else item


def _model_case(test: Any) -> Case:
    if test.model_dir is None:
        path = Path(onnx.__file__).parent.parent / test.url
        sets = [_light_data(path)]
    else:
        path = Path(test.model_dir, "model.onnx")
        sets = [_stored_data(path, f) for f in sorted(path.parent.glob("test_data_set*"))]
    return Case(test.name, path.read_bytes(), sets, test.rtol, test.atol)


def _light_data(path: Path) -> tuple[list[Any], list[Any]]:
    """The zoo models' input is a ramp, as onnx's own runner makes it."""
    model = onnx.load(path)
    names = set(input_names(model))
    inputs = [_ramp(value) for value in model.graph.input if value.name in names]
    outputs = [path.with_name(f"{path.stem}_output_{i}.pb") for i in range(len(model.graph.output))]
    return inputs, [_tensor(file.read_bytes()) for file in outputs]


def _ramp(value: onnx.ValueInfoProto) -> np.ndarray:
    dims = value.type.tensor_type.shape.dim
    shape = tuple(d.dim_value if d.HasField("dim_value") else 1 for d in dims)
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def _stored_data(path: Path, folder: Path) -> tuple[list[Any], list[Any]]:
    graph = onnx.load(path).graph
    return (
        list(_read(folder, "input", graph.input)),
        list(_read(folder, "output", graph.output)),
    )


def _read(folder: Path, stem: str, values: Any) -> Iterator[Any]:
    for index, value in enumerate(values):
        file = folder / f"{stem}_{index}.pb"
        if file.exists():
            yield _decode(file.read_bytes(), value.type)


def _decode(data: bytes, kind: onnx.TypeProto) -> Any:
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return _tensor(data)


def _tensor(data: bytes) -> np.ndarray:
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def load(path: Path) -> list[Case]:
    """What ``python -m tests.conformance.cases`` wrote."""
    return pickle.loads(path.read_bytes())


if __name__ == "__main__":
    from tests.conformance import cases

    warnings.simplefilter("ignore")
    Path(sys.argv[1]).write_bytes(pickle.dumps(cases.collect()))
