"""Compares what a plan answers with the whole model in one session, before the plan is used.

The whole model is the user's file as ONNX Runtime runs it by default (engine/dfg/given_form.py). A
plan that differs by more than the model itself is exact (engine/contest/answers.py) is dropped, and
the log names the tensor; where the bits are to be those of the user's file, so is one of other bits
(``LoadParams.keeps_bits``). What was measured with such a plan is of no use either, so candidates
are compared before they run against each other; the one that is kept is compared once more as it
is stored, with its weights prepacked.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np

from surplus.engine import _core
from surplus.engine.contest.answers import Apart, Expected
from surplus.engine.contest.wrong_segment import wrong_segment
from surplus.engine.devices.parsing import available_cores
from surplus.engine.devices.spec import DeviceSpec, traits_of
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import EngineError, one_line
from surplus.engine.examples.adversarial import adversarial_inputs
from surplus.engine.native import open_session
from surplus.engine.planning.same_answers import digest_of
from surplus.engine.planning.varied_inputs import other_scales, other_sizes, scaled
from surplus.engine.profiling.calibrate import initial_values
from surplus.engine.runtime.lowering import computed_outputs
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.ports import Ports
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.planned_graph import planned_graph
from surplus.engine.store.prepacked import processor_key

_log = logging.getLogger(__name__)

_LEAST_ELSEWHERE = 1e-2
"""What the kernels of another provider may differ by, as in plugin_profiler.py."""

_OF_PRECISION = {"bf16": 5e-2, "f16": 2e-2}
"""The same of what was asked to be computed in fewer bits, as answers of these types may differ."""

_OF_STEPS = 5e-2
"""The same of quantised numbers that another library rounds: some steps of 8 bits."""

_NUDGES = (1 - 2e-7, 1 + 2e-7)
"""Inputs in the last bit otherwise."""

Answer = dict[str, Any]


class AnswerCheck:
    """Compares plans of one model, for one set of inputs.

    The whole model answers them once, when the first plan is compared.

    Parameters
    ----------
    inputs : mapping
        By name, checked.
    specs : sequence of DeviceSpec
        The devices. One that replays recorded answers has none of its own to compare.
    keeps_bits : bool
        Whether plans of several segments must give the bits of one session, at several scales and
        sizes.
    is_adversarial : bool
        Whether to compare answers to what adversarial.py makes of the inputs, too, as far as the
        whole model has some.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Any],
        specs: Sequence[DeviceSpec],
        *,
        keeps_bits: bool = False,
        is_adversarial: bool = True,
    ) -> None:
        self._graph = graph
        self._keeps_bits = keeps_bits
        self._inputs = inputs
        self._has_answers = not any(spec.replay for spec in specs)
        self.found_wrong = False
        """Whether any plan was wrong so far."""
        self._furthest = Apart()
        self._is_adversarial = is_adversarial
        self._asked = inputs  # at which a plan was wrong

    def accepts(self, model: PlannedModel) -> bool:
        """Whether a plan's answer is right; the log says of one that is not where it is wrong.

        Raises
        ------
        ExecutionError
            If the plan fails where the whole model answers.
        """
        apart = self.apart(model)
        if apart is None or not apart.is_beyond:
            if self._keeps_bits and len(model.plan.segments) > 1 and not self._has_bits(model):
                _log.info("%s: plan %r rounds otherwise", self._graph.name, model.plan.name)
                return False
            self._furthest = max(self._furthest, apart or Apart(), key=lambda a: a.difference)
            return True
        self.found_wrong = True
        _log.warning(
            "%s: plan %r answers wrongly and is dropped: output %s%s",
            self._graph.name,
            model.plan.name,
            apart,
            wrong_segment(self._graph, model.plan, self._asked),
        )
        return False

    def note(self) -> dict[str, Any]:
        """What is stored with a plan that was accepted, or with several of one model.

        ``output`` is empty where nothing differs, ``difference`` None where it has no measure: the
        whole model has no answer, or another one each time, or a device replays what it recorded.
        """
        found = self._furthest
        known = bool(self._expected) and math.isfinite(found.difference)
        return {
            "processor": processor_key(),
            "output": found.output if found.difference else "",
            "difference": found.difference if known else None,
        }

    def apart(self, model: PlannedModel) -> Apart | None:
        """How far a plan's answer is from the whole model's; None if that has no answer."""
        if not self._expected:
            return None
        least = least_allowed(self._graph, model.plan)
        first, is_elsewhere = Apart(), _leaves_cpu(model.plan)
        for number, (inputs, expected) in enumerate(self._expected):
            if is_elsewhere and not _is_finite(inputs):
                continue  # other processors' kernels lose NaN, as ONNX Runtime runs them too
            apart = expected.against(model.run(inputs), least)
            if apart.is_beyond:
                self._asked = inputs
                return apart
            first = first if number else apart
        return first

    def _has_bits(self, model: PlannedModel) -> bool:
        """Whether a plan gives the whole model's bits, as far as that answers."""
        return all(digest == digest_of(model.run(given)) for given, digest in self._bits)

    @cached_property
    def _bits(self) -> list[tuple[Answer, str]]:
        """Inputs, and the digest of what the whole model answers; of sizes that it takes."""
        inputs, session = self._inputs, self._session()
        found = []
        for given in (inputs, *other_scales(inputs), *other_sizes(self._graph, inputs)):
            try:
                found.append((dict(given), digest_of(self._answer(session, given))))
            except (RuntimeError, MemoryError, EngineError) as error:
                _log.debug("%s: %s", self._graph.name, one_line(error))
        return found

    @cached_property
    def _expected(self) -> list[tuple[Mapping[str, Any], Expected]]:
        """The example's inputs, then adversarial ones: those that the whole model answers.

        Nothing where it has no answer to the first.
        """
        found: list[tuple[Mapping[str, Any], Expected]] = []
        session: _core.Session | None = None
        asked = adversarial_inputs(self._graph, self._inputs) if self._is_adversarial else ()
        for inputs in chain([self._inputs], asked) if self._has_answers else ():
            try:
                session = self._session() if session is None else session
                answer = self._answer(session, inputs)
                found.append((inputs, Expected(answer, partial(self._variations, inputs))))
            except (RuntimeError, MemoryError, EngineError) as error:
                _log.info("%s: plans are not compared: %s", self._graph.name, one_line(error))
                if not found:
                    break
        return found

    def _whole(self, inputs: Mapping[str, Any], level: str = "all") -> Answer:
        return self._answer(self._session(level), inputs)

    def _session(self, level: str = "all") -> _core.Session:
        return open_session(str(self._graph.whole_path), level=level, width=available_cores())

    def _answer(self, session: _core.Session, inputs: Mapping[str, Any]) -> Answer:
        values = initial_values(self._graph, inputs)
        fed: Answer = {n: values[n] for n in session.input_names if n in values}
        wanted = computed_outputs(self._graph)
        if not wanted:  # all are constants; the session would deliver them all
            return {}
        made = dict(zip(wanted, session.run(fed, wanted), strict=True))
        return Ports(self._graph).arrays(made, wanted)

    def _variations(self, inputs: Mapping[str, Any]) -> Iterator[Answer]:
        """Not optimised, and for inputs that are rounded otherwise; those that there are."""
        for given, level in (
            (inputs, "disable_all"),
            *((scaled(inputs, factor), "all") for factor in _NUDGES),
        ):
            try:
                yield self._whole(given, level)
            except (RuntimeError, MemoryError, EngineError) as error:
                _log.info("%s: %s", self._graph.name, one_line(error))


def least_allowed(graph: Graph, plan: Plan) -> float:
    """What a plan's answers may differ by in any case, of an output's largest magnitude."""
    others = [segment for segment in plan.segments if segment.kernels is not None]
    allowed = [_OF_PRECISION.get(s.kernels.precision, 0.0) for s in others if s.kernels]
    if others:
        tasks = planned_graph(graph, plan).tasks
        if any(_quantises(tasks[i].op_type) for s in others for i in s.tasks):
            allowed.append(_OF_STEPS)
    if _leaves_cpu(plan):
        allowed.append(_LEAST_ELSEWHERE)
    return max(allowed, default=0.0)


def _is_finite(inputs: Mapping[str, Any]) -> bool:
    arrays = [value for value in inputs.values() if isinstance(value, np.ndarray)]
    return all(np.isfinite(array).all() for array in arrays if array.dtype.kind == "f")


def _quantises(op_type: str) -> bool:
    return op_type.endswith("QuantizeLinear")


def _leaves_cpu(plan: Plan) -> bool:
    return any(traits_of(plan.devices[segment.device]).has_own_kernels for segment in plan.segments)
