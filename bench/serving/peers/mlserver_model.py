"""A model of MLServer: what ``model-settings.json`` names as its implementation."""

from __future__ import annotations

from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse
from session import OneThreadSession


class MLServerModel(MLModel):
    """A session as MLServer's examples have it, but that long ones do not hold up the loop."""

    async def load(self) -> bool:
        """Open the file that the settings name."""
        assert self.settings.parameters, "we wrote them"
        self._session = OneThreadSession(str(self.settings.parameters.uri))
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        """Answer one request."""
        inputs = {
            row.name: NumpyCodec.decode_input(row).astype("float32", copy=False)
            for row in payload.inputs
        }
        arrays = await self._session.run_aside(inputs)
        outputs = [
            NumpyCodec.encode_output(name, array)
            for name, array in zip(self._session.names, arrays, strict=True)
        ]
        return InferenceResponse(model_name=self.name, outputs=outputs)
