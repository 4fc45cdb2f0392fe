"""How to load a model.

Long because all settings are one object, each with what it means and what it may be.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.devices.parsing import available_cores, cpu_of, parse_devices
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.errors import ConfigError, DeviceError, ModelError
from surplus.engine.kernels.asked import (
    AUTO,
    ONNX_RUNTIME,
    PRECISIONS,
    AskedKernels,
    kernels_by_default,
)
from surplus.engine.planning.param_types import check_types
from surplus.engine.planning.tune_by_default import tune_by_default
from surplus.engine.runtime.departure import Departure
from surplus.engine.runtime.device_loss import OnDeviceLoss
from surplus.engine.runtime.stack_use import MOST_ROWS, StackUse
from surplus.engine.runtime.urgency import Urgency
from surplus.engine.time_limit import time_limit

if TYPE_CHECKING:
    from surplus.engine.devices.emulation_params import EmulationParams
    from surplus.engine.planning.tune_params import TuneParams
    from surplus.engine.runtime.queueing import Queueing
    from surplus.engine.runtime.stacks import Stacks

_LONGEST_S = 1e6
"""Beyond eleven days nothing is waited for."""

_MOST_FINALISTS = 1_000

_LANES, _LANES_A_CORE = 64, 16
"""Of a CPU at most so many, or so many for each of its cores: more only wait for each other."""

_POLICY = "auto"
"""The default, which needs no check."""


_TUNE = ("background", "now", "again", "off")


@dataclass(frozen=True)
class LoadParams:
    """How to load a model.

    Parameters
    ----------
    devices : str
        For example ``cpu:2`` or ``cpu:1,emulated:gpu``; empty means every core.
    placement_policy, policy_options : str, mapping
        Placement policy and its options.
    cache : Path, optional
        Folder of graphs, measurements and plans; default in the user's cache folder.
    reuse : bool
        Whether a stored plan may be used, and the new one be stored.
    finalists : int
        How many of the best predicted segmentations to build and run before choosing.
    selection_s : float
        Most time for running them, three rounds apart; where there are several devices, again for
        each time that clusters are placed anew with what was measured.
    planning_s : float
        Most CPU time for profiling and for thinking of plans; then the best known one is taken,
        which is the whole model where nothing else was looked at. Ordinary models need 1 to 20 s;
        it bounds what graphs of 50,000 operators and more may cost.
    tune_s : float
        Seconds to tune for where no tuned plan is stored; 0 chooses quickly.
    tune : {"background", "now", "again", "off"}
        Whether a model that nothing is known of answers as one session at once and is measured in
        the background (engine/pipeline/learning.py), or is loaded when its plan was measured. Those
        whose plan cannot take over from one session are measured at once in any case
        (``answers_first``). ``again`` measures at once whatever is stored, and keeps that if the
        machine is disturbed. ``off`` measures nothing where one session can answer, and runs the
        plan that is stored. What ``SURPLUS_TUNE`` says, or in the background.
    slice_s : float
        Longest time that queries of other models wait for a segment of this one; longer segments
        are cut (engine/segmentation/slices.py). 0 cuts none.
    relaxed_numerics : bool
        Whether a query's answer may differ in bits by whether it overlaps with others. That lets
        plans give way while queries overlap, for a higher throughput: on a CPU to the
        whole model on one lane (engine/runtime/throughput_switch.py), on several devices to a
        plan of other segments (engine/planning/throughput_search.py). Several GPUs that are alike
        answer by copies of one plan in any case, where these give the same bits.
    gpu_memory : str
        How much of each GPU's memory plans may use, for example ``4GiB``; empty is all of it.
    on_device_loss : {"fail", "recreate", "cpu"}
        What queries, and loading, do after a GPU was lost: fail, try to open it again after a reset
        of CUDA, or go on without it: with another GPU of its kind that is named, or with the CPU.
        Models that do not use the lost one go on in any case. After most fatal errors only a new
        process can use the GPU: NVIDIA promises nothing of a reset.
    max_load_s : float
        Seconds after which a load ends with an error, whatever it is about, ``tune_s`` not counted;
        0 is no limit.
    max_query_s : float
        How long the kernels of a query may take together before it is ended; 0 is no limit. A
        kernel that does not end by itself cannot be ended, and keeps its lane.
    deadline_s : float, optional
        When a query is due, from its submission on (``Urgency``).
    priority, best_effort : int, bool
        Of its queries: the higher goes first; behind those of all models that are not.
    on_late : {"reject", "serve"}, optional
        Whether queries that cannot be in time, as predicted from measured times, are rejected at
        once, or answered late, behind the others. Those that are admitted are in time, 99 of 100.
        By default they are rejected where the model has a deadline.
    max_wait_s : float
        Queries that are not due are rejected where they would wait for longer, as predicted; 0 is
        no limit.
    weight : float
        Of the model's share of the lanes, among queries of one priority that are not due.
    max_batch : int, optional
        Rows that queries which wait at the same time have together at most, where they are answered
        by one call (engine/runtime/stacks.py): 0 and 1 answer each by itself, without it what was
        measured to gain counts. Their bits are those that they have alone, unless
        ``relaxed_numerics``.
    batch_limit : int, optional
        No more rows either, where ``max_batch`` asks for more, or for none.
    queueing : Queueing, optional
        How queries wait before lanes get them; None: lanes alone decide.
    kernels : str
        Whose kernels segments of a CPU may run with: ``auto`` chooses among those that are
        installed what is measured to be fastest (engine/kernels), ``onnxruntime`` keeps to ONNX
        Runtime's and so to its bits, the name of a library takes that wherever it answers rightly.
        What ``SURPLUS_KERNELS`` says, or ``auto``.
    precision : str
        ``f32``; or ``bf16`` or ``f16`` for libraries of kernels to compute in, on processors that
        have instructions for it: answers then differ by up to 5 % of an output's magnitude.
    kernel_memory : str
        What weights that a library keeps for itself may take of a model, for example ``2GiB``;
        empty is a quarter of the memory that is free.
    custom_operators : sequence of str
        Libraries of operators that ONNX Runtime does not bring along: files, or
        ``onnxruntime-extensions`` (engine/custom_operators.py). The process has them from then on.
    emulation : EmulationParams, optional
        How an emulated device departs from its profile.
    first_width : int
        Lanes of a query while one session answers that nobody has measured yet; 0 finds out by the
        first queries whether one or all are better (engine/judging/first_width.py).
    crash_probe : bool
        Whether a file that nobody has seen, and then each kind of query without elements, is first
        run in a child, so that what ends its process is refused and does not end this one.
        ``engine serve`` asks for it; a program that loads a model starts no process for it.

    Raises
    ------
    ConfigError
        If policy or options are wrong, or a number is out of range.
    """

    devices: str = ""
    placement_policy: str = _POLICY
    policy_options: Mapping[str, Any] = field(default_factory=dict)
    cache: Path | None = None
    reuse: bool = True
    finalists: int = 3
    selection_s: float = 1.5
    planning_s: float = 60.0
    tune_s: float = 0.0
    slice_s: float = 0.0
    tune: str = field(default_factory=tune_by_default)
    relaxed_numerics: bool = False
    gpu_memory: str = ""
    on_device_loss: str = OnDeviceLoss.FAIL
    max_load_s: float = 600.0
    max_query_s: float = 300.0
    deadline_s: float | None = None
    priority: int = 0
    best_effort: bool = False
    on_late: str | None = None
    max_wait_s: float = 0.0
    weight: float = 1.0
    max_batch: int | None = None
    batch_limit: int | None = None
    queueing: Queueing | None = None
    kernels: str = field(default_factory=kernels_by_default)
    precision: str = PRECISIONS[0]
    kernel_memory: str = ""
    custom_operators: Sequence[str] = ()
    emulation: EmulationParams | None = None
    first_width: int = 0
    crash_probe: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.cache, str | os.PathLike):
            object.__setattr__(self, "cache", Path(self.cache))  # callers write a plain string
        check_types(self)
        named = self.custom_operators  # one, or several
        libraries = (named,) if isinstance(named, str) else tuple(map(str, named))
        object.__setattr__(self, "custom_operators", libraries)
        self._check_policy()
        for name in ("selection_s", "planning_s", "tune_s", "slice_s", "max_load_s", "max_query_s"):
            _check_range(name, getattr(self, name), 0, _LONGEST_S)
        _check_range("finalists", self.finalists, 1, _MOST_FINALISTS)
        _check_range("first_width", self.first_width, 0, _LANES)
        if self.max_batch is not None:
            _check_range("max_batch", self.max_batch, 0, MOST_ROWS)
        self.urgency()
        if self.tune_s != 0:
            self.tuning()
        if self.tune not in _TUNE:
            raise ConfigError(f"tune must be one of {', '.join(_TUNE)}, got {self.tune!r}")
        if self.on_device_loss not in tuple(OnDeviceLoss):
            raise ConfigError(
                f"on_device_loss must be one of {', '.join(OnDeviceLoss)}, got"
                f" {self.on_device_loss!r}"
            )
        self.gpu_memory_bytes()
        self.kernel_memory_bytes()
        if self.kernels != AUTO or self.precision != PRECISIONS[0]:  # else nothing can be wrong
            self.asked_kernels().check_precision(self.precision)

    def _check_policy(self) -> None:
        if self.placement_policy == _POLICY and not self.policy_options:
            return
        from surplus.engine.planning.policy_check import check_policy  # all of placement

        check_policy(self.placement_policy, self.policy_options)

    def specs(self) -> tuple[DeviceSpec, ...]:
        """The devices, parsed.

        Raises
        ------
        DeviceError
            Naming the device that is not understood.
        """
        return self._specs

    @cached_property
    def _specs(self) -> tuple[DeviceSpec, ...]:
        """Found once: to count cores takes 0.1 ms, and a load asks six times."""
        cores = available_cores()
        specs = parse_devices(self.devices) if self.devices else cpu_of(cores)
        most = max(_LANES, _LANES_A_CORE * cores)
        if any(spec.traits.is_host and spec.lanes > most for spec in specs):
            raise DeviceError(
                f"device {self.devices!r}: a CPU of {cores} cores has at most {most} lanes"
            )
        return specs

    def plan_options(self) -> dict[str, Any]:
        """What a stored plan depends on beside devices and policy."""
        own = {
            "slice_ms": round(self.slice_s * 1e3, 9),  # as files have it
            "gpu_memory": self.gpu_memory_bytes(),
            "throughput_plan": self._throughput_option(),
            "kernels": self.asked_kernels().text,
            "keeps_bits": self.keeps_bits,
            "precision": "" if self.precision == PRECISIONS[0] else self.precision,
        }
        return {**self.policy_options, **{name: value for name, value in own.items() if value}}

    def gpu_memory_bytes(self) -> int | None:
        """The limit in bytes; None without one."""
        return _bytes_of(self.gpu_memory)

    def kernel_memory_bytes(self) -> int | None:
        """The same of weights that libraries of kernels keep."""
        return _bytes_of(self.kernel_memory)

    def asked_kernels(self) -> AskedKernels:
        """The libraries of kernels that may be used.

        Raises
        ------
        ConfigError
            If there is none of that name, or it is not installed.
        """
        return self._asked_kernels

    @cached_property
    def _asked_kernels(self) -> AskedKernels:
        return AskedKernels.parse(self.kernels)

    @property
    def uses_stored(self) -> bool:
        """Whether a stored plan does, if there is one."""
        return self.reuse and self.tune != "again"

    @property
    def answers_first(self) -> bool:
        """Whether the whole model may answer on the CPU before a plan is measured.

        Not where nothing is stored that could take over; where other models wait for its slices;
        where a policy was chosen, whose placement is meant; nor beside a real GPU, which two
        processes would open.
        """
        is_default = (
            self.placement_policy == _POLICY and not self.policy_options and not self.slice_s
        )
        is_plain = self.tune in ("background", "off") and self.reuse and is_default
        return is_plain and not self.has_real_gpu

    @property
    def has_real_gpu(self) -> bool:
        """Whether any device is neither the CPU nor emulated by it."""
        return not all(s.traits.is_host or s.traits.is_emulated for s in self.specs())

    def departure(self) -> Departure:
        """What may run while queries overlap. Slices stay: they are there for other models."""
        if self.slice_s:
            return Departure.SAME_CUTS
        return Departure.SAME_BITS if not self.relaxed_numerics else Departure.ALWAYS

    @property
    def keeps_bits(self) -> bool:
        """Whether plans of several segments must give the bits of the user's file in one session.

        Where ONNX Runtime's kernels were asked for, on the CPU alone; not where bits do not matter,
        or segments are cut for other models' sake.
        """
        is_asked = self.kernels == ONNX_RUNTIME and not self.relaxed_numerics and not self.slice_s
        return is_asked and all(spec.traits.is_host for spec in self.specs())

    def may_have_throughput_plan(self) -> bool:
        """Whether a plan of its own may run while queries overlap, on several devices.

        Of the same bits only on several GPUs, each with a copy of the plan.
        """
        departure = self.departure()
        if departure is Departure.SAME_BITS:
            return sum(not spec.traits.is_host for spec in self.specs()) > 1
        return departure is Departure.ALWAYS and len(self.specs()) > 1

    def _throughput_option(self) -> bool | str:
        if self.may_have_throughput_plan() and self.departure() is Departure.SAME_BITS:
            return Departure.SAME_BITS.value
        return self.may_have_throughput_plan()

    @property
    def selection_ns(self) -> int:
        """``selection_s`` in nanoseconds."""
        return round(self.selection_s * 1e9)

    def query_limit_ns(self) -> int:
        """``max_query_s`` in nanoseconds."""
        return round(self.max_query_s * 1e9)

    def urgency(self) -> Urgency:
        """What its queries are, where they do not say it themselves."""
        urgency = Urgency.asked(self.deadline_s, self.priority, self.best_effort)
        on_late = self.on_late or ("serve" if self.deadline_s is None else "reject")
        return urgency.admitting(on_late, self.max_wait_s, self.weight)

    def stacks(self, found: Stacks | None) -> StackUse:
        """What a model makes of what was found out of its queries in batches."""
        return StackUse(
            found, self.relaxed_numerics, max_rows=self.max_batch, limit_rows=self.batch_limit
        )

    def load_limit(self, path: str | Path) -> AbstractContextManager[None]:
        """The time that a load may take, around what it does in the calling thread.

        Raises
        ------
        ModelError
            When that is over.
        """
        error = ModelError(f"{path}: not loaded within max_load_s ({self.max_load_s:g} s)")
        return time_limit(self.max_load_s and self.max_load_s + self.tune_s, error)

    @property
    def reopens(self) -> bool:
        """Whether devices that were lost are opened again."""
        return self.on_device_loss == OnDeviceLoss.RECREATE

    def tuning(self) -> TuneParams:
        """For how long to tune, and what there is nothing to learn of."""
        from surplus.engine.planning.tune_params import TuneParams  # with all that compares plans

        return TuneParams(time_s=self.tune_s, fixed_devices=self.fixed_devices())

    def fixed_devices(self) -> frozenset[int]:
        """Devices whose times are given: emulated ones."""
        return frozenset(i for i, spec in enumerate(self.specs()) if spec.traits.is_emulated)


def _check_range(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ConfigError(f"{name} must be {least:g} to {most:g}, got {value}")


def _bytes_of(text: str) -> int | None:
    if not text:
        return None
    from surplus.engine.devices.memory_size import parse_bytes  # with exact fractions

    return parse_bytes(text)
