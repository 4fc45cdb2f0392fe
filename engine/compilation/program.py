"""What is computed number by number behind a layer's sum, or row by row: small programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surplus.engine.compilation.tvm_here import part

ELEMENTWISE = frozenset({"Add", "Sub", "Mul", "Div", "Relu", "Clip", "Erf", "Sqrt", "Pow"})
OVER_ROWS = frozenset({"ReduceMean", "Softmax"})

# Of the rational approximation of erf that Eigen and topi.fast_erf use, on [-4, 4]; 3e-7 off.
_ERF_ABOVE = (-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06,
              -5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03,
              -1.60960333262415e-02)  # fmt: skip
_ERF_BELOW = (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
              -7.37332916720468e-03, -1.42647390514189e-02)  # fmt: skip
_ERF_END = 4.0
# Of 2^x on [-0.5, 0.5]: Taylor's, 2e-7 off.
_EXP2 = (0.00015403530, 0.0013333558, 0.0096181291, 0.055504109, 0.24022651, 0.69314718, 1.0)
_LOG2_E = 1.4426950408889634
_LEAST_EXPONENT = -126.0


@dataclass(frozen=True)
class Reading:
    """An operand of an instruction.

    Parameters
    ----------
    kind : str
        ``value``: what an earlier instruction made, 0 is what the program begins with; ``scalar``:
        a number; ``vector``: a constant by its place, one number a column; ``tensor``: another
        tensor by its place.
    number : float
        The place, or the scalar itself.
    """

    kind: str
    number: float


@dataclass(frozen=True)
class Instruction:
    """An operator of ONNX, by name, on operands."""

    operator: str
    operands: tuple[Reading, ...]


@dataclass(frozen=True)
class LayerProgram:
    """Instructions; the last one makes the result, or what it begins with if there are none.

    Parameters
    ----------
    instructions : tuple of Instruction
    vectors : int
        Constants that are read.
    tensors : tuple of tuple of int
        Dimensions of other tensors that are read, of rank and size of the result, or 1 where they
        are the same for all.
    """

    instructions: tuple[Instruction, ...] = ()
    vectors: int = 0
    tensors: tuple[tuple[int, ...], ...] = ()


Reader = Callable[[Reading], Any]


def evaluated(program: LayerProgram, first: Any, read: Reader) -> Any:
    """The result for one element, as an expression; ``read`` says what vectors and tensors are."""
    values = [first]

    def operand(reading: Reading) -> Any:
        if reading.kind == "value":
            return values[int(reading.number)]
        return number(reading.number) if reading.kind == "scalar" else read(reading)

    for row in program.instructions:
        values.append(elementwise(row.operator, [operand(own) for own in row.operands]))
    return values[-1]


def number(value: float) -> Any:
    """A constant of an expression."""
    return part("tirx").const(value, "float32")


def elementwise(operator: str, operands: Sequence[Any]) -> Any:
    """One operator on expressions."""
    return _MEANING[operator](*operands)


def exponential(x: Any) -> Any:
    """e^x for x up to 88, without a call that would not be vectorised; 3e-7 off, relatively."""
    te = part("te")
    scaled = te.max(x * number(_LOG2_E), number(_LEAST_EXPONENT))
    whole = te.floor(scaled + number(0.5))
    fraction = scaled - whole
    shifted = (whole.astype("int32") + 127) << 23
    return _polynomial(fraction, _EXP2) * part("tirx").reinterpret("float32", shifted)


def _erf(x: Any) -> Any:
    te = part("te")
    inside = te.max(te.min(x, number(_ERF_END)), number(-_ERF_END))
    square = inside * inside
    return inside * _polynomial(square, _ERF_ABOVE) / _polynomial(square, _ERF_BELOW)


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Horner's rule, the highest power first."""
    total = number(coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + number(coefficient)
    return total


def _power(x: Any, exponent: Any) -> Any:
    return x * x if float(exponent.value) == 2.0 else part("te").sqrt(x)


_MEANING: Mapping[str, Callable[..., Any]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
    "Relu": lambda a: part("te").max(a, number(0.0)),
    "Clip": lambda a, low, high: part("te").max(part("te").min(a, high), low),
    "Erf": _erf,
    "Sqrt": lambda a: part("te").sqrt(a),
    "Pow": _power,
}
