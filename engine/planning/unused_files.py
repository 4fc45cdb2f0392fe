"""Removes segments' files that no plan names: those of candidates that were not chosen.

Segments' files are named by their content, so whoever needs one again makes it again. Sessions that
are open keep what they have mapped. Only between looking for a file and opening it must it not go:
that is what ``files_in_use`` is for (lowering.py).
"""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from surplus.engine.dfg.graph import Graph
from surplus.engine.runtime.kernel_choices import compiled_names
from surplus.engine.runtime.segment_files import segment_file_name
from surplus.engine.runtime.throughput_switch import whole_segment
from surplus.engine.segmentation.plan import Segment
from surplus.engine.store.folder_lock import alone_in

_log = logging.getLogger(__name__)

_SEGMENT = re.compile(r"(segment-[0-9a-f]{24})(-[0-9a-f]{16}\.laid)?\.onnx")
_WEIGHT = re.compile(r"weight-[0-9a-f]{32}\.bin")
_COMPILED = re.compile(r"compiled-([0-9a-f]{24})-[0-9a-f]{8}-[0-9a-f]{16}\.blob")
_HALF_WRITTEN = re.compile(r"\.(lay-|segment-|weight-|model-|summary\.|compiled-).*")


def remove_unused(graph: Graph, named: Callable[[], Iterable[Segment]]) -> int:
    """Remove files of segments that are not named, unless somebody uses the folder just now.

    Files that a killed process left half written go, too. What cannot be removed stays.

    Parameters
    ----------
    named : callable
        Lists the segments of every stored plan of the graph, while nobody else uses the folder.

    Returns
    -------
    int
        How many files and folders went.
    """
    with alone_in(graph.folder) as alone:
        if not alone:
            return 0
        segments = list(named())
        kept = {segment_file_name(segment).removesuffix(".onnx") for segment in segments}
        # Which throughput_switch.py may run without any plan that says so.
        kept.add(segment_file_name(whole_segment(graph)).removesuffix(".onnx"))
        unused = [*_segments(graph.folder, kept), *_half_written(graph.folder)]
        unused += _compiled(graph, segments)
        removed = sum(map(_removed, unused))
        # Weights after what refers to them: a process that dies in between leaves no gap.
        return removed + sum(map(_removed, _weights(graph.folder)))


def _segments(folder: Path, kept: set[str]) -> Iterator[Path]:
    for file in folder.iterdir():
        match = _SEGMENT.fullmatch(file.name)
        if match and match[1] not in kept:
            yield file


def _compiled(graph: Graph, segments: Iterable[Segment]) -> list[Path]:
    """What libraries of kernels compiled of other segments."""
    kept: set[str] = set()
    for segment in segments:
        kept |= compiled_names(segment, (segment_file_name(segment), graph.model_path.name))
    found = [(file, _COMPILED.fullmatch(file.name)) for file in graph.folder.iterdir()]
    return [file for file, match in found if match and match[1] not in kept]


def _half_written(folder: Path) -> Iterator[Path]:
    return (file for file in folder.iterdir() if _HALF_WRITTEN.fullmatch(file.name))


def _weights(folder: Path) -> list[Path]:
    """Files of weights that no prepacked segment mentions."""
    used = {
        name
        for file in folder.glob("*.laid.onnx")
        for name in re.findall(_WEIGHT.pattern.encode(), file.read_bytes())
    }
    return [
        file
        for file in folder.iterdir()
        if _WEIGHT.fullmatch(file.name) and file.name.encode() not in used
    ]


def _removed(file: Path) -> bool:
    try:
        if file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink()
    except OSError as error:
        _log.debug("%s is not removed: %s", file, error)
        return False
    return True
