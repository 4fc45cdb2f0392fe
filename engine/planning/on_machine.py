"""What a load's parameters mean on this machine: devices opened, and what a loss of one means."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from surplus.engine import _core
from surplus.engine.devices import machines
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.device_loss import OnDeviceLoss, Recovery


def machine_of(params: LoadParams) -> _core.Machine:
    """The process's machine with these devices, started on first use."""
    return machines.machine_for(params.specs(), params.emulation, reopens=params.reopens)


def has_lost(params: LoadParams) -> bool:
    """Whether one of the devices was lost."""
    return machines.has_lost(params.specs(), params.emulation, reopens=params.reopens)


def close_lost(params: LoadParams) -> None:
    """Before anything is done with the devices: close what has lost one (machines.py).

    Raises
    ------
    DeviceLostError
        If one was lost, and none is to be opened again.
    """
    machines.close_lost(params.specs(), params.emulation, reopens=params.reopens)


def recovery_of(params: LoadParams) -> Recovery | None:
    """How a model on these devices goes on after a loss; None where it does not."""
    specs = params.specs()
    if params.on_device_loss == OnDeviceLoss.FAIL or all(s.traits.is_host for s in specs):
        return None

    def opened(names: Collection[str]) -> _core.Machine:
        kept = [spec for spec in specs if spec.name in names]
        return machines.machine_for(kept, params.emulation, reopens=params.reopens)

    kinds = {spec.name: (spec.kind, spec.preset) for spec in specs}
    return Recovery(OnDeviceLoss(params.on_device_loss), opened, kinds)


def after_losses(params: LoadParams) -> Iterator[LoadParams]:
    """How to load where loading has lost a device: a later way if one loses it, too.

    With all devices, opened again; without those that are lost by then; on the CPU.
    """
    if params.reopens:
        yield params
    while params.on_device_loss != OnDeviceLoss.FAIL and len(params.specs()) > 1:
        specs = params.specs()
        lost = machines.lost_memories(specs, params.emulation, reopens=params.reopens)
        kept = [spec for spec in specs if spec.memory not in lost]
        kept = kept if len(kept) < len(specs) else [*specs[:1]]
        params = replace(params, devices=",".join(spec.text for spec in kept))
        yield params
