"""What results say that the solvers' programs do not know."""

from dataclasses import replace

import pytest

from surplus.milp.left_out import left_out
from tests.milp.problems import edge, two_devices

PLAIN = two_devices([(1, 1), (1, 1)], [edge(0, 1, size=8)], lanes=(1, 2))


def with_gpu(**changes):
    host, gpu = PLAIN.devices
    return replace(PLAIN, devices=(host, replace(gpu, **changes)))


def with_link(**changes):
    return replace(PLAIN, links=(replace(PLAIN.links[0], **changes), PLAIN.links[1]))


def launched(launch_ns):
    return replace(PLAIN, tasks=tuple(replace(task, launch_ns=launch_ns) for task in PLAIN.tasks))


@pytest.mark.parametrize(
    ("problem", "names"),
    [
        (PLAIN, ()),
        (with_gpu(slowdown=(1.0, 1.5)), ("slowdown of 'gpu' beyond its least",)),
        (with_gpu(slowdown=(1.5,)), ()),
        (with_gpu(slowdown=(1.5, 1.5, 2.0)), ()),
        (with_gpu(submit_ns=1), ("submit_ns of 'gpu'",)),
        (launched((0, 3)), ("launch_ns on 'gpu'",)),
        (launched((0, 0)), ()),
        (with_link(staging_bytes=7), ("staging_bytes of host->gpu",)),
        (with_link(staging_bytes=8), ()),
        (with_link(pageable=True), ("pageable copies over host->gpu",)),
        (
            replace(with_gpu(submit_ns=2), links=with_link(pageable=True).links),
            ("submit_ns of 'gpu'", "pageable copies over host->gpu"),
        ),
    ],
)
def test_each_field_that_no_program_counts_is_named(problem, names):
    assert left_out(problem) == names
