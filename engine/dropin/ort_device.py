"""``OrtDevice``: where a value lies; here always in the host's memory."""

from __future__ import annotations

from typing import Any

_NUMBERS = {"cpu": 0, "cuda": 1, "gpu": 1, "webgpu": 1, "dml": 1, "fpga": 2, "npu": 3, "cann": 3}
"""ONNX Runtime's kinds of devices."""


class OrtDevice:
    """A device by its kind and number.

    Raises
    ------
    Exception
        If there is no such kind; ONNX Runtime raises no other.
    """

    def __init__(self, name: str, device_id: int = 0) -> None:
        if name.lower() not in _NUMBERS:
            raise Exception(f"Unsupported device type: {name}")
        self._name = name.lower()
        self._id = int(device_id)

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """The device of that kind and number."""
        return OrtDevice(ort_device_name, device_id)

    @staticmethod
    def cpu() -> int:
        """The number of the kind that is the host."""
        return _NUMBERS["cpu"]

    def device_id(self) -> int:
        """Its number among those of its kind."""
        return self._id

    def device_type(self) -> int:
        """ONNX Runtime's number of its kind."""
        return _NUMBERS[self._name]

    def device_name(self) -> str:
        """Its kind, as it was named."""
        return self._name

    def device_vendor_id(self) -> int:
        """Of no vendor."""
        return 0

    def device_mem_type(self) -> int:
        """The default memory."""
        return 0

    def _get_c_device(self) -> Any:
        """The extension module's object of it, which sparse tensors are made with."""
        from surplus.engine.dropin.own_modules import extension  # few programs ask

        of = extension().OrtDevice
        return of(self.device_type(), of.default_memory(), self._id)


def require_host(name: str, device_id: int = 0) -> None:
    """Refuse values in another memory than the host's.

    Raises
    ------
    Exception
        If there is no such kind of device.
    RuntimeError
        If it has a memory of its own.
    """
    require_host_device(OrtDevice(name, device_id))


def require_host_device(device: Any) -> None:
    """The same, of an ``OrtDevice``, ours or the extension module's."""
    if device.device_type() != OrtDevice.cpu():
        name = device.device_name() if isinstance(device, OrtDevice) else device.device_type()
        raise RuntimeError(
            f"Can't allocate memory on the device {name!r}: values lie in the host's memory, and"
            " the engine copies what a GPU of its plan needs"
        )
