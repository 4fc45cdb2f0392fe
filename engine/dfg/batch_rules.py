"""Rules of batch_axis.py for operators that compute: element by element, products, layers."""

from __future__ import annotations

from surplus.engine.dfg.batch_question import Operand, Question, Rows, rule

_ELEMENTWISE = [
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BitShift",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Cast",
    "CastLike",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "Div",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "Greater",
    "GreaterOrEqual",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "PRelu",
    "Pow",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Sum",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Where",
    "Xor",
]


@rule(*_ELEMENTWISE)
def elementwise(question: Question) -> Rows | None:
    """NumPy's broadcasting: whatever meets the batch axis is the batch, or has size 1 there."""
    rank = len(question.outputs[0])
    given = [operand for operand in question.inputs if operand is not None]
    found = {
        Rows(o.rows.axis + rank - len(o.shape), o.rows.per_row) for o in given if o.rows is not None
    }
    if len(found) != 1:
        return None
    (rows,) = found
    from_end = rank - rows.axis
    free = [operand for operand in given if operand.rows is None]
    return rows if all(_is_repeated(operand, from_end) for operand in free) else None


@rule("MatMul")
def product(question: Question) -> Rows | None:
    """Rows of the left, columns of the right, or any of the axes before these two."""
    left, right = question.given(0), question.given(1)
    rank = max(len(left.shape), len(right.shape))
    if left.rows is not None and right.rows is not None:
        ends = [len(o.shape) - o.rows.axis for o in (left, right) if o.rows is not None]
        same = ends[0] == ends[1] >= 3 and left.rows.per_row == right.rows.per_row
        return Rows(rank - ends[0], left.rows.per_row) if same else None
    one, other = (left, right) if left.rows is not None else (right, left)
    assert one.rows is not None
    from_end = len(one.shape) - one.rows.axis
    if from_end >= 3:
        return Rows(rank - from_end, one.rows.per_row) if _is_repeated(other, from_end) else None
    if one is left and from_end == 2:
        return Rows(rank - 2, one.rows.per_row)
    if one is right and from_end == 1 and len(right.shape) > 1:
        return Rows(len(question.outputs[0]) - 1, one.rows.per_row)
    return None


@rule("Gemm")
def gemm(question: Question) -> Rows | None:
    """Rows of the first matrix; what is added must have these, too, or none."""
    first, second, added = question.given(0), question.given(1), question.operand(2)
    along = 1 if question.attributes.get("transA", 0) else 0
    if first.rows is None or first.rows.axis != along or second.rows is not None:
        return None
    rows = Rows(0, first.rows.per_row)
    if added is None:
        return rows
    if added.rows is not None:
        return rows if added.rows == rows and len(added.shape) == 2 else None
    return rows if _is_repeated(added, 2) else None


@rule("Einsum")
def einsum(question: Question) -> Rows | None:
    """The batch's letter, the same in every input that has it, must be in the result."""
    equation = question.attributes["equation"].decode().replace(" ", "")
    terms, arrow, result = equation.partition("->")
    parts = terms.split(",")
    if not arrow or "." in equation or len(parts) != len(question.inputs):
        return None
    pairs = [(p, o) for p, o in zip(parts, question.inputs, strict=True) if o is not None]
    letters = {(p[o.rows.axis], o.rows.per_row) for p, o in pairs if o.rows is not None}
    if len(letters) != 1:
        return None
    ((letter, per_row),) = letters
    whole = any(letter in p for p, o in pairs if o.rows is None)
    if whole or result.count(letter) != 1 or any(p.count(letter) > 1 for p in parts):
        return None
    return Rows(result.index(letter), per_row)


@rule("Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "LRN")
@rule("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "DepthToSpace", "SpaceToDepth")
@rule("InstanceNormalization", "GroupNormalization")
def image_by_image(question: Question) -> Rows | None:
    """Images are the first axis; a second output of MaxPool counts over all of them."""
    rows = question.only_first()
    named = [name for name in question.node.output if name]
    return rows if rows is not None and rows.axis == 0 and len(named) == 1 else None


@rule("BatchNormalization")
def batch_normalization(question: Question) -> Rows | None:
    """Only as it is used after training: with given statistics."""
    return None if question.attributes.get("training_mode", 0) else image_by_image(question)


@rule("LayerNormalization", "RMSNormalization")
def layer_normalization(question: Question) -> Rows | None:
    """Normalises from an axis on; scale and bias must not reach before it."""
    rows = question.only_first()
    first = question.given(0)
    axis = _positive(question.attributes.get("axis", -1), len(first.shape))
    reach = max((len(o.shape) for o in question.inputs[1:] if o is not None), default=0)
    free = rows is not None and rows.axis < axis and reach <= len(first.shape) - axis
    return rows if free else None


@rule("Softmax", "LogSoftmax", "Hardmax")
def softmax(question: Question) -> Rows | None:
    """Along one other axis."""
    return _along_another(question, question.attributes.get("axis", -1))


@rule("CumSum")
def running_sum(question: Question) -> Rows | None:
    """Along one other axis, given as an input."""
    axes = question.integers(1)
    return None if axes is None or len(axes) != 1 else _along_another(question, axes[0])


@rule("TopK")
def top(question: Question) -> Rows | None:
    """Along one other axis; how many must be a constant, or else the sizes were not known."""
    return _along_another(question, question.attributes.get("axis", -1))


@rule("ArgMax", "ArgMin")
def arg(question: Question) -> Rows | None:
    """Over one other axis, which may vanish."""
    axis = question.attributes.get("axis", 0)
    return _reduced(question, [axis], bool(question.attributes.get("keepdims", 1)))


@rule("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean")
@rule("ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")
def reduction(question: Question) -> Rows | None:
    """Over other axes, named by an attribute or a constant input."""
    axes = question.attributes.get("axes") or question.integers(1)
    return _reduced(question, axes or [], bool(question.attributes.get("keepdims", 1)))


def _reduced(question: Question, axes: list[int], keepdims: bool) -> Rows | None:
    rows, first = question.only_first(), question.given(0)
    if rows is None or not axes:
        return None
    over = {_positive(axis, len(first.shape)) for axis in axes}
    if rows.axis in over:
        return None
    gone = 0 if keepdims else sum(axis < rows.axis for axis in over)
    return Rows(rows.axis - gone, rows.per_row)


def _along_another(question: Question, axis: int) -> Rows | None:
    rows, first = question.only_first(), question.given(0)
    if rows is None:
        return None
    return rows if _positive(axis, len(first.shape)) != rows.axis else None


def _is_repeated(operand: Operand, from_end: int) -> bool:
    """Whether an operand is the same for all rows, whose axis is the ``from_end``-th last."""
    rank = len(operand.shape)
    return rank < from_end or operand.shape[rank - from_end] == 1


def _positive(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis
