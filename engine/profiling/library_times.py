"""What operators take with the kernels of a library, measured where they run: in the whole model.

A library fuses more than ONNX Runtime does, so its operators by themselves would say little. It
says itself how the time of a run divides among them; how long that is, runs in turns with ONNX
Runtime's say. All that in a child process: what ends a process ends that one.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.library_support import TYPES, may_run, may_take
from surplus.engine.kernels.registry import LIBRARIES
from surplus.engine.kernels.trial import SegmentTimed, TrialSegment, try_segments
from surplus.engine.profiling.calibrate import initial_values
from surplus.engine.profiling.profile import LibraryProfile, Profile
from surplus.engine.values import from_value

_log = logging.getLogger(__name__)

_MOST_S = 120.0
"""For the child: the largest models compile for some seconds, once a width and again to count."""


def library_times(
    graph: Graph,
    profile: Profile,
    specs: Sequence[DeviceSpec],
    inputs: Mapping[str, Any],
    libraries: Mapping[str, str],
) -> tuple[LibraryProfile, ...]:
    """Times of the libraries that take the whole model, on the CPUs that ``profile`` is of.

    Parameters
    ----------
    profile : Profile
        With ONNX Runtime's times, which those of the libraries are told by.
    libraries : mapping of str to str
        Name to version.

    Raises
    ------
    InputError
        If the inputs do not fit the model.
    """
    found = (
        _times_of(graph, profile, specs, inputs, name, version)
        for name, version in libraries.items()
        if not LIBRARIES[name].is_provider
    )
    return tuple(library for library in found if library is not None)


def _times_of(
    graph: Graph,
    profile: Profile,
    specs: Sequence[DeviceSpec],
    inputs: Mapping[str, Any],
    name: str,
    version: str,
) -> LibraryProfile | None:
    cpus = [spec for spec in specs if spec.traits.is_host]
    widths = sorted({width for spec in cpus for width in spec.widths})
    asked = [s for s in (_asked(graph, name, inputs, width) for width in widths) if s is not None]
    if not asked:
        _log.info("%s: %s does not take the whole model", graph.name, LIBRARIES[name].title)
        return None
    with tempfile.TemporaryDirectory(prefix="surplus-kernels-") as folder:
        tried = try_segments(name, asked, Path(folder), _MOST_S)
    timed = {widths[i]: found.times for i, found in tried.items() if found.times is not None}
    times: dict[str, dict[int, tuple[int, ...]]] = {}
    for spec in cpus:
        rows = {}
        for width in spec.widths:
            whole_ns = profile.whole_model_ns(spec.name, width)
            if width in timed and whole_ns is not None:
                rows[width] = _by_task(graph, timed[width], whole_ns)
        if len(rows) == len(spec.widths):
            times[spec.name] = rows
    return LibraryProfile(name, version, times) if times else None


def _asked(
    graph: Graph, library: str, inputs: Mapping[str, Any], width: int
) -> TrialSegment | None:
    values = initial_values(graph, inputs)
    outputs = [graph.tensors[i] for i in graph.outputs]
    types = tuple(tensor.elem_type for tensor in outputs)
    if not (
        values
        and outputs
        and may_run(graph, library, range(len(graph.tasks)))
        and all(may_take(value) for value in values.values())
        and TYPES.issuperset(types)
    ):
        return None
    arrays = {name: from_value(value) for name, value in values.items()}
    return TrialSegment(
        name=graph.name,
        file=graph.model_path,
        input_names=tuple(arrays),
        output_names=tuple(tensor.name for tensor in outputs),
        inputs=tuple(
            (values[name].elem_type, tuple(int(d) for d in array.shape))
            for name, array in arrays.items()
        ),
        output_types=types,
        width=width,
        precision="f32",
        values=list(arrays.values()),
        timed=True,
    )


def _by_task(graph: Graph, timed: SegmentTimed, whole_ns: int) -> tuple[int, ...]:
    """Of each task, such that all of them take what the library took of ONNX Runtime's time.

    What is nobody's (the library's own conversions) is spread over all.
    """
    known = {task.name: index for index, task in enumerate(graph.tasks)}
    for index, task in enumerate(graph.tasks):
        known |= dict.fromkeys((graph.tensors[t].name for t in task.outputs), index)
    shares = [0.0] * len(graph.tasks)
    for name, time_ns in timed.operators_ns:
        index = next((known[part] for part in _prefixes(name) if part in known), -1)
        if index >= 0:
            shares[index] += time_ns
    total = sum(shares)
    if total == 0:  # all too short for the library's clock
        shares, total = [1.0] * len(shares), float(len(shares))
    took_ns = whole_ns * timed.to_onnx_runtime
    return tuple(round(took_ns * share / total) for share in shares)


def _prefixes(name: str) -> Iterable[str]:
    """The name, then without what the library added behind: ``conv/WithoutBiases``."""
    while name:
        yield name
        name = name[: max(name.rfind(mark) for mark in "/_")] if set("/_") & set(name) else ""
