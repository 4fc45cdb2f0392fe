import json

import pytest

from surplus.placement import ProblemError
from surplus.placement.formats import ReadParams, read_problem
from tests.placement.formats.fixture_files import FILES

TWO_LAYERS = FILES["dnn_partitioning"]


def changed(**fields):
    return json.dumps(json.loads(TWO_LAYERS.read_text()) | fields)


def test_a_network_by_hand():
    problem = read_problem(TWO_LAYERS)
    assert problem.name == "two_layers"
    assert [(d.name, d.lanes, d.memory, d.memory_bytes) for d in problem.devices] == [
        ("cpu", 3, "host", None),
        ("accelerator:0", 1, "accelerator:0", 5_000),
        ("accelerator:1", 1, "accelerator:1", 5_000),
    ]
    # Node 7 reads node 3, so it comes after it although it stands first.
    assert [task.name for task in problem.tasks] == ["n3", "n7", "n5"]
    assert [task.service_ns for task in problem.tasks] == [
        (2_000_000, 250_000, 250_000),
        (4_000_000, 500_000, 500_000),
        (1_500_000, None, None),
    ]
    assert [task.weight_bytes for task in problem.tasks] == [20, 1_000, 0]
    assert [task.kind for task in problem.tasks] == ["Forward", "Forward", "Backward"]
    assert problem.predecessors == ((), (0,), (0, 1))


def test_moving_takes_what_the_file_says():
    problem = read_problem(TWO_LAYERS)
    sizes = {tensor.name: tensor.size_bytes for tensor in problem.tensors}
    assert problem.copy_ns(0, 1, sizes["x3"]) == problem.copy_ns(2, 0, sizes["x3"]) == 125_000
    assert problem.copy_ns(0, 1, sizes["x7"]) == 2_000
    assert problem.copy_ns(1, 2, sizes["x3"]) == 250_000, "by way of the host"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cpus": 0}, "network.cpus must be >= 1, got 0"),
        ({"accelerators": -1}, "network.accelerators must be 0 to 256, got -1"),
        ({"accelerators": 1.5}, "network.accelerators: expected `int`"),
        (
            {"accelerator_bytes": -2},
            "network.accelerator_bytes must be >= 0 and below 9.007e+15, got -2.0",
        ),
        ({"colour": 1}, "network: field 'colour' is unknown"),
        ({"nodes": [[1, 1, 0.5]]}, "network.nodes[0]: expected `array` of length 7, got 3"),
        ({"nodes": [[1, 1, "a", 1, 0, 1, 0]]}, "network.nodes[0][2]: expected `float`"),
        ({"nodes": [[1, 2, 1, 1, 0, 1, 0]]}, "network.nodes[0][1] must be 0 or 1, got 2"),
        ({"nodes": [[1, 1, 1, 1, 7, 1, 0]]}, "network.nodes[0][4] must be 0 or 1, got 7"),
        (
            {"nodes": [[1, 1, 1, -1, 0, 1, 0]]},
            "network.nodes[0][3] must be >= 0 and below 9.007e+09, got",
        ),
        ({"nodes": [[1, 1, 1, 1, 0, 1, 0]] * 2}, "network.nodes[1][0]: id 1 comes twice"),
        ({"edges": [[3, 9, 0.1]]}, "network.edges[0][1]: there is no node 9"),
        ({"edges": [[3, 7, 0.1], [3, 7, 0.1]]}, "network.edges[1]: the edge 3 -> 7 comes twice"),
        ({"edges": [[3, 7, 0.1], [3, 5, 0.2]]}, "network.edges[1][2]: the output of node 3 takes"),
        (
            {"edges": [[3, 7, -0.1]]},
            "network.edges[0][2] must be >= 0 and below 9.007e+09, got -0.1",
        ),
        ({"edges": [[3, 7, 0], [7, 3, 0]]}, "waits for itself: "),
    ],
)
def test_what_is_wrong_is_named_by_its_field(tmp_path, fields, message):
    path = tmp_path / "bad.json"
    path.write_text(changed(**fields))
    with pytest.raises(ProblemError) as caught:
        read_problem(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_its_machine_is_its_own():
    with pytest.raises(ProblemError, match=r"network\.cpus: the file says its own"):
        read_problem(TWO_LAYERS, params=ReadParams(processors=4))


def test_a_missing_field_is_named(tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('{"accelerators": 2}')
    with pytest.raises(ProblemError, match=r"network: .*missing required field `name`"):
        read_problem(path)
