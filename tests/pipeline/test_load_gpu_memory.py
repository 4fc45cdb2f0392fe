"""Loading with a limit on the GPU's memory: what it does not hold runs on the CPU."""

import numpy as np
import pytest

from surplus import models
from surplus.engine.errors import ConfigError
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.load_params import LoadParams

DEVICES = "cpu:1,emulated:gpu"
TABLES, ROWS = 4, 2_000
TABLE_BYTES = ROWS * 64 * 4


@pytest.fixture(scope="module")
def dlrm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limited")
    path = models.save(models.build("dlrm", tables=TABLES, rows=ROWS), folder / "dlrm.onnx")
    return path, models.example_inputs("dlrm", tables=TABLES, rows=ROWS), folder / "cache"


def loaded(dlrm, **options):
    path, inputs, cache = dlrm
    return load_planned(
        path, DEVICES, "single", inputs=inputs, cache=cache, selection_s=0, **options
    )


def constants_on(model, device):
    """Bytes of the tables on a device, by the plan's segments."""
    plan = model.plan
    tasks = [task for s in plan.segments if plan.devices[s.device] == device for task in s.tasks]
    return sum(model.graph.tasks[task].weight_bytes for task in tasks)


def test_plans_keep_to_the_limit_and_answer_alike(dlrm):
    free, tight = loaded(dlrm), loaded(dlrm, gpu_memory="3.5MB")
    assert constants_on(tight, "emulated:gpu") <= 3_500_000
    assert constants_on(tight, "cpu") >= TABLE_BYTES
    answers = [model.run(dlrm[1]) for model in (free, tight)]
    for name, value in answers[0].items():
        np.testing.assert_allclose(answers[1][name], value, rtol=1e-5, atol=1e-6)


def test_a_stored_plan_is_that_of_its_limit(dlrm):
    for limit in ("4MB", "3.5MB"):
        loaded(dlrm, gpu_memory=limit)
    assert constants_on(loaded(dlrm, gpu_memory="3.5MB"), "emulated:gpu") <= 3_500_000


def test_a_limit_that_is_no_size_is_refused():
    with pytest.raises(ConfigError, match="size '4gb' is not understood"):
        LoadParams(gpu_memory="4gb")
    assert LoadParams(gpu_memory="4GiB").plan_options()["gpu_memory"] == 4 << 30
    assert "gpu_memory" not in LoadParams().plan_options()
