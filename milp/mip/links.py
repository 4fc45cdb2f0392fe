"""Copies that queue for their link: the rows that keep two of them apart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pulp

from surplus.milp.copies import CopyPair, LinkCopy, link_of
from surplus.milp.mip.units import MODEL_SPAN
from surplus.placement.timeline import SpanKind, Timeline

if TYPE_CHECKING:
    from surplus.milp.mip.model import PlacementModel


class LinkQueues:
    """The queueing copies of a program; not in the paper.

    ``u_t_a_b`` starts the copy of tensor t over the link from memory a to b, ``c_t_a_b`` says
    whether it is needed, ``q_t_v_a_b`` that t leaves the link before v takes it.

    Parameters
    ----------
    model : PlacementModel
        Gets the variables and rows.
    pairs : iterable of CopyPair
        Copies that must not hold their link at once.
    """

    def __init__(self, model: PlacementModel, pairs: Iterable[CopyPair]) -> None:
        self._model = model
        self._problem = model.problem
        self._pairs = sorted(pairs)
        self._memories = sorted({device.memory for device in model.problem.devices})
        self._u: dict[LinkCopy, pulp.LpVariable] = {}
        self._used: dict[LinkCopy, pulp.LpVariable] = {}
        self._separate()

    def start_name(self, copy: LinkCopy) -> str:
        """Name of the variable that starts a copy, which is there only if it queues."""
        return self._name("u", copy)

    def _separate(self) -> None:
        """Two copies over one link, one after the other; not in the paper."""
        for copy in sorted({copy for pair in self._pairs for copy in pair}):
            self._queued_copy(copy)
        for pair in self._pairs:
            first, second = (self._variable("q", c, d) for c, d in (pair, pair[::-1]))
            self._model.add(first + second >= self._used[pair[0]] + self._used[pair[1]] - 1)
            for order, a, b in ((first, *pair), (second, *pair[::-1])):
                hold = link_of(self._problem, a).hold_ns(self._problem.tensors[a.tensor].size_bytes)
                gate = (MODEL_SPAN + self._model.scaled(hold)) * (1 - order)
                self._model.add(self._u[b] >= self._u[a] + self._model.scaled(hold) - gate)

    def _queued_copy(self, copy: LinkCopy) -> None:
        """The start of a copy, whether it is needed, and who waits for it.

        Where it is not needed its start says nothing and may be its tensor's, so that every
        gate needs to cover no more than an arrival at the upper bound.
        """
        tensor = self._problem.tensors[copy.tensor]
        self._u[copy] = self._variable("u", copy, integer=False)
        self._used[copy] = self._variable("c", copy)
        leaves: pulp.LpAffineExpression | int = 1
        if tensor.producer >= 0:
            self._model.add(self._u[copy] >= self._model.finish(tensor.producer))
            leaves = pulp.lpSum(self._model.inside(tensor.producer, copy.source))
        ns = link_of(self._problem, copy).copy_ns(tensor.size_bytes)
        arrival = self._u[copy] + self._model.scaled(ns)
        for i in tensor.consumers:
            enters = pulp.lpSum(self._model.inside(i, copy.target))
            self._model.add(self._used[copy] >= leaves + enters - 1)
            gate = (MODEL_SPAN + self._model.scaled(ns)) * (2 - leaves - enters)
            self._model.add(self._model.start[i] >= arrival - gate)
        if tensor.is_output and copy.target == self._problem.devices[0].memory:
            self._model.add(self._used[copy] >= leaves)
            self._model.add(
                self._model.makespan
                >= arrival - (MODEL_SPAN + self._model.scaled(ns)) * (1 - leaves)
            )

    def _variable(
        self, letter: str, copy: LinkCopy, other: LinkCopy | None = None, integer: bool = True
    ) -> pulp.LpVariable:
        name = self._name(letter, copy, other)
        if integer:
            return self._model.program.add_variable(name, cat="Binary")
        return self._model.program.add_variable(name, 0, MODEL_SPAN)

    def _name(self, letter: str, copy: LinkCopy, other: LinkCopy | None = None) -> str:
        ends = [self._memories.index(copy.source), self._memories.index(copy.target)]
        numbers = [copy.tensor, *([other.tensor] if other else []), *ends]
        return "_".join([letter, *map(str, numbers)])

    def start_values(self, timeline: Timeline) -> dict[str, float]:
        """Variables of the queueing copies of a known schedule."""
        spans = {(s.index, s.resource): s for s in timeline if s.kind is SpanKind.COPY}
        ends = {s.index: s.end_ns for s in timeline if s.kind is SpanKind.TASK}
        starts: dict[LinkCopy, int] = {}
        values: dict[str, float] = {}
        for copy in self._u:
            span = spans.get((copy.tensor, link_of(self._problem, copy).name))
            producer = self._problem.tensors[copy.tensor].producer
            made = 0 if producer < 0 else ends[producer]
            starts[copy] = made if span is None else span.start_ns
            values[self._name("c", copy)] = float(span is not None)
            values[self._name("u", copy)] = starts[copy] / self._model.unit_ns
        for a, b in self._pairs:
            both = values[self._name("c", a)] + values[self._name("c", b)] == 2
            values[self._name("q", a, b)] = float(both and starts[a] < starts[b])
            values[self._name("q", b, a)] = float(both and starts[a] >= starts[b])
        return values
