import pytest

from surplus.placement import ProblemError
from surplus.placement.adversary.exhaustive import best_of_all_ns
from surplus.placement.formats import ReadParams, read_problem
from tests.placement.formats.fixture_files import FILES

DIAMOND = FILES["stg"]


def test_a_diamond_by_hand():
    problem = read_problem(DIAMOND)
    assert problem.name == "diamond"
    assert [device.lanes for device in problem.devices] == [2]
    assert [task.service_ns for task in problem.tasks] == [
        (0,), (3_000,), (5_000,), (2_000,), (4_000,), (0,),
    ]  # fmt: skip
    assert problem.predecessors == ((), (0,), (1,), (1,), (2, 3), (4,))
    assert best_of_all_ns(problem) == 12_000
    assert best_of_all_ns(read_problem(DIAMOND, params=ReadParams(processors=1))) == 14_000


def test_tasks_may_stand_before_those_that_they_wait_for(tmp_path):
    path = tmp_path / "turned.stg"
    path.write_text("1\n0 0 1 1\n1 7 1 2\n2 0 0\n")
    problem = read_problem(path)
    assert [task.name for task in problem.tasks] == ["t2", "t1", "t0"]
    assert problem.predecessors == ((), (0,), (1,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2\n0 0 0\n1 3 1 0\n", "line 3: 2 tasks end here, line 1 says 2"),
        ("0\n0 0 0\n", "line 2: 1 tasks end here"),
        ("1 2\n", "line 1: the number of tasks must stand alone, got '1 2'"),
        ("# nothing\n\n", "line 1: the number of tasks is missing"),
        ("0\n0 0 0\n1 x 1 0\n", "line 3: column 2 must be a whole number >= 0, got 'x'"),
        ("0\n0 0 0\n1 -4 1 0\n", "line 3: column 2 must be a whole number >= 0, got '-4'"),
        ("0\n0 0 0\n1 1.5 1 0\n", "line 3: column 2 must be a whole number >= 0, got '1.5'"),
        ("0\n0 0 0\n1 9007199254740992 1 0\n", "line 3: column 2 must be below 2^53"),
        (f"0\n0 0 0\n1 {'9' * 5000} 1 0\n", "line 3: column 2 must be below 2^53"),
        ("0\n0 0 0\n1 0\n", "line 3: number, processing time and predecessors are needed"),
        ("0\n\n# c\n0 0 0\n7 0 1 0\n", "line 5: column 1: task 7 stands where 1 should"),
        ("0\n0 0 0\n1 0 2 0\n", "line 3: column 3 says 2 predecessors, 1 follow"),
        ("0\n0 0 0\n1 0 1 5\n", "line 3: column 4: there is no task 5"),
        ("0\n0 0 0\n1 0 2 0 0\n", "line 3: column 5: predecessor 0 comes twice"),
        ("0\n0 0 1 1\n1 0 1 0\n", "waits for itself: 't0' -> 't1' -> 't0'"),
        ("0\n0 0 0\n1 9007199254741 1 0\n", "task 't1': service_ns"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(tmp_path, text, message):
    path = tmp_path / "bad.stg"
    path.write_text(text)
    with pytest.raises(ProblemError) as caught:
        read_problem(path, "stg")
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
