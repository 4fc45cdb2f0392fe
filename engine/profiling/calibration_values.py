"""The values of a calibration run, made when somebody asks for them.

What a task takes is mostly known before it runs: an operator of the same sizes was measured, here
or in an earlier process. Such tasks wait. When one must be measured, those that lead to it run,
many in a session; the others never do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from surplus.engine import _core
from surplus.engine.dfg.extract import extract
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ExecutionError, one_line
from surplus.engine.native import open_session

_TASKS_A_SESSION = 64
"""Opening one costs some 0.15 ms, and so do ten operators; all that is made in it lies in memory
until it ends."""


class CalibrationValues:
    """Values by name, each kept until its last reader has run.

    Parameters
    ----------
    given : mapping of str to _core.Value
        The graph's inputs.
    """

    def __init__(self, graph: Graph, given: Mapping[str, _core.Value]) -> None:
        self._graph = graph
        self._held = dict(given)
        self._waiting: set[int] = set()
        self._readers = [len(tensor.consumers) for tensor in graph.tensors]

    def wait(self, task: int) -> None:
        """Put a task off; all before it have run or wait."""
        self._waiting.add(task)

    def inputs_of(self, task: int) -> dict[str, _core.Value]:
        """What a task reads; omitted optional inputs of the graph are left out.

        Raises
        ------
        ExecutionError
            Naming a task before it that failed, and why.
        """
        self._run(self._missing_before(task))
        names = [self._graph.tensors[i].name for i in self._graph.tasks[task].inputs]
        return {name: self._held[name] for name in names if name in self._held}

    def add(self, task: int, made: Mapping[str, _core.Value]) -> None:
        """Take over what a task has made, and free what nobody else reads."""
        self._waiting.discard(task)
        for index in self._graph.tasks[task].outputs:
            name = self._graph.tensors[index].name
            if self._readers[index] and name in made:
                self._held[name] = made[name]
        for index in self._graph.tasks[task].inputs:
            self._readers[index] -= 1
            if not self._readers[index]:
                self._held.pop(self._graph.tensors[index].name, None)

    def _missing_before(self, task: int) -> list[int]:
        """Tasks that wait and lead to this one, ascending."""
        found: set[int] = set()
        path = [task]
        while path:
            before = self._waiting.intersection(self._graph.predecessors[path.pop()]) - found
            found |= before
            path += before
        return sorted(found)

    def _run(self, tasks: Sequence[int]) -> None:
        for first in range(0, len(tasks), _TASKS_A_SESSION):
            piece = tasks[first : first + _TASKS_A_SESSION]
            try:
                made = self._made(piece)
            except (RuntimeError, MemoryError):  # of one of them, which is to be named
                made = {}
            for task in piece:
                self.add(task, made or self._made_alone(task))

    def _made_alone(self, task: int) -> dict[str, _core.Value]:
        try:
            return self._made([task])
        except (RuntimeError, MemoryError) as error:
            raise failed(self._graph, task, error) from error

    def _made(self, tasks: Sequence[int]) -> dict[str, _core.Value]:
        """What the tasks make that others read, of one session."""
        outputs = list(self._outputs(tasks))
        model = extract(self._graph, tasks, outputs).SerializeToString()
        folder = self._graph.folder
        session = open_session(model, level="disable_all", weights_folder=folder)
        held = {name: self._held[name] for name in session.input_names if name in self._held}
        return dict(zip(session.output_names, session.run(dict(held)), strict=True))

    def _outputs(self, tasks: Sequence[int]) -> Iterable[str]:
        inside = set(tasks)
        for task in tasks:
            for index in self._graph.tasks[task].outputs:
                tensor = self._graph.tensors[index]
                if not inside.issuperset(tensor.consumers):
                    yield tensor.name


def failed(graph: Graph, task: int, error: Exception) -> ExecutionError:
    """Says which task of a calibration run failed."""
    text = f"task {graph.tasks[task].name!r} failed in calibration: {one_line(error)}"
    return ExecutionError(text)
