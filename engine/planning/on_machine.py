"""What a load's parameters mean on this machine: devices opened, and what a loss of one means."""

from __future__ import annotations

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
    return Recovery(
        OnDeviceLoss(params.on_device_loss),
        recreate=lambda: machine_of(params),
        without=lambda: machines.machine_for(specs[:1]),
    )
