"""The bound that a plan shows must hold for fused and wide segments, too."""

from engine.pipeline.stages import Costs, _best_case
from engine.segmentation.service import ServiceTimes
from placement import Device, Problem, Task, Tensor


def test_the_bound_counts_widths_and_fusion():
    problem = Problem(
        "chain",
        (Device("cpu", 2),),
        (),
        (Task("a", "Conv", (1000,)), Task("b", "Relu", (400,))),
        (Tensor("x", 0, (1,), 0), Tensor("y", 1, (), 0, is_output=True)),
    )
    service = ServiceTimes({(0, 1): [1000, 400], (0, 2): [600, 500]}, {(0, 1): 0.5, (0, 2): 1.5})
    # a: half of 1000 beats 600; b: half of 400; a factor above 1 is not counted.
    assert [t.service_ns for t in _best_case(Costs(problem, service)).tasks] == [(500,), (200,)]
