"""Times of a model's tasks on a device, and on shares of an emulated GPU's processors.

An operator on a share takes what its arithmetic takes there, if that is more than its memory
traffic and its launches take, which do not depend on the share (``roofline.part_of``). So its times
on the whole device and on one percent of it tell those on every share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.stages import costs_of, measure
from surplus.engine.scheduling.stacking import Arrays
from surplus.engine.segmentation.service import ServiceTimes

Row = Sequence[int | None]


@dataclass(frozen=True)
class ShareTimes:
    """Times on the whole device, and on one percent of its processors; devices 0 and 1."""

    service: ServiceTimes

    def on_share(self, share_percent: int) -> ServiceTimes:
        """Times on a share, as those of device 0."""
        service = self.service
        tasks = {(0, 1): _scaled(service.task_ns[0, 1], service.task_ns[1, 1], share_percent)}
        if len(service.captured_ns) < 2:
            return replace(service, task_ns=tasks)
        captured = _scaled(service.captured_ns[0], service.captured_ns[1], share_percent)
        return replace(service, task_ns=tasks, captured_ns={0: captured})


def device_times(
    graph: Graph, spec: DeviceSpec, inputs: Arrays, cache: Path | None
) -> ServiceTimes:
    """Times on one lane of a device, measured or derived."""
    return _times(graph, [_one_lane(spec)], inputs, cache)


def share_times(graph: Graph, spec: DeviceSpec, inputs: Arrays, cache: Path | None) -> ShareTimes:
    """Derive the times on an emulated GPU."""
    whole = _one_lane(spec)
    sliver = replace(whole, name=f"{spec.name}[1%]", share_percent=1)
    return ShareTimes(_times(graph, [whole, sliver], inputs, cache))


def _one_lane(spec: DeviceSpec) -> DeviceSpec:
    share = spec.share_percent
    return DeviceSpec(
        spec.kind, spec.name, 1, spec.preset, captured=spec.captured, share_percent=share
    )


def _times(
    graph: Graph, specs: Sequence[DeviceSpec], inputs: Arrays, cache: Path | None
) -> ServiceTimes:
    return costs_of(graph, measure(graph, specs, inputs, cache), specs).service


def _scaled(whole: Row, sliver: Row, share_percent: int) -> list[int | None]:
    return [
        None if least is None or most is None else max(least, round(most / share_percent))
        for least, most in zip(whole, sliver, strict=True)
    ]
