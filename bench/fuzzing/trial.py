"""One random model, answered by ONNX Runtime alone and by us: whole, cut at random, and loaded."""

from __future__ import annotations

import re
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from bench.fuzzing.by_kernels import furthest, library_asked
from bench.fuzzing.growing import Array, Grown, run_plain
from bench.safety.random_plans import CHARGED_NS, plan_of_groups, random_costs, random_plan
from surplus.engine.contest.answers import Apart, Expected
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import EngineError
from surplus.engine.examples.adversarial import adversarial_inputs
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.plan import Plan

DEVICES = ("cpu:2", "cpu:1,emulated:gpu")
LOADED_EVERY = 10
"""A whole load, with its profile and contest, costs as much as a hundred cuts."""


@dataclass(frozen=True)
class Outcome:
    """What became of one model.

    Parameters
    ----------
    kind : str
        ``right``, ``wrong``, ``refused``, or ``unusable`` where ONNX Runtime itself has no answer.
    how : str
        What was tried last: ``whole``, ``cut DEVICES``, ``load DEVICES``; ``kernels ...`` where
        ``SURPLUS_KERNELS`` names a library.
    reason : str
        Of a refusal, without names and numbers, so that equal ones are counted together.
    detail : str
        The message, or the output and how far it is off.
    """

    seed: int
    kind: str
    how: str = ""
    reason: str = ""
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def try_out(grown: Grown, report: Any = lambda _: None) -> Outcome:
    """Answer a model every way; the first thing that is not right is the outcome.

    Parameters
    ----------
    report : callable
        Told what is tried next, so that a crash can be named.
    """
    content = grown.model.SerializeToString()
    report("plain")
    try:
        queries = [_query(grown, content, grown.inputs)]
    except Exception as error:
        return Outcome(grown.seed, "unusable", "plain", _kind_of(error), str(error))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(content)
        for how, way in _ways(grown, path):
            report(how)
            try:
                apart = way(queries)
            except EngineError as error:
                return Outcome(grown.seed, "refused", how, _kind_of(error), str(error))
            except Exception as error:  # what is no refusal is a fault
                kind = f"{type(error).__name__}: {_kind_of(error)}"
                return Outcome(grown.seed, "crashed", how, kind, traceback.format_exc(limit=-3))
            if apart.is_beyond:
                return Outcome(grown.seed, "wrong", how, "", str(apart))
            if len(queries) == 1:  # the first way has read the model
                queries += _further(grown, content, path)
    return Outcome(grown.seed, "right")


Asked = tuple[Mapping[str, Array], Expected]
"""A query, and what ONNX Runtime alone answers."""


def _query(grown: Grown, content: bytes, inputs: Mapping[str, Array]) -> Asked:
    names = [value.name for value in grown.model.graph.output]
    made = run_plain(content, dict(inputs), "ORT_ENABLE_ALL", threads=2)
    right = dict(zip(names, made, strict=True))
    return inputs, Expected(right, lambda: _variations(content, names, dict(inputs)))


def _further(grown: Grown, content: bytes, path: Path) -> Iterator[Asked]:
    """Adversarial queries, those that ONNX Runtime answers: it refuses sizes that do not fit."""
    for inputs in adversarial_inputs(read_model(path, path.parent / "cache"), grown.inputs):
        with suppress(Exception):
            yield _query(grown, content, inputs)


def _furthest(answer: Callable[[Mapping[str, Array]], Any], queries: Sequence[Asked]) -> Apart:
    """The first answer that is wrong, or the last one."""
    apart = Apart()
    for inputs, expected in queries:
        apart = expected.against(answer(inputs))
        if apart.is_beyond:
            return apart
    return apart


def _ways(grown: Grown, path: Path) -> Iterator[tuple[str, Any]]:
    """How we answer queries, each by its name: what says which answer is furthest off."""
    cache = path.parent / "cache"
    graphs: list[Graph] = []

    def graph() -> Graph:
        if not graphs:
            graphs.append(read_model(path, cache))
        return graphs[0]

    yield "whole", lambda q: _furthest(_opened(graph(), _whole(graph()), "cpu:2"), q)
    for number, devices in enumerate(DEVICES):
        seed = grown.seed * len(DEVICES) + number
        yield (
            f"cut {devices}",
            lambda q, d=devices, s=seed: _furthest(
                _opened(graph(), random_plan(graph(), parse_devices(d), s), d), q
            ),
        )
    if library := library_asked():
        cuts = {
            "whole": _whole,
            "cut": lambda g: random_plan(g, parse_devices("cpu:2"), grown.seed),
        }
        name = ("whole", "cut")[grown.seed % 2]
        yield (
            f"kernels {name}",
            lambda _: furthest(graph(), cuts[name](graph()), library, grown.inputs),
        )
    if grown.seed % LOADED_EVERY == 0:
        devices = DEVICES[grown.seed // LOADED_EVERY % len(DEVICES)]
        yield f"load {devices}", lambda q: _furthest(_loaded(path, devices, cache), q)


def _loaded(path: Path, devices: str, cache: Path) -> Callable[[Mapping[str, Array]], Any]:
    """Loaded without a word about inputs, as a stranger does, to be asked."""
    return load_planned(path, devices, cache=cache, tune="now", selection_s=0.001).run


def _opened(graph: Graph, plan: Plan, devices: str) -> Callable[[Mapping[str, Array]], Any]:
    short = tuple(replace(segment, service_ns=CHARGED_NS) for segment in plan.segments)
    machine = machine_for(parse_devices(devices))
    return PlannedModel(graph, replace(plan, segments=short), machine).run


def _whole(graph: Graph) -> Plan:
    costs = random_costs(graph, parse_devices("cpu:2"), Random(0))
    tasks = tuple(range(len(graph.tasks)))
    groups = GroupGraph(costs.problem, [TaskGroup(tasks, 0, 1)] if tasks else [])
    return plan_of_groups(graph, groups, costs.service)


def _variations(
    content: bytes, names: list[str], inputs: dict[str, Array]
) -> Iterator[dict[str, Any]]:
    """What ONNX Runtime answers otherwise optimised, and to inputs that are rounded otherwise."""
    for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED"):
        yield _or_nothing(content, names, inputs, level)
    for factor in (1 - 2e-7, 1 + 2e-7):
        nudged = {
            n: a * a.dtype.type(factor) if a.dtype.kind == "f" else a for n, a in inputs.items()
        }
        yield _or_nothing(content, names, nudged, "ORT_ENABLE_ALL")


def _or_nothing(
    content: bytes, names: list[str], inputs: dict[str, Array], level: str
) -> dict[str, Any]:
    try:
        return dict(zip(names, run_plain(content, inputs, level), strict=True))
    except Exception:
        return {}


def _kind_of(error: Exception) -> str:
    """A message without what differs from model to model."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    text = re.sub(r"(/[\w.\-]+)+:? ?", "", text)
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\{[^{}]*\}|\[[^\][]*\]", "_", text)
    text = re.sub(r"\b[vcxb]\d+\w*|\d+", "N", text)
    return text[:160]
