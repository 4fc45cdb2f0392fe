"""KServe's own model server: ``python kserve_server.py GRPC_PORT HTTP_PORT NAME=FILE ...``."""

from __future__ import annotations

import sys
from typing import Any

from kserve import InferOutput, InferRequest, InferResponse, Model, ModelServer
from session import OneThreadSession, files_of


class KServeModel(Model):
    """A session as KServe's examples have it, but that long ones do not hold up the loop."""

    def __init__(self, name: str, file: str) -> None:
        super().__init__(name)
        self._session = OneThreadSession(file)
        self.ready = True

    async def predict(self, payload: InferRequest, *_: Any, **__: Any) -> InferResponse:
        """Answer one request."""
        inputs = {row.name: row.as_numpy() for row in payload.inputs}
        outputs = []
        for name, array in zip(
            self._session.names, await self._session.run_aside(inputs), strict=True
        ):
            output = InferOutput(name, list(array.shape), "FP32")
            output.set_data_from_numpy(array, binary_data=True)
            outputs.append(output)
        return InferResponse(payload.id or "", self.name, outputs)


if __name__ == "__main__":
    grpc_port, http_port, *words = sys.argv[1:]
    server = ModelServer(http_port=int(http_port), grpc_port=int(grpc_port), enable_grpc=True)
    server.start([KServeModel(name, file) for name, file in files_of(words).items()])
