import json
from copy import deepcopy

import pytest

from surplus.placement import ProblemError
from surplus.placement.adversary.exhaustive import best_of_all_ns
from surplus.placement.formats import ReadParams, read_problem
from tests.placement.formats.fixture_files import FILES

BLAST = FILES["wfcommons"]


def changed(place, value):
    """The instance with one value replaced; None takes it away."""
    raw = deepcopy(json.loads(BLAST.read_text()))
    inner = raw
    for key in place[:-1]:
        inner = inner[key]
    if value is None:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return json.dumps(raw)


def test_an_instance_by_hand():
    problem = read_problem(BLAST)
    assert problem.name == "blast-of-three"
    assert [device.lanes for device in problem.devices] == [3], "the cores of both machines"
    # The file lists what joins the others first.
    assert [task.name for task in problem.tasks] == ["blast_1", "blast_2", "cat_3"]
    assert [task.service_ns for task in problem.tasks] == [(4_500_000_000,), (1,), (250_000_000,)]
    assert [task.width(0) for task in problem.tasks] == [2, 1, 1]
    tensors = {t.name: (t.producer, t.consumers, t.size_bytes) for t in problem.tensors}
    assert tensors == {
        "hits_1@blast_1": (0, (2,), 30),
        "@blast_2": (1, (2,), 0),
        "genome": (-1, (0, 1), 700),
    }
    assert best_of_all_ns(problem) == 4_750_000_000


def test_processors_stand_for_the_machines():
    problem = read_problem(BLAST, params=ReadParams(processors=2))
    assert [device.lanes for device in problem.devices] == [2]
    with pytest.raises(ProblemError, match="coreCount of 'blast_1' is 2, more than all 1"):
        read_problem(BLAST, params=ReadParams(processors=1))


TASKS = ("workflow", "specification", "tasks")
STORED = ("workflow", "specification", "files")
RUNS = ("workflow", "execution", "tasks")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("schemaVersion",), "1.4", "schemaVersion must be '1.5' or '1.6', got '1.4'"),
        (("name",), 5, "instance.name: expected `str`, got `int`"),
        (("workflow", "specification"), None, "missing required field `specification`"),
        (("workflow", "execution"), None, "workflow.execution is missing"),
        ((*TASKS, 1, "parents"), None, "instance.workflow.specification.tasks[1]: "),
        ((*TASKS, 1, "id"), "cat_3", "workflow.specification.tasks: the id 'cat_3' comes twice"),
        ((*TASKS, 1, "children"), ["cat_3", "x"], "tasks[1].children: there is no task 'x'"),
        ((*TASKS, 1, "children"), [], "tasks[0].parents: 'blast_1' is named, whose children lack"),
        ((*TASKS, 1, "outputFiles"), ["x"], "tasks[1].outputFiles: there is no file 'x'"),
        ((*TASKS, 1, "inputFiles"), ["x"], "tasks[1].inputFiles: there is no file 'x'"),
        ((*STORED, 0, "sizeInBytes"), -1, "files[0].sizeInBytes must be >= 0, got -1"),
        ((*STORED, 0, "sizeInBytes"), 1.5, "files[0].sizeInBytes: expected `int`"),
        ((*STORED, 0, "id"), "hits_1", "workflow.specification.files: the id 'hits_1' comes twice"),
        (
            (*RUNS, 0, "runtimeInSeconds"),
            -1,
            "tasks[0].runtimeInSeconds must be >= 0 and below 9.007e+06, got -1.0",
        ),
        ((*RUNS, 0, "runtimeInSeconds"), "long", "tasks[0].runtimeInSeconds: expected `float`"),
        ((*RUNS, 0, "coreCount"), 0, "tasks[0].coreCount must be 1 to 4096, got 0.0"),
        ((*RUNS, 0), None, "tasks[1]: 'blast_1' is not among workflow.execution.tasks"),
        ((*RUNS, 0, "runtimeInSeconds"), 1e305, "tasks[0].runtimeInSeconds must be >= 0 and below"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(tmp_path, place, value, message):
    path = tmp_path / "bad.json"
    path.write_text(changed(place, value))
    with pytest.raises(ProblemError) as caught:
        read_problem(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_workflow_in_a_circle_is_refused(tmp_path):
    raw = json.loads(BLAST.read_text())
    first, second, _ = raw["workflow"]["specification"]["tasks"]
    first["children"], second["parents"] = ["blast_1"], ["cat_3"]
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(raw))
    with pytest.raises(ProblemError, match=r"task '.*' waits for itself: .*'cat_3'"):
        read_problem(path)
