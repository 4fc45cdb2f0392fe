"""Compiles and times candidates of a layer: lines 2 to 4 of VELTAIR's Algorithm 1.

The paper lets TVM's auto-scheduler try 1024 programs of each layer, some 20 minutes; a template
has a dozen tilings, each compiled in a third of a second.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surplus.colocation.policies.veltair.versions import VersionCandidate
from surplus.engine.compilation.templates import template_of
from surplus.engine.compilation.templates.template import NAME, Tiling, some
from surplus.engine.compilation.tvm_here import target, tvm
from surplus.engine.compilation.works import Work

_SEED = 7
_WARM_UP = 2


@dataclass(frozen=True)
class CandidateParams:
    """How many candidates, and how well they are timed.

    Parameters
    ----------
    most : int
        Of a layer; evenly from all tilings.
    rounds : int
        Runs of each; the fastest counts, by the time that its thread was on a core.
    """

    most: int = 12
    rounds: int = 10

    def __post_init__(self) -> None:
        if min(self.most, self.rounds) < 1:
            raise ValueError(f"most and rounds must be >= 1, got {self.most} and {self.rounds}")


@dataclass(frozen=True)
class TimedTiling:
    """A layer in one tiling, on one thread."""

    tiling: Tiling
    measured: VersionCandidate


def candidates_of(work: Work, params: CandidateParams) -> tuple[TimedTiling, ...]:
    """Compile and time some tilings of a layer."""
    template = template_of(work)
    tilings = template.tilings(work)
    found = []
    for place in some(list(range(len(tilings))), params.most):
        tiling = tilings[place]
        measures = template.measures(work, tiling)
        time_ns = _time_ns(work, tiling, params.rounds)
        own = VersionCandidate(measures.parallelism, measures.block, time_ns)
        found.append(TimedTiling(tiling, own))
    return tuple(found)


def write_object(work: Work, tiling: Tiling, symbol: str, path: Path) -> None:
    """Compile a layer into an object file with the function ``__tvm_ffi_SYMBOL``."""
    _built(_schedule(work, tiling), symbol).write_to_file(str(path))


def _schedule(work: Work, tiling: Tiling) -> Any:
    return template_of(work).function(work, tiling)


def _built(schedule: Any, symbol: str) -> Any:
    tvm_module = tvm()
    function = schedule.mod[NAME].with_attr("global_symbol", symbol)
    module = tvm_module.IRModule({symbol: function})
    # Sizes are checked by the segment, once a run.
    with tvm_module.transform.PassContext(config={"tirx.disable_assert": True}):
        return tvm_module.tirx.build(module, target=target())


def _time_ns(work: Work, tiling: Tiling, rounds: int) -> int:
    schedule = _schedule(work, tiling)
    function = _built(schedule, NAME)[NAME]
    random = np.random.default_rng(_SEED)
    arguments = [
        tvm().runtime.tensor(random.standard_normal([int(n) for n in own.shape], np.float32))
        for own in schedule.mod[NAME].params
    ]
    best = 0
    for turn in range(_WARM_UP + rounds):
        began_ns = time.thread_time_ns()
        function(*arguments)
        took_ns = time.thread_time_ns() - began_ns
        if turn == _WARM_UP or (turn > _WARM_UP and took_ns < best):
            best = took_ns
    return max(1, best)
