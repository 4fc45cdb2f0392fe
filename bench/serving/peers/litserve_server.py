"""LitServe, which leaves the protocol to its user.

``python litserve_server.py PORT NAME=FILE ...`` takes the protocol's JSON: what its workers are
sent is pickled, and requests of bytes cannot be.
"""

from __future__ import annotations

import sys
from typing import Any

import litserve
import numpy as np
from session import CORES, OneThreadSession, files_of


class LitServeModel(litserve.LitAPI):
    """A session in each of as many workers as there are cores."""

    def __init__(self, name: str, file: str) -> None:
        super().__init__(api_path=f"/v2/models/{name}/infer")
        self._file = file

    def setup(self, device: Any) -> None:
        """Open the file, in a worker."""
        self._session = OneThreadSession(self._file)

    def decode_request(self, request):  # LitServe takes a type that is said for the query's
        """JSON to arrays."""
        return {
            row["name"]: np.array(row["data"], np.float32).reshape(row["shape"])
            for row in request["inputs"]
        }

    def predict(self, inputs: dict[str, Any]) -> Any:
        """Answer one request."""
        return self._session.run(inputs)

    def encode_response(self, output: Any) -> dict[str, Any]:
        """Arrays to JSON."""
        outputs = [
            {"name": name, "datatype": "FP32", "shape": array.shape, "data": array.ravel().tolist()}
            for name, array in zip(self._session.names, output, strict=True)
        ]
        return {"outputs": outputs}


if __name__ == "__main__":
    port, *words = sys.argv[1:]
    apis = [LitServeModel(name, file) for name, file in files_of(words).items()]
    server = litserve.LitServer(apis, accelerator="cpu", workers_per_device=CORES)
    server.run(host="127.0.0.1", port=int(port), generate_client_file=False, log_level="warning")
