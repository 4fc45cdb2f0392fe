"""The calls of shared memory over gRPC: what clients register, and what is registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surplus.engine.serving.cuda_memory import cuda_register, cuda_status, cuda_unregister
from surplus.engine.serving.messages import message_type
from surplus.engine.serving.shared_memory import SharedRegions


class SharedMemoryCalls:
    """Methods of the service; each takes and returns a message.

    Parameters
    ----------
    regions : SharedRegions
        What they are about.
    """

    def __init__(self, regions: SharedRegions) -> None:
        self._regions = regions

    def methods(self) -> dict[str, Callable[[Any], Any]]:
        """By the names of their calls."""
        return {
            "SystemSharedMemoryStatus": self.status,
            "SystemSharedMemoryRegister": self.register,
            "SystemSharedMemoryUnregister": self.unregister,
            "CudaSharedMemoryStatus": self.cuda_status,
            "CudaSharedMemoryRegister": self.cuda_register,
            "CudaSharedMemoryUnregister": self.cuda_unregister,
        }

    def status(self, request: Any) -> Any:
        """One region, or all."""
        rows = self._regions.status(request.name)
        return message_type("SystemSharedMemoryStatusResponse")(
            regions={row["name"]: row for row in rows}
        )

    def register(self, request: Any) -> Any:
        """Let queries name a part of some shared memory."""
        self._regions.register(request.name, request.key, request.offset, request.byte_size)
        return message_type("SystemSharedMemoryRegisterResponse")()

    def unregister(self, request: Any) -> Any:
        """Forget one region, or all."""
        self._regions.unregister(request.name)
        return message_type("SystemSharedMemoryUnregisterResponse")()

    def cuda_status(self, request: Any) -> Any:
        """The same of GPUs' memory."""
        return message_type("CudaSharedMemoryStatusResponse")(
            regions={row["name"]: row for row in cuda_status(self._regions, request.name)}
        )

    def cuda_register(self, request: Any) -> Any:
        """Let queries name memory of a GPU."""
        handle, gpu = request.raw_handle, request.device_id
        cuda_register(self._regions, request.name, handle, gpu, request.byte_size)
        return message_type("CudaSharedMemoryRegisterResponse")()

    def cuda_unregister(self, request: Any) -> Any:
        """Forget one region of GPUs' memory, or all."""
        cuda_unregister(self._regions, request.name)
        return message_type("CudaSharedMemoryUnregisterResponse")()
