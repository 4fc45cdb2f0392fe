"""Plain ONNX Runtime, as it comes."""

from __future__ import annotations

from surplus.loadgen.clients.tensors import Answer
from surplus.loadgen.errors import TargetError
from surplus.loadgen.runtimes.runtime import Feed, register


class OnnxRuntimeModel:
    """A session on the CPU with ONNX Runtime's own defaults."""

    def __init__(self, path: str) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise TargetError(f"ONNX Runtime is not installed: {error}") from error
        try:
            self._session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        except Exception as error:  # its classes have no base of their own
            raise TargetError(f"ONNX Runtime cannot load {path}: {error}") from error
        self._names = [output.name for output in self._session.get_outputs()]

    def run(self, feed: Feed, priority: int) -> Answer:
        """Answer a query; it knows no priorities."""
        return dict(zip(self._names, self._session.run(None, feed), strict=True))

    def close(self) -> None:
        """The session ends with its last reference."""
        del self._session


register("onnxruntime")(OnnxRuntimeModel)
