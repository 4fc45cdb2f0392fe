"""Rules of batch_axis.py for operators that move data: gather, reshape, cut, join."""

from __future__ import annotations

import math

from surplus.engine.dfg.batch_question import Question, Rows, rule

_LARGEST_CONSTANT = 1 << 16
"""Elements of a constant that shards hold a part of; weights are shared whole."""


@rule("Gather")
def gather(question: Question) -> Rows | None:
    """Rows of indices into one table, or the same places of every row."""
    data, indices = question.given(0), question.given(1)
    axis = _positive(question.attributes.get("axis", 0), len(data.shape))
    if data.rows is None and indices.rows is not None:
        return Rows(axis + indices.rows.axis, indices.rows.per_row)
    if data.rows is None or indices.rows is not None or data.rows.axis == axis:
        return None
    moved = len(indices.shape) - 1 if data.rows.axis > axis else 0
    return Rows(data.rows.axis + moved, data.rows.per_row)


@rule("GatherElements")
def gather_elements(question: Question) -> Rows | None:
    """Rows of indices into one table along its axis, or into their own rows along another."""
    data, indices = question.given(0), question.given(1)
    axis = _positive(question.attributes.get("axis", 0), len(data.shape))
    rows = indices.rows
    if rows is None:
        return None
    if data.rows is None:
        return rows if rows.axis == axis else None
    return rows if data.rows == rows and rows.axis != axis else None


@rule("GatherND")
def gather_points(question: Question) -> Rows | None:
    """Rows of places in one table, or in their own rows where these are batch dimensions."""
    data, indices = question.given(0), question.given(1)
    own = question.attributes.get("batch_dims", 0)
    rows = indices.rows
    if rows is None:
        return None
    if data.rows is None:
        return rows if own <= rows.axis < len(indices.shape) - 1 else None
    return rows if data.rows == rows and rows.axis < own else None


@rule("ScatterElements")
def scatter_elements(question: Question) -> Rows | None:
    """Into their own rows, which are the batch's or those of a small constant, cut for shards."""
    data, indices, updates = (question.given(index) for index in range(3))
    axis = _positive(question.attributes.get("axis", 0), len(data.shape))
    rows = indices.rows
    if rows is None or updates.rows != rows or rows.axis == axis:
        return None
    if data.rows is not None:
        return rows if data.rows == rows else None
    small = data.constant is not None and math.prod(data.shape) <= _LARGEST_CONSTANT
    return rows if small and data.shape[rows.axis] == indices.shape[rows.axis] else None


@rule("Reshape")
def reshape(question: Question) -> Rows | None:
    """To a constant shape, which is written anew for some rows."""
    return None if question.integers(1) is None else _folded(question)


@rule("Flatten")
def flatten(question: Question) -> Rows | None:
    """Follows the input's sizes."""
    return _folded(question)


@rule("Squeeze", "Unsqueeze")
def squeeze(question: Question) -> Rows | None:
    """Only named axes: others of size 1 might be a shard of one row."""
    return None if question.integers(1) is None else _folded(question)


def _folded(question: Question) -> Rows | None:
    """The axis of the result before which as many entries lie as before the batch."""
    rows, first = question.only_first(), question.given(0)
    if rows is None:
        return None
    before = math.prod(first.shape[: rows.axis])
    shape = question.outputs[0]
    for axis, size in enumerate(shape):
        if math.prod(shape[:axis]) == before and size % question.batch == 0:
            return Rows(axis, size // question.batch)
    return None


@rule("Transpose")
def transpose(question: Question) -> Rows | None:
    """The axis goes where the permutation has it."""
    rows, first = question.only_first(), question.given(0)
    if rows is None:
        return None
    order = question.attributes.get("perm") or list(reversed(range(len(first.shape))))
    return Rows(list(order).index(rows.axis), rows.per_row)


@rule("Concat")
def concat(question: Question) -> Rows | None:
    """Along another axis, of tensors that all carry the batch."""
    found = {None if operand is None else operand.rows for operand in question.inputs}
    rows = next(iter(found)) if len(found) == 1 else None
    axis = _positive(question.attributes["axis"], len(question.outputs[0]))
    return rows if rows is not None and rows.axis != axis else None


@rule("Split")
def split(question: Question) -> Rows | None:
    """Along another axis."""
    rows = question.only_first()
    axis = _positive(question.attributes.get("axis", 0), len(question.outputs[0]))
    return rows if rows is not None and rows.axis != axis else None


@rule("Slice")
def cut(question: Question) -> Rows | None:
    """Along other axes; these are constants, or the first ones."""
    rows, starts = question.only_first(), question.operand(1)
    if rows is None or starts is None:
        return None
    rank = len(question.outputs[0])
    axes = question.integers(3)
    if axes is None:
        if question.operand(3) is not None:
            return None
        axes = list(range(starts.shape[0]))
    return rows if rows.axis not in {_positive(axis, rank) for axis in axes} else None


@rule("Pad")
def pad(question: Question) -> Rows | None:
    """Nothing before nor after the rows."""
    rows, pads = question.only_first(), question.integers(1)
    if rows is None or pads is None:
        return None
    rank = len(question.outputs[0])
    axes = question.integers(3)
    if axes is None:
        if question.operand(3) is not None:
            return None
        axes = list(range(rank))
    if question.attributes.get("mode", b"constant") == b"wrap" or len(pads) != 2 * len(axes):
        return None
    at = [i for i, axis in enumerate(axes) if _positive(axis, rank) == rows.axis]
    return rows if all(pads[i] == pads[i + len(axes)] == 0 for i in at) else None


@rule("Expand")
def expand(question: Question) -> Rows | None:
    """To a constant shape, which is written anew for some rows."""
    rows, first = question.only_first(), question.given(0)
    if rows is None or question.integers(1) is None:
        return None
    return Rows(rows.axis + len(question.outputs[0]) - len(first.shape), rows.per_row)


@rule("Tile")
def tile(question: Question) -> Rows | None:
    """The rows themselves once."""
    rows, repeats = question.only_first(), question.integers(1)
    return rows if rows is not None and repeats is not None and repeats[rows.axis] == 1 else None


@rule("Resize")
def resize(question: Question) -> Rows | None:
    """By scales, that of the rows being 1; sizes would tell how many rows there are."""
    rows, first = question.only_first(), question.given(0)
    scale = question.numbers(2)
    if rows is None or scale is None or question.operand(3) is not None:
        return None
    crops = question.attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize"
    if crops or question.attributes.get("axes"):
        return None
    return rows if len(scale) == len(first.shape) and scale[rows.axis] == 1 else None


@rule("OneHot")
def one_hot(question: Question) -> Rows | None:
    """A new axis beside those of the indices."""
    rows, first = question.only_first(), question.given(0)
    if rows is None:
        return None
    new = _positive(question.attributes.get("axis", -1), len(first.shape) + 1)
    return Rows(rows.axis + (new <= rows.axis), rows.per_row)


def _positive(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis
