"""What a model that is loaded by its first query answers before that one."""

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
        sums.append(float(inputs["INPUT0"].sum()))
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
