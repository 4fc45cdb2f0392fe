"""Segments of a plan and the kernels that it chose for them, as the core takes them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from surplus.engine import _core
from surplus.engine.kernels.registry import LIBRARIES, open_library, version_of
from surplus.engine.segmentation.plan import Segment, SegmentKernels
from surplus.engine.store.compiled import CompiledFile


def choice_of(
    segment: Segment, kernels: SegmentKernels, file: Path, folder: Path
) -> _core.KernelChoice:
    """What the core is to compile, or to open where that was stored.

    Parameters
    ----------
    file, folder : Path
        The segment's own file, and the model's folder in the cache.

    Raises
    ------
    RuntimeLibraryError
        If the library cannot be loaded.
    """
    open_library(kernels.library)
    if LIBRARIES[kernels.library].is_provider:
        return _core.KernelChoice(kernels.library, [], [])
    found = compiled_file(kernels, file, folder, segment.width).find()
    return _core.KernelChoice(
        kernels.library,
        [(elem_type, list(shape)) for elem_type, shape in kernels.inputs],
        list(kernels.output_types),
        copies=kernels.copies,
        compiled=str(found or ""),
        precision=kernels.precision,
    )


def compiled_file(kernels: SegmentKernels, file: Path, folder: Path, width: int) -> CompiledFile:
    """Where what its library compiles of a segment is kept."""
    return _compiled(folder, file.name, kernels, version_of(kernels.library), width)


def compiled_names(segment: Segment, files: Iterable[str]) -> set[str]:
    """What files of a segment's compiled forms are named after, on all lanes or on one."""
    if segment.kernels is None or LIBRARIES[segment.kernels.library].is_provider:
        return set()
    return {
        _compiled(Path(), file, segment.kernels, "", width).what
        for file in files
        for width in (1, segment.width)
    }


def _compiled(
    folder: Path, source: str, kernels: SegmentKernels, version: str, width: int
) -> CompiledFile:
    made_for = (tuple(kernels.inputs), kernels.precision)
    return CompiledFile(folder, source, kernels.library, version, made_for, width)
