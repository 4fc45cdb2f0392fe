"""What a model, or an ensemble, that is loaded by its first query answers before that one."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from surplus.engine.errors import ConfigError
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.repository.layout import read_entries
from surplus.engine.runtime.served_alone import ServedAlone
from surplus.engine.serving.loads import checked
from tests.repository.quick_start import save, scaled
from tests.serving.test_live_ensembles import BOTH

WARM_UP = """
model_warmup {
  name: "zeros" count: 2
  inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 1, 4 ] %s } }
}
"""


@pytest.fixture
def asked(monkeypatch):
    """The sum of each query that a model has answered."""
    sums: list[float] = []
    infer = ServedAlone.infer

    async def noting(self, inputs, *rest):
        sums.append(float(sum(array.sum() for array in inputs.values())))
        return await infer(self, inputs, *rest)

    monkeypatch.setattr(ServedAlone, "infer", noting)
    return sums


def late(root, values):
    save(scaled(2), root / "net" / "1" / "model.onnx")
    root.joinpath("net", "config.pbtxt").write_text(WARM_UP % values)
    (entry,) = read_entries(root / "net", "net")
    return checked(entry, LoadParams(devices="cpu", cache=root / "cache"))


async def queries(executor, count):
    one = {"INPUT0": np.ones((1, 4), np.float32)}
    return await asyncio.gather(*(executor.infer(one, None, None, 0) for _ in range(count)))


def test_its_warm_up_comes_before_its_first_query_and_once(tmp_path, asked):
    executor = late(tmp_path, "zero_data: true")
    assert asked == []
    for answer in asyncio.run(queries(executor, 3)):
        assert (answer["OUTPUT0"] == 2).all()
    assert asked == [0, 0, 4, 4, 4]
    asyncio.run(queries(executor, 1))
    assert asked[5:] == [4]
    executor.close()


def test_a_warm_up_that_fails_fails_the_query(tmp_path, asked):
    executor = late(tmp_path, 'input_data_file: "none"')
    with pytest.raises(ConfigError, match="none"):
        asyncio.run(queries(executor, 1))
    assert asked == []
    executor.close()


ENSEMBLES_WARM_UP = """
model_warmup {
  name: "ones" batch_size: 1 count: 2
  inputs { key: "IN" value { data_type: TYPE_FP32 dims: [ 4 ] %s } }
}
"""
IN_TURN = """
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] reshape { shape: [ 4 ] } } ]
output { name: "OUTPUT0" }
"""


def late_ensemble(root, values, config):
    """Of steps that multiply by 2 and by 3."""
    for name, factor in (("one", 2), ("two", 3)):
        save(scaled(factor), root / name / "1" / "model.onnx")
        root.joinpath(name, "config.pbtxt").write_text(config)
    root.joinpath("both", "warmup").mkdir(parents=True)
    np.full((1, 4), 10, np.float32).tofile(root / "both" / "warmup" / "tens")
    root.joinpath("both", "config.pbtxt").write_text(BOTH + ENSEMBLES_WARM_UP % values)
    (entry,) = read_entries(root / "both", "both")
    return checked(entry, LoadParams(devices="cpu", cache=root / "cache"))


async def ensemble_queries(executor, count):
    one = {"IN": np.ones((1, 4), np.float32)}
    return await asyncio.gather(*(executor.infer(one, None, None, 0) for _ in range(count)))


def test_an_ensembles_own_comes_before_its_first_query_where_steps_run_in_turn(tmp_path, asked):
    executor = late_ensemble(tmp_path, 'input_data_file: "tens"', IN_TURN)
    assert "steps in turn" in executor.facts["ensemble"]
    assert asked == []
    for answer in asyncio.run(ensemble_queries(executor, 2)):
        assert (answer["OUTPUT0"] == 6).all()
    assert asked[:4] == [40, 80, 40, 80]
    assert sorted(asked[4:]) == [4, 4, 8, 8]
    asyncio.run(ensemble_queries(executor, 1))
    assert asked[8:] == [4, 8]
    executor.close()


def test_an_ensembles_own_that_fails_fails_the_query_and_is_tried_again(tmp_path, asked):
    executor = late_ensemble(tmp_path, 'input_data_file: "hundreds"', IN_TURN)
    for _ in range(2):
        with pytest.raises(ConfigError, match="hundreds"):
            asyncio.run(ensemble_queries(executor, 2))
    assert asked == []
    np.full((1, 4), 100, np.float32).tofile(tmp_path / "both" / "warmup" / "hundreds")
    asyncio.run(ensemble_queries(executor, 1))
    assert asked == [400, 800, 400, 800, 4, 8]
    executor.close()


def test_an_ensemble_of_one_plan_is_warmed_as_any_model(tmp_path):
    executor = late_ensemble(tmp_path, 'input_data_file: "none"', 'output { name: "OUTPUT0" }')
    assert executor.facts["ensemble"] == "one plan of 2 steps"
    with pytest.raises(ConfigError, match="none"):
        asyncio.run(ensemble_queries(executor, 1))
    executor.close()
