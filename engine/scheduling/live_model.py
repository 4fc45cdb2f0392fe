"""A model as a live run serves it: cut into groups, with the times of an emulated device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path

from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ConfigError, ModelError
from surplus.engine.planning.stages import example_inputs, read_model
from surplus.engine.planning.whole_plan import whole_plan
from surplus.engine.runtime.ports import Ports
from surplus.engine.scheduling.base_plan import BasePlanParams, base_plan
from surplus.engine.scheduling.compiled import Compiled, find_compiled
from surplus.engine.scheduling.grouped_plan import GroupedPlan, cut_at, one_group
from surplus.engine.scheduling.parts import Charge, Parts
from surplus.engine.scheduling.place import HOST, Place
from surplus.engine.scheduling.share_times import ShareTimes, device_times, share_times
from surplus.engine.scheduling.stacking import Arrays, is_stackable, repeated
from surplus.engine.segmentation.equal_groups import cut
from surplus.engine.segmentation.plan import Plan, Segment
from surplus.engine.segmentation.service import ServiceTimes


@dataclass(frozen=True)
class LiveModelParams:
    """How a model is made ready for a live run.

    Parameters
    ----------
    groups : int
        So many of about equal time, for policies that run parts of models.
    slice_ns : int
        Or as many as it takes for none to be longer, where its operators allow that; 0 is no limit.
    plan : BasePlanParams
        Which plan is cut.
    any_bits : bool
        Whether a query that runs whole on one lane may run as one session although the plan has
        several segments.
    query_limit_ns : int
        How long the kernels of a group may compute; 0 is for ever.
    manifest : Path, optional
        Of compiled versions; each of their blocks is a group.
    """

    groups: int = 1
    slice_ns: int = 0
    plan: BasePlanParams = field(default_factory=BasePlanParams)
    any_bits: bool = False
    query_limit_ns: int = 0
    manifest: Path | None = None


@dataclass(frozen=True)
class LiveModel:
    """What is known of a model before anything runs.

    Parameters
    ----------
    name : str
    graph : Graph
    ports : Ports
        Its inputs and outputs.
    parts : Parts
    stackable : bool
        Whether queries can be computed as one.
    example : mapping of str to array
        Inputs to measure and to replay with.
    cache : Path, optional
    """

    name: str
    graph: Graph
    ports: Ports
    parts: Parts
    stackable: bool
    example: Arrays
    cache: Path | None = None
    _charges: dict[tuple[DeviceSpec, int, bool], tuple[Charge, ...]] = field(default_factory=dict)
    _profiled: dict[tuple[DeviceSpec, int], ShareTimes] = field(default_factory=dict)

    @property
    def operators(self) -> int:
        """Groups that it is cut into."""
        return self.parts.grouped.count

    @property
    def versions(self) -> int:
        """Of its groups: ONNX Runtime's sessions, and what is compiled."""
        return len(self.sensitivities)

    @property
    def sensitivities(self) -> tuple[float, ...]:
        """Of each version to pressure; sessions are one that was not looked at."""
        compiled = self.parts.compiled
        return (0.0,) if compiled is None else compiled.sensitivities

    def inputs(self, items: int) -> Arrays:
        """Inputs of a query of so many items.

        Raises
        ------
        ConfigError
            If the model's shapes allow one item only.
        """
        if items == 1:
            return self.example
        if not self.stackable:
            raise ConfigError(f"model {self.name!r} has no batch axis: queries bring 1 item")
        return repeated(self.example, items)

    def charges(self, place: Place, items: int, *, whole: bool) -> tuple[Charge, ...] | None:
        """What an emulated device charges for each segment of a batch; None for a CPU.

        ``whole``: of a query that does not rest between groups, whose segments are uncut.
        Powers of two are derived from the sizes of all tensors; what lies between is interpolated.
        """
        if place.spec.traits.is_host:
            return None
        below = 1 << (items.bit_length() - 1)
        lower = self._charged(place.spec, below, whole)
        if items == below:
            return lower
        upper = self._charged(place.spec, 2 * below, whole)
        weight = (items - below) / below
        return tuple(_between(a, b, weight) for a, b in zip(lower, upper, strict=True))

    def know_charges(self, place: Place, most_items: int) -> None:
        """Derive now what batches up to so many items will need: it takes seconds."""
        if place.spec.traits.is_emulated:
            for power in range((most_items - 1).bit_length() + 1):
                for whole in (True,) if self.operators == 1 else (True, False):
                    self._charged(place.spec, 1 << power, whole)

    def _charged(self, spec: DeviceSpec, items: int, whole: bool) -> tuple[Charge, ...]:
        key = (spec, items, whole)
        if key not in self._charges:
            times = self._times(replace(spec, share_percent=100), items)
            service = times.on_share(spec.share_percent)
            plan = (self.parts.whole if whole else self.parts.grouped).plan
            self._charges[key] = tuple(_charge(service, segment) for segment in plan.segments)
        return self._charges[key]

    def _times(self, whole: DeviceSpec, items: int) -> ShareTimes:
        key = (whole, items)
        if key not in self._profiled:
            self._profiled[key] = share_times(self.graph, whole, self.inputs(items), self.cache)
        return self._profiled[key]


