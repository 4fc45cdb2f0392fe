"""One model with plans of one lane, of two, and cut in two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from surplus.engine import _core
from surplus.engine.devices.machines import open_machine
from surplus.engine.dfg.graph import Graph
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import per_task
from surplus.placement.placement import Placement
from tests.constant_costs import constant_problem, plan_of_groups, whole_plan
from tests.runtime.runtime_models import ADD, TWO_LANES, read_text


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return read_text(ADD, tmp_path_factory.mktemp("add"))


@pytest.fixture
def machine() -> Iterator[_core.Machine]:
    opened = open_machine(TWO_LANES)
    yield opened
    opened.close()


@pytest.fixture
def narrow(graph: Graph) -> Plan:
    return replace(whole_plan(graph, constant_problem(graph, TWO_LANES)), name="whole x1")


@pytest.fixture
def wide(narrow: Plan) -> Plan:
    return replace(narrow, name="whole x2", segments=(replace(narrow.segments[0], width=2),))


@pytest.fixture
def cut(graph: Graph) -> Plan:
    groups = per_task(constant_problem(graph, TWO_LANES), Placement((0, 0), (0, 1), "test"))
    return plan_of_groups(graph, groups, "cut")
