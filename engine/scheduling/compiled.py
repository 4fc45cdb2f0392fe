"""Compiled versions of a model's blocks, found in its graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from surplus.engine import _core
from surplus.engine.dfg.constants import array_of
from surplus.engine.dfg.extract import boundary_inputs, boundary_outputs
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ConfigError
from surplus.engine.runtime.compiled_kernel import CompiledKernel
from surplus.engine.scheduling.compiled_file import Artifact, Manifest, read_manifest
from surplus.engine.values import to_value


@dataclass(frozen=True)
class CompiledBlock:
    """Tasks ``first <= i < end`` of a graph, and what else than ONNX Runtime computes them."""

    first: int
    end: int
    artifacts: tuple[Artifact, ...]

    def artifact(self, version: int, lanes: int) -> Artifact | None:
        """The widest one of a version for so many lanes; None where a session has to do."""
        fitting = [a for a in self.artifacts if a.version == version and a.width <= lanes]
        return max(fitting, key=lambda artifact: artifact.width, default=None)


@dataclass(frozen=True)
class Compiled:
    """All compiled blocks of a model.

    Parameters
    ----------
    blocks : tuple of CompiledBlock
        In the order of their tasks; none overlap.
    sensitivities : tuple of float
        By version, 0 included; see ``Manifest``.
    """

    graph: Graph
    blocks: tuple[CompiledBlock, ...]
    sensitivities: tuple[float, ...]
    _constants: dict[str, _core.Value] = field(default_factory=dict)

    def kernel(self, tasks: Sequence[int], version: int, lanes: int) -> CompiledKernel | None:
        """What computes a group of tasks in a version; None where its session does."""
        for block in self.blocks:
            if (block.first, block.end) == (tasks[0], tasks[-1] + 1):
                artifact = block.artifact(version, lanes)
                return None if artifact is None else self._kernel(artifact)
        return None

    def _kernel(self, artifact: Artifact) -> CompiledKernel:
        return CompiledKernel(
            artifact.library,
            artifact.symbol,
            artifact.inputs,
            artifact.outputs,
            artifact.width,
            self._constants_of(artifact),
        )

    def _constants_of(self, artifact: Artifact) -> list[_core.Value]:
        """The constants that an artifact reads; each is in memory once."""
        for name in artifact.constants:
            if name not in self._constants:
                tensor = self.graph.initializers[name]
                array = array_of(tensor, self.graph.folder)
                self._constants[name] = to_value(array, tensor.data_type)
        return [self._constants[name] for name in artifact.constants]


def find_compiled(graph: Graph, path: Path) -> Compiled:
    """Read a manifest and find its blocks in a model.

    Raises
    ------
    ConfigError
        If the file is wrong, is for another model, or a block is none of this model; the message
        names file, symbol and tensor.
    """
    manifest = read_manifest(path)
    if manifest.model not in ("", graph.source_hash):
        text = f"it is for the model of SHA-256 {manifest.model}, not {graph.source_hash}"
        raise ConfigError(f"{path}: {text}")
    return Compiled(graph, _blocks(graph, manifest), manifest.sensitivities)


def _blocks(graph: Graph, manifest: Manifest) -> tuple[CompiledBlock, ...]:
    rows: dict[tuple[int, int], list[Artifact]] = {}
    for artifact in manifest.artifacts:
        try:
            own = rows.setdefault(_place(graph, artifact), [])
            _check_new(artifact, own)
        except ValueError as error:
            raise ConfigError(f"{manifest.path}: {artifact}: {error}") from error
        own.append(artifact)
    blocks = tuple(CompiledBlock(*place, tuple(own)) for place, own in sorted(rows.items()))
    for earlier, later in pairwise(blocks):
        if later.first < earlier.end:
            both = f"{earlier.artifacts[0]} and {later.artifacts[0]}"
            raise ConfigError(f"{manifest.path}: the blocks of {both} overlap")
    return blocks


def _check_new(artifact: Artifact, others: Sequence[Artifact]) -> None:
    for other in others:
        if (other.version, other.width) == (artifact.version, artifact.width):
            text = f"version {other.version} of width {other.width} of its block is {other}"
            raise ValueError(text)


def _place(graph: Graph, artifact: Artifact) -> tuple[int, int]:
    """The tasks that an artifact stands for, checked.

    Raises
    ------
    ValueError
        If it stands for none of its own.
    """
    for name in (*artifact.inputs, *artifact.outputs):
        if name not in graph.tensor_index:
            known = " (it is a constant)" if name in graph.initializers else ""
            raise ValueError(f"the model has no tensor {name!r}{known}")
    for name in artifact.constants:
        if name not in graph.initializers:
            raise ValueError(f"the model has no constant {name!r}")
    tasks = _between(graph, artifact)
    _same("reads", artifact.inputs, boundary_inputs(graph, tasks))
    _same("makes for others", artifact.outputs, boundary_outputs(graph, tasks))
    if tasks[-1] - tasks[0] >= len(tasks):
        inside = set(range(tasks[0], tasks[-1])) - set(tasks)
        text = f"are not next to each other: {graph.tasks[min(inside)].name!r} is between them"
        raise ValueError(f"its operators {text}")
    return tasks[0], tasks[-1] + 1


def _between(graph: Graph, artifact: Artifact) -> list[int]:
    """Tasks that make the outputs out of the inputs, ascending."""
    index = graph.tensor_index
    given = {index[name] for name in artifact.inputs}
    open_tensors = [index[name] for name in artifact.outputs]
    tasks: set[int] = set()
    while open_tensors:
        tensor = graph.tensors[open_tensors.pop()]
        if tensor.producer < 0:
            raise ValueError(f"it needs {tensor.name!r}, which is not among its inputs")
        if tensor.producer not in tasks:
            tasks.add(tensor.producer)
            open_tensors += set(graph.tasks[tensor.producer].inputs) - given
    return sorted(tasks)


def _same(verb: str, named: Sequence[str], found: Sequence[str]) -> None:
    if set(named) != set(found):
        raise ValueError(f"its block {verb} {', '.join(found)}, not {', '.join(named)}")
