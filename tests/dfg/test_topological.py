import pytest

from surplus.engine.dfg.topological import topological_order


@pytest.mark.parametrize(
    ("before", "order"),
    [
        ([], []),
        ([[], [], []], [0, 1, 2]),
        ([[2], [], []], [1, 2, 0]),
        ([[3], [3], [0, 1], []], [3, 0, 1, 2]),
        ([[1], [0], [], [1]], [2]),
    ],
)
def test_the_least_that_is_ready_comes_next(before, order):
    assert topological_order(before) == order