def load_live_model(
    name: str, path: Path, place: Place, params: LiveModelParams | None = None
) -> LiveModel:
    """Read a model, and cut its plan into groups of equal time on a device.

    Raises
    ------
    ConfigError
        If it has too few operators, or the manifest does not fit.
    EngineError
        If it cannot be read or measured.
    """
    params = params or LiveModelParams()
    cache = params.plan.cache
    graph = read_model(path, cache, crash_probe=True)
    if not graph.tasks:
        raise ModelError(f"model {name!r} has no operators: there is nothing to schedule")
    stackable = is_stackable(graph)
    example = dict(example_inputs(graph, path))
    if stackable:
        example = {key: array[:1] for key, array in example.items()}
    compiled = None if params.manifest is None else find_compiled(graph, params.manifest)
    if compiled is None:
        plan = base_plan(graph, path, place, example, params.plan)
    else:  # whose blocks are stretches of the graph
        plan = whole_plan(graph, place.devices, place.index)
    try:
        grouped = _grouped(graph, plan, place, example, params, compiled)
    except ConfigError as error:
        raise ConfigError(f"model {name!r}: {error}") from error
    parts = Parts(
        graph,
        one_group(plan),
        grouped,
        one_group(whole_plan(graph, place.devices, place.index)) if params.any_bits else None,
        compiled,
        params.query_limit_ns,
        name,
    )
    ports = Ports(graph)
    ports.probe_empty_inputs()  # other models are in this process, too
    return LiveModel(name, graph, ports, parts, stackable, example, cache)


def _grouped(
    graph: Graph,
    plan: Plan,
    place: Place,
    inputs: Arrays,
    params: LiveModelParams,
    compiled: Compiled | None,
) -> GroupedPlan:
    """The plan in as many groups as were asked for."""
    whole = one_group(plan)
    if params.groups == 1 and not params.slice_ns and compiled is None:
        return whole
    times_ns = _task_times(graph, whole.plan, place, inputs, params.plan.cache)
    count = params.groups
    if params.slice_ns:
        count = min(len(times_ns), -(-sum(times_ns) // params.slice_ns))
    blocks = [(block.first, block.end) for block in compiled.blocks] if compiled else []
    return cut_at(graph, plan, cut(graph, whole.tasks, times_ns, count, blocks))


def _task_times(
    graph: Graph, plan: Plan, place: Place, inputs: Arrays, cache: Path | None
) -> list[int]:
    """What each task takes where it runs, in the order in which they run."""
    own = _row(device_times(graph, place.spec, inputs, cache))
    host = _row(device_times(graph, place.devices[0], inputs, cache)) if place.with_host else own
    times = [
        (host if segment.device == HOST else own)[task]
        for segment in plan.segments
        for task in segment.tasks
    ]
    if any(time is None for time in times):
        raise ConfigError("it cannot run whole on that device")
    return [int(time) for time in times if time is not None]


def _row(service: ServiceTimes) -> Sequence[int | None]:
    """By task: as part of a captured graph where all of them are."""
    captured = service.captured_ns.get(0)
    if captured is not None and all(time is not None for time in captured):
        return captured
    return service.task_ns[0, 1]


def _charge(service: ServiceTimes, segment: Segment) -> Charge:
    tasks = segment.tasks
    if segment.device == HOST:
        return Charge()
    launch_ns = sum(service.launch_ns[0][task] for task in tasks) if service.launch_ns else 0
    if not service.is_captured(tasks, 0):
        return Charge(service.group_ns(tasks, 0, 1), launch_ns)
    return Charge(service.uncaptured_ns(tasks, 0), launch_ns, service.group_ns(tasks, 0, 1))


def _between(lower: Charge, upper: Charge, weight: float) -> Charge:
    return Charge(
        *(round(a + weight * (b - a)) for a, b in zip(astuple(lower), astuple(upper), strict=True))
    )
