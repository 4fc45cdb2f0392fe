"""Instances of WfCommons (``workflow.py``): a workflow and the times of one run, for equal cores.

Departures: all cores are alike and share one file system, so files are handed on for nothing; they
count in bytes alone. Two tasks depend on each other where the file says so, not by files.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from surplus.placement.field_checks import ProblemError, shown
from surplus.placement.formats.problem_text import ProblemText
from surplus.placement.formats.read_params import ReadParams
from surplus.placement.formats.task_order import in_order
from surplus.placement.formats.workflow import NS_PER_S, WorkflowInstance, read_instance
from surplus.placement.problem import Device, Problem, Task, Tensor

_PROCESSORS = 2


class WfCommons:
    """Cores are the lanes of one device; a task takes as many as it had."""

    def recognises(self, file: ProblemText) -> bool:
        """By a field that no other format has."""
        return file.has_field("workflow")

    def read(self, file: ProblemText, params: ReadParams) -> Problem:
        """The problem.

        Cores are ``params.processors``, else those of the run's machines, else 2.

        Raises
        ------
        ProblemError
            Naming the field; also if a task had more cores than there are.
        """
        instance = read_instance(file)
        cores = params.processors or _machines_cores(instance) or _PROCESSORS
        tasks, tensors = in_order(_tasks(instance, cores), list(_tensors(instance)))
        notes = {"times": "of the run that the instance records"}
        return Problem(instance.name, (Device("cpu", cores),), (), tasks, tensors, notes)


def _machines_cores(instance: WorkflowInstance) -> int:
    """Cores of all machines; 0 unless each says its own."""
    execution = instance.workflow.execution
    cores = [machine.cpu.coreCount or 0 for machine in execution.machines] if execution else []
    return sum(cores) if all(cores) else 0


def _tasks(instance: WorkflowInstance, cores: int) -> list[Task]:
    rows, runs = [], instance.runs
    for task in instance.workflow.specification.tasks:
        run = runs[task.id]
        width = ceil(run.coreCount)
        if width > cores:
            raise ProblemError(
                f"workflow.execution.tasks: coreCount of {shown(task.id)} is {run.coreCount:g},"
                f" more than all {cores} processors"
            )
        rows.append(Task(task.id, task.name, (round(run.runtimeInSeconds * NS_PER_S),), (width,)))
    return rows


def _tensors(instance: WorkflowInstance) -> Iterator[Tensor]:
    """What comes from outside; of each task its files that children read; and what only orders."""
    tasks, sizes = instance.workflow.specification.tasks, instance.files
    place = {task.id: index for index, task in enumerate(tasks)}
    read = [frozenset(task.inputFiles) for task in tasks]
    written = {name for task in tasks for name in task.outputFiles}
    given: dict[str, set[int]] = {}
    for index, task in enumerate(tasks):
        for name in read[index] - written:
            given.setdefault(name, set()).add(index)
        children = {place[child] for child in task.children}
        behind = set(children)
        for name in dict.fromkeys(task.outputFiles):
            readers = {child for child in children if name in read[child]}
            if readers:
                yield Tensor(f"{name}@{task.id}", index, tuple(readers), sizes[name])
                behind -= readers
        if behind:
            yield Tensor(f"@{task.id}", index, tuple(behind), 0)
    for name, readers in sorted(given.items()):
        yield Tensor(name, -1, tuple(readers), sizes[name])
