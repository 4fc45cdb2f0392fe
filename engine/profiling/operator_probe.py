"""What one operator costs on a device: time of its own, time of the submitting thread.

It is timed as a segment of one and as a segment of several copies side by side (``repeated.py``):
a single shot, and back to back with one synchronisation. The difference, by copy, is the
operator's own; what both have in common is the segment's. Where the host must wait for the device
within an operator (NonZero), that counts as keeping the submitting thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import onnx
from onnx import TensorProto, helper

from surplus.engine import _core
from surplus.engine.errors import ExecutionError
from surplus.engine.profiling.repeated import repeated
from surplus.engine.profiling.segment_probe import ProbeCharge, Probed, SegmentProbe, SegmentTimes
from surplus.engine.profiling.timing import Timing
from surplus.engine.values import to_value

ChargeOf = Callable[[str, int], ProbeCharge]
"""(operator type, copies of it) -> what an emulated device charges."""


def no_charge(kind: str, copies: int) -> ProbeCharge:
    """A device with times of its own."""
    return ProbeCharge()


@dataclass(frozen=True)
class OperatorParams:
    """How many copies of an operator to time.

    Parameters
    ----------
    most_copies : int
        >= 2.
    target_ns : int
        Copies are added until their segment takes about so long, >= 1.
    most_bytes : int
        All outputs of one segment take no more, but of two copies.
    captures : bool
        Whether to try operators in captured graphs.
    all_deliver : bool
        Whether all copies deliver their outputs, not only the first. Where the provider brings
        what is delivered back to the host, that would count as the operator's own time.
    """

    most_copies: int = 16
    target_ns: int = 2_000_000
    most_bytes: int = 256 << 20
    captures: bool = True
    all_deliver: bool = True

    def __post_init__(self) -> None:
        if self.most_copies < 2 or self.target_ns < 1 or self.most_bytes < 0:
            raise ValueError(f"two copies, 1 ns and 0 bytes at least are needed: {self}")


@dataclass(frozen=True)
class Operator:
    """An operator with the tensors that it reads.

    Parameters
    ----------
    kind : str
        Its type.
    model : bytes
        A model of this one node.
    inputs : mapping of str to _core.Value
        Tensors in the host's memory.
    outputs : sequence of str
        Names that it delivers.
    made_bytes : int
        Of its outputs.
    is_single : bool
        Whether it must not be copied (control flow).
    may_be_captured : bool
        Whether to try it in a captured graph.
    only_renames : bool
        Whether it gives its input another shape and no more (Reshape): it launches nothing within
        a segment, and would copy alone.
    """

    kind: str
    model: bytes
    inputs: Mapping[str, _core.Value]
    outputs: Sequence[str]
    made_bytes: int = 0
    is_single: bool = False
    may_be_captured: bool = True
    only_renames: bool = False


@dataclass(frozen=True)
class OperatorCost:
    """What an operator costs on a GPU.

    Parameters
    ----------
    time : Timing
        Launched by itself: the longer of launching it and executing it.
    launch_ns : int
        How long it keeps the submitting thread.
    captured_ns : int or None
        Time in a captured graph; None where it cannot be captured.
    """

    time: Timing
    launch_ns: int
    captured_ns: int | None


class OperatorProbe:
    """Costs of operators on one device.

    Parameters
    ----------
    probe : SegmentProbe
        On a device of two lanes at least: only then launches are told from execution.
    config : mapping of str to str
        ONNX Runtime's session configuration.
    charge : callable
        For an emulated device.
    """

    def __init__(
        self,
        probe: SegmentProbe,
        config: Mapping[str, str],
        charge: ChargeOf = no_charge,
        params: OperatorParams | None = None,
    ) -> None:
        self._probe, self._config, self._charge = probe, dict(config), charge
        self._params = params or OperatorParams()

    def cost(self, operator: Operator) -> OperatorCost:
        """Time an operator.

        Raises
        ------
        ExecutionError
            If the device cannot run it.
        """
        if operator.only_renames:
            self._probe.times(self.segment(operator))  # raises where the device cannot
            return self._renaming
        one, several, copies = self._pair(operator, captured=False)
        time_ns = max(1, _slope(one.service.ns, several.service.ns, copies))
        launch_ns = 0
        if one.host_ns is not None and several.host_ns is not None:
            launch_ns = max(0, _slope(one.host_ns, several.host_ns, copies))
        timing = Timing(time_ns, several.service.mad_ns // copies)
        return OperatorCost(timing, launch_ns, self._captured_ns(operator))

    def fixed_ns(self) -> int:
        """What any segment takes besides its operators, the submitting thread included.

        Raises
        ------
        ExecutionError
            If the device does not run a trivial operator.
        """
        one, several, copies = self._pair(negation(1), captured=False)
        fixed = [one.service.ns - _slope(one.service.ns, several.service.ns, copies)]
        if one.host_ns is not None and several.host_ns is not None:
            fixed.append(one.host_ns - _slope(one.host_ns, several.host_ns, copies))
        return max(0, *fixed)

    def without_own_ns(self, operator: Operator) -> int:
        """What the operator takes as a segment by itself besides its own time.

        Raises
        ------
        ExecutionError
            If the device cannot run it.
        """
        one, several, copies = self._pair(operator, captured=False)
        return max(0, one.service.ns - _slope(one.service.ns, several.service.ns, copies))

    def segment(self, operator: Operator) -> Probed:
        """The operator as a segment of its own."""
        charge = self._charge(operator.kind, 1)
        names = [name for name in operator.outputs if name]
        return Probed(operator.model, operator.inputs, names, config=self._config, charge=charge)

    @cached_property
    def _renaming(self) -> OperatorCost:
        """Of an operator that only renames its input: what each one more in a row adds."""
        few, many = (self._probe.times(self.segment(renamings(n))) for n in (0, _RENAMINGS))
        time_ns = max(1, round((many.service.ns - few.service.ns) / _RENAMINGS))
        launch_ns = 0
        if few.host_ns is not None and many.host_ns is not None:
            launch_ns = max(0, round((many.host_ns - few.host_ns) / _RENAMINGS))
        timing = Timing(time_ns, many.service.mad_ns // _RENAMINGS)
        return OperatorCost(timing, launch_ns, captured_ns=0 if self._params.captures else None)

    def _captured_ns(self, operator: Operator) -> int | None:
        if operator.is_single or not (operator.may_be_captured and self._params.captures):
            return None
        try:
            one, several, copies = self._pair(operator, captured=True)
        except ExecutionError:
            return None
        if not (one.is_captured and several.is_captured):
            return None
        return max(0, _slope(one.service.ns, several.service.ns, copies))

    def _pair(
        self, operator: Operator, *, captured: bool
    ) -> tuple[SegmentTimes, SegmentTimes, int]:
        """One operator alone, several in one segment, and how many these are."""
        probed = replace(self.segment(operator), captured=captured)
        one = self._probe.times(probed)
        if operator.is_single:
            return one, one, 1
        copies = self._copies(one.service.ns, operator.made_bytes)
        names = list(probed.outputs)
        more = range(1, copies) if self._params.all_deliver else ()
        several = replace(
            probed,
            model=repeated(operator.model, copies),
            outputs=[*names, *(f"{n} copy {i}" for i in more for n in names)],
            charge=self._charge(operator.kind, copies),
        )
        return one, self._probe.times(several), copies

    def _copies(self, one_ns: int, made_bytes: int) -> int:
        params = self._params
        by_time = 1 + params.target_ns // max(1, one_ns)
        by_memory = params.most_bytes // max(1, made_bytes)
        return max(2, min(params.most_copies, by_time, by_memory))


def _slope(one: int, several: int, copies: int) -> int:
    """What each further copy adds; of a single one all that it takes."""
    return one if copies == 1 else round((several - one) / (copies - 1))


_RENAMINGS = 32
"""Enough in a row to be told from noise."""


def renamings(count: int) -> Operator:
    """``count`` operators that only rename, an even number, between two that compute."""
    nodes = [helper.make_node("Neg", ["x"], ["r0"], name="first")]
    for i in range(count):
        kind = "Squeeze" if i % 2 else "Unsqueeze"
        nodes.append(helper.make_node(kind, [f"r{i}", "axes"], [f"r{i + 1}"], name=f"rename {i}"))
    nodes.append(helper.make_node("Neg", [f"r{count}"], ["y"], name="last"))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "renamings",
        [value("x", TensorProto.FLOAT, [1])],
        [value("y", TensorProto.FLOAT, [1])],
        [helper.make_tensor("axes", TensorProto.INT64, [1], [0])],
    )
    model: onnx.ModelProto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    x = to_value(np.ones(1, np.float32), TensorProto.FLOAT)
    return Operator("Neg", model.SerializeToString(), {"x": x}, ["y"])


def negation(count: int) -> Operator:
    """An operator that reads ``count`` floats and writes as many."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"], name="negation")],
        "negation",
        [value("x", TensorProto.FLOAT, [count])],
        [value("y", TensorProto.FLOAT, [count])],
    )
    model: onnx.ModelProto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    x = to_value(np.ones(count, np.float32), TensorProto.FLOAT)
    return Operator("Neg", model.SerializeToString(), {"x": x}, ["y"], made_bytes=x.nbytes)
