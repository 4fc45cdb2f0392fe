from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from surplus.engine.devices.links import LINKS, link_figures
from surplus.engine.devices.presets import GPUS
from surplus.engine.dfg.build import build
from surplus.engine.dfg.content import GraphTask
from surplus.engine.dfg.graph import Graph
from surplus.engine.profiling.roofline import captured_time, derived_time, launch_ns
from surplus.engine.profiling.signature import Observed
from surplus.engine.profiling.work import Work, WorkCategory, work_of

FLOAT, INT64 = 1, 7


def seen(**shapes: tuple[int, ...]) -> dict[str, Observed]:
    return {n: Observed(FLOAT, s, 4 * int(np.prod(s))) for n, s in shapes.items()}


def work(kind: str, values: dict[str, Observed], inputs, outputs=("y",), **attributes) -> Work:
    """Work of one node, all of whose inputs are tensors."""

    node = helper.make_node(kind, list(inputs), list(outputs), **attributes)
    made = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info(n, FLOAT, None) for n in inputs if n],
        [helper.make_tensor_value_info(n, FLOAT, None) for n in outputs],
    )
    model = onnx.ModelProto(ir_version=9, graph=made)
    graph: Graph = build("one", model, Path("one.onnx"), "")
    task: GraphTask = graph.tasks[0]
    return work_of(graph, task, values)


def test_convolution_counts_two_operations_a_multiply_add() -> None:
    values = seen(x=(1, 64, 56, 56), w=(128, 64, 3, 3), y=(1, 128, 28, 28))
    found = work("Conv", values, ["x", "w"])
    assert found.category is WorkCategory.CONVOLUTION
    assert found.operations == 2 * 128 * 28 * 28 * 64 * 9
    assert found.bytes_moved == 4 * (64 * 56 * 56 + 128 * 64 * 9 + 128 * 28 * 28)


def test_grouped_and_transposed_convolutions() -> None:
    values = seen(x=(1, 32, 8, 8), w=(32, 1, 3, 3), y=(1, 32, 8, 8))
    assert work("Conv", values, ["x", "w"], group=32).operations == 2 * 32 * 64 * 9
    values = seen(x=(1, 16, 8, 8), w=(16, 4, 2, 2), y=(1, 4, 16, 16))
    assert work("ConvTranspose", values, ["x", "w"]).operations == 2 * 16 * 64 * 4 * 4


def test_matrix_products() -> None:
    values = seen(x=(5, 7, 11), w=(11, 13), y=(5, 7, 13))
    assert work("MatMul", values, ["x", "w"]).operations == 2 * 5 * 7 * 13 * 11
    values = seen(x=(11, 7), w=(11, 13), y=(7, 13))
    assert work("Gemm", values, ["x", "w"], transA=1).operations == 2 * 7 * 13 * 11


def test_pool_and_elementwise() -> None:
    values = seen(x=(1, 4, 8, 8), y=(1, 4, 4, 4))
    assert work("MaxPool", values, ["x"], kernel_shape=[2, 2]).operations == 4 * 16 * 4
    values = seen(x=(100,), y=(100,))
    assert work("Add", values, ["x", "x"]).operations == 100
    assert work("Relu", values, ["x"]).bytes_moved == 800


def test_aliases_launch_nothing() -> None:
    found = work("Reshape", seen(x=(4, 4), s=(1,), y=(16,)), ["x", "s"])
    assert (found.kernels, found.bytes_moved) == (0, 0)
    assert derived_time(found, GPUS["titan_rtx"]).ns == 1_000


def test_small_kernels_sit_on_the_floor_and_data_dependent_ones_wait() -> None:
    gpu = GPUS["titan_rtx"]
    assert derived_time(work("Add", seen(x=(4,), y=(4,)), ["x", "x"]), gpu).ns == gpu.floor_ns
    found = work("NonZero", seen(x=(4,), y=(1, 4)), ["x"])
    assert derived_time(found, gpu).ns == 3 * gpu.floor_ns + gpu.wait_ns


@pytest.mark.parametrize("preset", sorted(GPUS))
def test_large_work_follows_peak_and_bandwidth(preset: str) -> None:
    gpu = GPUS[preset]
    heavy = Work(WorkCategory.MATMUL, 1e12, 1000)
    assert derived_time(heavy, gpu).ns == round(1e21 / (gpu.operations_per_s * 0.65))
    assert derived_time(replace(heavy, element_bits=16), gpu).ns < derived_time(heavy, gpu).ns
    wide = Work(WorkCategory.STREAM, 0, 10**9)
    assert derived_time(wide, gpu).ns == round(1e18 / (gpu.bytes_per_s * 0.75))


def test_faster_gpus_are_faster() -> None:
    heavy = Work(WorkCategory.CONVOLUTION, 1e11, 10**7)
    times = [derived_time(heavy, GPUS[p]).ns for p in ("t4", "titan_rtx", "a100", "h200")]
    assert times == sorted(times, reverse=True)


def test_presets_have_links() -> None:
    assert set(LINKS) == set(GPUS)
    assert link_figures("h200").bytes_per_s > link_figures("titan_rtx").bytes_per_s
    with pytest.raises(ValueError, match="no preset 'x'"):
        link_figures("x")


def test_a_gather_reads_what_it_is_pointed_to_not_the_table() -> None:
    values = seen(table=(10_000, 64), at=(128, 8), y=(128, 8, 64))
    found = work("Gather", values, ["table", "at"])
    assert found.category is WorkCategory.GATHER
    assert found.bytes_moved == 2 * 4 * 128 * 8 * 64 + 8 * 128 * 8
    small = work("Gather", seen(table=(2, 64), at=(1,), y=(1, 64)), ["table", "at"])
    assert small.bytes_moved == 2 * 4 * 64 + 8


def test_captured_kernels_have_a_smaller_floor_and_large_ones_gain_nothing() -> None:
    gpu = GPUS["titan_rtx"]
    small = work("Add", seen(x=(4,), y=(4,)), ["x", "x"])
    assert captured_time(small, gpu) == gpu.graph_floor_ns < gpu.floor_ns
    assert launch_ns(small, gpu) == gpu.floor_ns
    large = work("Add", seen(x=(1 << 28,), y=(1 << 28,)), ["x", "x"])
    assert captured_time(large, gpu) == derived_time(large, gpu).ns
    alias = work("Reshape", seen(x=(4,), y=(2, 2)), ["x", "x"])
    assert (captured_time(alias, gpu), launch_ns(alias, gpu)) == (0, 0)
