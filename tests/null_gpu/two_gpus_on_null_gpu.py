"""ONNX Runtime's real CUDA provider on two GPUs in one machine; run by test_null_gpu.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from surplus.engine import _core
from tests.null_gpu.provider_on_null_gpu import SEALED, SMALL, NullCuda, Subject, built, on
from tests.null_gpu.provider_on_null_gpu import cuda as cuda
from tests.null_gpu.provider_on_null_gpu import opened as opened

DEVICES = "cpu:1,cuda:0:2,cuda:1:2"
ONE, OTHER = 1, 2
ILLEGAL_ADDRESS = 700


@pytest.mark.parametrize("name", SMALL)
def test_both_run_and_neither_waits_nor_allocates(
    name: str, cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    path, inputs = built(name, tmp_path)
    subject = Subject(on(DEVICES, opened), path)
    subject.run(inputs, 40)
    assert subject.run_sealed(cuda, inputs, SEALED) == []
    ran = {subject.gpu(gpu)["executed"] for gpu in (ONE, OTHER)}
    assert len(ran) == 1
    assert min(ran) > 0


def test_graphs_are_captured_and_replayed_on_both(
    cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    path, inputs = built("resnet50", tmp_path)
    subject = Subject(on(DEVICES, opened), path, captured=True)
    assert subject.plan.uncaptured == {}
    subject.run(inputs, 40)
    assert [subject.gpu(gpu)["replayed"] for gpu in (ONE, OTHER)] == [40, 40]


def test_one_that_is_lost_leaves_the_other(
    cuda: NullCuda, opened: list[_core.Machine], tmp_path: Path
) -> None:
    path, inputs = built("lenet", tmp_path)
    both = Subject(on(DEVICES, opened), path)
    alone = Subject(both.machine, path, gpus=(OTHER,))
    both.run(inputs, 8)
    cuda.lose(0, ILLEGAL_ADDRESS)
    run = both.plan.submit(inputs)
    assert run.wait()
    assert "device 'cuda:0' is lost" in run.error
    alone.run(inputs, 40)
    rows = both.machine.stats()["devices"]
    assert ["failure" in row for row in rows] == [False, True, False]
