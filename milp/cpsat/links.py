"""Copies in the constraint program: when each is needed, and that links carry one at a time."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from surplus.milp.copies import LinkCopy, link_of
from surplus.milp.cpsat import names
from surplus.milp.cpsat.or_tools import cp_model

if TYPE_CHECKING:
    from surplus.milp.cpsat.model import ConstraintModel


class LinkCopies:
    """All copies that some placement needs.

    Parameters
    ----------
    model : ConstraintModel
        Gets the variables and constraints.
    """

    def __init__(self, model: ConstraintModel) -> None:
        self._model = model
        self._program = model.program
        self._problem = model.problem
        self._host = model.problem.devices[0].memory
        self._busy: dict[str, list[cp_model.IntervalVar]] = defaultdict(list)
        memories = sorted({device.memory for device in model.problem.devices})
        for index, tensor in enumerate(self._problem.tensors):
            for source in memories if tensor.size_bytes else ():
                for target in memories:
                    if source != target:
                        self._copy(LinkCopy(index, source, target))
        for intervals in self._busy.values():
            if len(intervals) > 1:
                self._program.add_no_overlap(intervals)

    def _copy(self, copy: LinkCopy) -> None:
        """One copy, unless it can never be needed."""
        tensor = self._problem.tensors[copy.tensor]
        leaves = self._leaves(copy)
        enters = {i: self._model.inside(i, copy.target) for i in tensor.consumers}
        waits = {i: literal for i, literal in enters.items() if literal is not None}
        returns = tensor.is_output and copy.target == self._host
        if leaves is None or not (waits or returns):
            return
        needed = self._model.boolean(names.needed(copy))
        sent = self._model.time(names.sent(copy))
        for literal in waits.values():
            self._program.add_bool_or([needed, ~leaves, ~literal])
        self._program.add_implication(needed, leaves)
        if returns:
            self._program.add_implication(leaves, needed)
        else:
            self._program.add_bool_or([~needed, *waits.values()])
        self._occupy(copy, needed, sent)
        self._arrive(copy, needed, sent, waits, returns)

    def _leaves(self, copy: LinkCopy) -> cp_model.IntVar | None:
        """1 if the tensor is made in the copy's source; None if it cannot be."""
        producer = self._problem.tensors[copy.tensor].producer
        if producer >= 0:
            return self._model.inside(producer, copy.source)
        return self._program.new_constant(1) if copy.source == self._host else None

    def _occupy(self, copy: LinkCopy, needed: cp_model.IntVar, sent: cp_model.IntVar) -> None:
        link, tensor = link_of(self._problem, copy), self._problem.tensors[copy.tensor]
        hold = self._model.scaled(link.hold_ns(tensor.size_bytes))
        interval = self._program.new_optional_fixed_size_interval_var(
            sent, hold, needed, f"l_{copy.tensor}_{link.name}"
        )
        self._busy[link.name].append(interval)

    def _arrive(
        self,
        copy: LinkCopy,
        needed: cp_model.IntVar,
        sent: cp_model.IntVar,
        waits: dict[int, cp_model.IntVar],
        returns: bool,
    ) -> None:
        """The copy follows its producer; consumers, or the end of the query, follow it."""
        tensor = self._problem.tensors[copy.tensor]
        arrival = sent + self._model.scaled(link_of(self._problem, copy).copy_ns(tensor.size_bytes))
        if tensor.producer >= 0:
            made = self._model.end[tensor.producer]
            self._program.add(sent >= made).only_enforce_if(needed)
        for task, literal in waits.items():
            self._program.add(self._model.start[task] >= arrival).only_enforce_if([needed, literal])
        if returns:
            self._program.add(self._model.makespan >= arrival).only_enforce_if(needed)
