"""A step's model on its way into the graph of an ensemble."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from surplus.engine.dfg.constants import tensors_of_model
from surplus.engine.ensembles.ensemble import Ensemble, EnsembleStep
from surplus.engine.ensembles.renaming import rename_functions, rename_sizes, rename_values

_OVERRIDABLE_IR = 4
"""From here on an input that has a constant may be given something else."""

_HandedOn = list[tuple[str, str]]
"""From one name to another, by a node."""


class StepPart:
    """A step and its model, which is changed.

    Parameters
    ----------
    place : int
        Of the step in the order of their running: what the model names begins with it afterwards.

    Attributes
    ----------
    read : list of (str, onnx.ValueInfoProto)
        The ensemble's tensors that it reads, and what its model says of them.
    made : dict of str to onnx.ValueInfoProto
        The same of those that it makes.
    """

    def __init__(self, step: EnsembleStep, place: int, model: onnx.ModelProto) -> None:
        self.step, self.place, self.model = step, place, model
        graph = model.graph
        self._held = {tensor.name for tensor in graph.initializer}
        self._held |= {sparse.values.name for sparse in graph.sparse_initializer}
        fixed = self._held if model.ir_version < _OVERRIDABLE_IR else set()
        self._inputs = {v.name: v for v in graph.input if v.name not in fixed}
        self._outputs = {v.name: v for v in graph.output}
        self.read: list[tuple[str, onnx.ValueInfoProto]] = []
        self.made: dict[str, onnx.ValueInfoProto] = {}

    def check(self, ensemble: Ensemble) -> None:
        """Whether the maps name what the model has, and all that it needs.

        Raises
        ------
        ConfigError
            If not.
        """
        step = self.step
        for field, mapped, has, kind in (
            ("input_map", step.inputs, self._inputs, "input"),
            ("output_map", step.outputs, self._outputs, "output"),
        ):
            for name in mapped:
                if name not in has:
                    known = ", ".join(map(repr, has)) or "none"
                    raise ensemble.wrong(
                        f"{step.at}.{field}", f"{step} has no {kind} {name!r}; it has {known}"
                    )
        missing = [n for n in self._inputs if n not in step.inputs and n not in self._held]
        if missing:
            raise ensemble.wrong(
                f"{step.at}.input_map", f"nothing is given to input {missing[0]!r} of {step}"
            )

    def join(self) -> None:
        """Give all of it names that no other part has, and what the maps name the ensemble's."""
        graph, prefix = self.model.graph, f"{self.step.model}/{self.place}/"
        self._forget_defaults(graph)
        renamed, handed_in, handed_out = self._ends(prefix)
        rename_values(graph, lambda name: renamed.get(name, prefix + name))
        rename_sizes(graph, lambda name: prefix + name)
        rename_functions(self.model, f"{self.step.model}_{self.place}_")
        nodes = list(graph.node)
        del graph.node[:]
        graph.node.extend([*_identities(handed_in), *nodes, *_identities(handed_out)])
        self.read = [(tensor, self._inputs[name]) for name, tensor in self.step.inputs.items()]
        self.made = {tensor: self._outputs[name] for name, tensor in self.step.outputs.items()}
        _move_weights(self.model, step_folder(self.place))

    def known(self) -> Iterator[tuple[str, str, onnx.ValueInfoProto]]:
        """The ensemble's tensors that it knows: the map that says so, their name, what it knows."""
        yield from (("input_map", *pair) for pair in self.read)
        yield from (("output_map", *pair) for pair in self.made.items())

    def _forget_defaults(self, graph: onnx.GraphProto) -> None:
        """Of inputs that are given."""
        kept = [tensor for tensor in graph.initializer if tensor.name not in self.step.inputs]
        del graph.initializer[:]
        graph.initializer.extend(kept)

    def _ends(self, prefix: str) -> tuple[dict[str, str], _HandedOn, _HandedOn]:
        """What inputs and outputs are called, and what nodes must hand on before and after.

        Two inputs that read one tensor are two names all the same, and an output that is an input
        or a constant has a name already.
        """
        renamed: dict[str, str] = {}
        handed_in, handed_out = [], []
        for name, tensor in self.step.inputs.items():
            if tensor in renamed.values():
                handed_in.append((tensor, prefix + name))
            else:
                renamed[name] = tensor
        for name, tensor in self.step.outputs.items():
            if name in self._inputs or name in self._held:
                handed_out.append((renamed.get(name, prefix + name), tensor))
            else:
                renamed[name] = tensor
        return renamed, handed_in, handed_out


def _identities(handed_on: _HandedOn) -> list[onnx.NodeProto]:
    return [
        onnx.helper.make_node("Identity", [here], [there], name=f"{here} as {there}")
        for here, there in handed_on
    ]


def step_folder(place: int) -> str:
    """Where the external data of a step's model lies, beside the merged file."""
    return f"step{place}"


def _move_weights(model: onnx.ModelProto, folder: str) -> None:
    for tensor in tensors_of_model(model):
        for pair in tensor.external_data:
            if pair.key == "location":
                pair.value = f"{folder}/{pair.value}"
