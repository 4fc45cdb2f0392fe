"""Compiles blocks of a model in several versions: library and manifest, in a folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from surplus.engine.atomic_file import write_atomic
from surplus.engine.compilation.blocks import find_blocks, operations_of
from surplus.engine.compilation.c_source import SegmentVersion
from surplus.engine.compilation.candidates import (
    CandidateParams,
    TimedTiling,
    candidates_of,
    write_object,
)
from surplus.engine.compilation.choice import chosen
from surplus.engine.compilation.layer import BlockLayers
from surplus.engine.compilation.library import link
from surplus.engine.compilation.manifest_text import ManifestEntry, manifest_text
from surplus.engine.compilation.steps import steps_of
from surplus.engine.compilation.templates.template import Tiling
from surplus.engine.compilation.tvm_here import tvm
from surplus.engine.compilation.works import Work
from surplus.engine.dfg.graph import Graph

MANIFEST, LIBRARY = "compiled.toml", "compiled.so"


@dataclass(frozen=True)
class CompilationParams:
    """What is compiled.

    Parameters
    ----------
    target_ns : int
        Of the whole model: its layers share it by operations, and a candidate that misses its
        share is left out.
    blocks : int
        About so many; each is a group that policies run.
    versions : int
        Of each block, besides ONNX Runtime's session.
    lanes : int
        Versions run on one lane and on so many.
    most_layers : int
        The first blocks that have no more different layers than that are compiled; 0: all blocks.
    candidates : CandidateParams
    """

    target_ns: int
    blocks: int = 4
    versions: int = 3
    lanes: int = field(default_factory=lambda: os.cpu_count() or 1)
    most_layers: int = 0
    candidates: CandidateParams = field(default_factory=CandidateParams)

    def __post_init__(self) -> None:
        if min(self.target_ns, self.blocks, self.versions, self.lanes) < 1 or self.most_layers < 0:
            raise ValueError(f"target, blocks, versions and lanes must be >= 1, got {self}")


@dataclass(frozen=True)
class CompiledLayer:
    """A layer and its candidates: what Algorithm 1 chose from.

    Parameters
    ----------
    name : str
        Of the first layer that is computed like this.
    work : Work
    target_ns : int
    candidates : tuple of TimedTiling
    versions : tuple of Tiling
        By version, from 1 on.
    """

    name: str
    work: Work
    target_ns: int
    candidates: tuple[TimedTiling, ...]
    versions: tuple[Tiling, ...]


@dataclass(frozen=True)
class CompiledModel:
    """What was made."""

    manifest: Path
    blocks: tuple[BlockLayers, ...]
    layers: tuple[CompiledLayer, ...]
    entries: tuple[ManifestEntry, ...]


def compile_model(
    graph: Graph,
    folder: Path,
    params: CompilationParams,
    progress: Callable[[str], None] = lambda text: None,
) -> CompiledModel:
    """Compile and write.

    Raises
    ------
    ConfigError
        If TVM or a C compiler is missing, or there is nothing to compile.
    OSError
        If the folder cannot be written to.
    """
    tvm()
    every = find_blocks(graph, params.blocks)
    blocks = _within(every, params.most_layers)
    layers = _layers(blocks, sum(map(operations_of, every)), params, progress)
    folder.mkdir(parents=True, exist_ok=True)
    segments, entries = _versions(blocks, layers, params)
    with tempfile.TemporaryDirectory() as place:
        progress("linking")
        objects = _objects(layers, Path(place))
        link(segments, objects, Path(place), Path(place) / LIBRARY)
        # Who has the old one loaded keeps it.
        write_atomic(folder / LIBRARY, (Path(place) / LIBRARY).read_bytes())
    path = folder / MANIFEST
    write_atomic(path, manifest_text(graph.source_hash, LIBRARY, entries, ()).encode())
    return CompiledModel(path, blocks, tuple(layers.values()), tuple(entries))


def _within(blocks: Sequence[BlockLayers], most_layers: int) -> tuple[BlockLayers, ...]:
    """The first blocks that have no more different layers together than that; at least one."""
    kept: list[BlockLayers] = []
    works: set[Work] = set()
    for block in blocks:
        works |= {layer.work for layer in block.layers}
        if kept and most_layers and len(works) > most_layers:
            break
        kept.append(block)
    return tuple(kept)


def _layers(
    blocks: Sequence[BlockLayers],
    whole: int,
    params: CompilationParams,
    progress: Callable[[str], None],
) -> dict[Work, CompiledLayer]:
    """By what they compute, each once; ``whole`` are the operations that share the target."""
    names: dict[Work, str] = {}
    for layer in (layer for block in blocks for layer in block.layers):
        names.setdefault(layer.work, layer.name)
    found = {}
    for place, (work, name) in enumerate(names.items()):
        progress(f"layer {place + 1} of {len(names)}: {name}")
        target_ns = max(1, params.target_ns * work.operations // whole)
        candidates = candidates_of(work, params.candidates)
        versions = chosen(candidates, target_ns, params.versions)
        found[work] = CompiledLayer(name, work, target_ns, candidates, versions)
    return found


def _symbol(place: int, layer: CompiledLayer, version: int) -> str:
    """Equal tilings are one function."""
    return f"layer{place}_{layer.versions.index(layer.versions[version])}"


def _objects(layers: dict[Work, CompiledLayer], folder: Path) -> list[Path]:
    paths = []
    for place, layer in enumerate(layers.values()):
        for version, tiling in enumerate(layer.versions):
            if layer.versions.index(tiling) == version:
                symbol = _symbol(place, layer, version)
                paths.append(folder / f"{symbol}.o")
                write_object(layer.work, tiling, symbol, paths[-1])
    return paths


def _versions(
    blocks: Sequence[BlockLayers], layers: dict[Work, CompiledLayer], params: CompilationParams
) -> tuple[list[SegmentVersion], list[ManifestEntry]]:
    place_of = {work: place for place, work in enumerate(layers)}
    segments, entries = [], []
    for number, block in enumerate(blocks):
        steps = steps_of(block)
        for version in range(params.versions):
            functions = tuple(
                _symbol(place_of[layer.work], layers[layer.work], version) for layer in block.layers
            )
            symbol = f"block{number}_version{version + 1}"
            segments.append(SegmentVersion(symbol, block, steps, functions))
            for width in sorted({1, params.lanes}):
                entries.append(ManifestEntry(block, version + 1, width, symbol))
    return segments, entries
