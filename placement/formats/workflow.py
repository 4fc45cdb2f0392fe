"""An instance of a workflow as WfCommons writes it, checked.

References
----------
WfFormat, schemas 1.5 and 1.6 (github.com/wfcommons/WfFormat). Fields are called as there; those
that have no meaning for a placement are passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from surplus.placement.field_checks import ProblemError, shown
from surplus.placement.formats.amounts import scaled
from surplus.placement.formats.problem_text import ProblemText
from surplus.placement.machine_check import LANES_END
from surplus.placement.records import read_value

NS_PER_S = 1e9

_VERSIONS = ("1.5", "1.6")
_TASKS = "workflow.specification.tasks"
_FILES = "workflow.specification.files"
_RUNS = "workflow.execution.tasks"


@dataclass(frozen=True)
class SpecifiedTask:
    """What a task waits for, reads and writes; all by id."""

    id: str
    name: str
    parents: tuple[str, ...]
    children: tuple[str, ...]
    inputFiles: tuple[str, ...] = ()
    outputFiles: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorkflowFile:
    """A file and its bytes, >= 0."""

    id: str
    sizeInBytes: int


@dataclass(frozen=True)
class Specification:
    """The graph."""

    tasks: tuple[SpecifiedTask, ...]
    files: tuple[WorkflowFile, ...] = ()


@dataclass(frozen=True)
class ExecutedTask:
    """How long a task ran, and on how many cores, >= 1."""

    id: str
    runtimeInSeconds: float
    coreCount: float = 1


@dataclass(frozen=True)
class MachineCpu:
    """Cores of a machine; None where the file does not say."""

    coreCount: int | None = None


@dataclass(frozen=True)
class ExecutionMachine:
    """One of those that the instance ran on."""

    nodeName: str
    cpu: MachineCpu = MachineCpu()


@dataclass(frozen=True)
class Execution:
    """One run of the graph."""

    tasks: tuple[ExecutedTask, ...]
    machines: tuple[ExecutionMachine, ...] = ()


@dataclass(frozen=True)
class Workflow:
    """Graph and run; a run is optional in the schema, but without one there are no times."""

    specification: Specification
    execution: Execution | None = None


@dataclass(frozen=True)
class WorkflowInstance:
    """The file."""

    name: str
    schemaVersion: str
    workflow: Workflow

    @property
    def runs(self) -> dict[str, ExecutedTask]:
        """Of each task by its id."""
        execution = self.workflow.execution
        return {run.id: run for run in execution.tasks} if execution else {}

    @property
    def files(self) -> dict[str, int]:
        """Bytes of each file by its id."""
        return {file.id: file.sizeInBytes for file in self.workflow.specification.files}


def read_instance(file: ProblemText) -> WorkflowInstance:
    """Read and check an instance.

    Raises
    ------
    ProblemError
        Naming the field.
    """
    if file.raw is None:
        raise ProblemError("instance: not JSON")
    try:
        instance: WorkflowInstance = read_value(WorkflowInstance, file.raw, "instance")
    except ValueError as error:
        raise ProblemError(str(error)) from error
    if instance.schemaVersion not in _VERSIONS:
        known = " or ".join(map(repr, _VERSIONS))
        raise ProblemError(f"schemaVersion must be {known}, got {shown(instance.schemaVersion)}")
    _check_graph(instance)
    _check_files(instance)
    _check_runs(instance)
    return instance


def _check_graph(instance: WorkflowInstance) -> None:
    tasks = instance.workflow.specification.tasks
    _check_ids(_TASKS, (task.id for task in tasks))
    parents = {task.id: frozenset(task.parents) for task in tasks}
    children = {task.id: frozenset(task.children) for task in tasks}
    for place, task in enumerate(tasks):
        for field, others, back, named in (
            ("parents", task.parents, "children", children),
            ("children", task.children, "parents", parents),
        ):
            owner = f"{_TASKS}[{place}].{field}"
            for other in others:
                if other not in named:
                    raise ProblemError(f"{owner}: there is no task {shown(other)}")
                if task.id not in named[other]:
                    raise ProblemError(
                        f"{owner}: {shown(other)} is named, whose {back} lack {shown(task.id)}"
                    )


def _check_files(instance: WorkflowInstance) -> None:
    files = instance.workflow.specification.files
    _check_ids(_FILES, (file.id for file in files))
    for place, file in enumerate(files):
        if file.sizeInBytes < 0:
            owner = f"{_FILES}[{place}].sizeInBytes"
            raise ProblemError(f"{owner} must be >= 0, got {file.sizeInBytes}")
    known = {file.id for file in files}
    for place, task in enumerate(instance.workflow.specification.tasks):
        for field in ("inputFiles", "outputFiles"):
            for name in getattr(task, field):
                if name not in known:
                    raise ProblemError(f"{_TASKS}[{place}].{field}: there is no file {shown(name)}")


def _check_runs(instance: WorkflowInstance) -> None:
    execution = instance.workflow.execution
    if execution is None:
        raise ProblemError("workflow.execution is missing: it has the tasks' times")
    _check_ids(_RUNS, (run.id for run in execution.tasks))
    for place, run in enumerate(execution.tasks):
        scaled(f"{_RUNS}[{place}].runtimeInSeconds", run.runtimeInSeconds, NS_PER_S)
        if not 1 <= run.coreCount < LANES_END:
            raise ProblemError(
                f"{_RUNS}[{place}].coreCount must be 1 to {LANES_END - 1},"
                f" got {shown(run.coreCount)}"
            )
    runs = instance.runs
    for place, task in enumerate(instance.workflow.specification.tasks):
        if task.id not in runs:
            raise ProblemError(f"{_TASKS}[{place}]: {shown(task.id)} is not among {_RUNS}")


def _check_ids(owner: str, ids: Iterable[str]) -> None:
    for name, count in Counter(ids).items():
        if count > 1:
            raise ProblemError(f"{owner}: the id {shown(name)} comes twice")
