"""Writes blocks as tables in C, on top of segment_runtime.c: one exported segment a version."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from surplus.engine.compilation.layer import BlockLayers
from surplus.engine.compilation.steps import BlockStep, BlockSteps

_FLOAT = 4

_HEAD = '#include "segment_runtime.h"\n'

_SEGMENT = """
static const char* {name}_shapes(const SurplusTensor* in, SurplusTensor* out, size_t* bytes) {{
  return surplus_shapes(&{name}_block, in, out, bytes);
}}
static const char* {name}_run(const SurplusRun* run, const SurplusTensor* in,
                              const SurplusTensor* out) {{
  return surplus_run(&{name}_block, run, in, out);
}}
static const char* {name}_create(int32_t lanes, const SurplusTensor* in, int32_t count,
                                 void** state) {{
  return surplus_create(&{name}_block, lanes, in, count, state);
}}
const SurplusSegment {name} = {{SURPLUS_SEGMENT_ABI, {inputs}, {outputs}, {name}_shapes, {name}_run,
                               sizeof(SurplusSegment), {name}_create, surplus_destroy}};
"""


@dataclass(frozen=True)
class SegmentVersion:
    """A block in a version.

    Parameters
    ----------
    symbol : str
        Of the segment.
    block : BlockLayers
    steps : BlockSteps
    functions : tuple of str
        Symbols of its layers' functions.
    """

    symbol: str
    block: BlockLayers
    steps: BlockSteps
    functions: tuple[str, ...]


def c_source(segments: Sequence[SegmentVersion]) -> str:
    """The file."""
    functions = dict.fromkeys(name for own in segments for name in own.functions)
    declared = "".join(f"extern int32_t {_exported(n)}(void*, const TvmAny*, int32_t, TvmAny*);\n"
                       for n in functions)  # fmt: skip
    return _HEAD + declared + "".join(map(_segment, segments))


def version_script(segments: Sequence[SegmentVersion]) -> str:
    """For the linker: segments alone are seen, so that no other library's names mix with ours."""
    names = " ".join(f"{own.symbol};" for own in segments)
    return f"{{ global: {names} local: *; }};\n"


def _exported(function: str) -> str:
    return f"__tvm_ffi_{function}"


def _segment(own: SegmentVersion) -> str:
    name, block, steps = own.symbol, own.block, own.steps
    constants = list(block.constants)
    packs = [
        f"{{{p.kind}, {constants.index(p.constant) if p.constant else -1}, {p.outs}, {p.ins}, "
        f"{p.window}}}"
        for p in steps.packs
    ]
    rows = {
        "Tensor": ("input", [_tensor(block.shapes[n]) for n in block.inputs]),
        "Tensor ": ("output", [_tensor(block.shapes[n]) for n in block.outputs]),
        "Pack": ("pack", packs),
        "int64_t": ("buffer", [str(size) for size in steps.buffer_bytes]),
        "Step": ("step", [_step(step, own.functions) for step in steps.steps]),
    }
    tables = "".join(
        f"static const {kind.strip()} {name}_{what}[] = {{{', '.join(items) or '{0}'}}};\n"
        for kind, (what, items) in rows.items()
    )
    counts = (
        len(block.inputs),
        len(block.outputs),
        len(constants),
        len(packs),
        len(steps.buffer_bytes),
        len(steps.steps),
    )
    places = ", ".join(f"{name}_{what}" for what in ("input", "output", "pack", "buffer", "step"))
    whole = f"static const Block {name}_block = {{{', '.join(map(str, counts))}, {places}}};\n"
    inputs = len(block.inputs) + len(constants)
    return tables + whole + _SEGMENT.format(name=name, inputs=inputs, outputs=len(block.outputs))


def _tensor(shape: tuple[int, ...]) -> str:
    dims = ", ".join(map(str, shape))
    return f"{{{len(shape)}, {{{dims}}}, {math.prod(shape) * _FLOAT}}}"


def _step(step: BlockStep, functions: Sequence[str]) -> str:
    function = _exported(functions[step.layer]) if step.kind == "CALL" else "NULL"
    operands = ", ".join(f"{{{own.kind}, {own.index}}}" for own in step.operands)
    head = f"{step.kind}, {function}, {len(step.operands)}"
    return f"{{{head}, {{{operands}}}, {step.channels}, {step.pixels}}}"
