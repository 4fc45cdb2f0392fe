"""The calls that read and change settings of the server over gRPC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.grpc_infer import plain_values
from surplus.engine.serving.log_settings import Value
from surplus.engine.serving.messages import message_type


class SettingCalls:
    """Methods of the service; each takes and returns a message.

    Parameters
    ----------
    plane : DataPlane
        Whose settings they are.
    """

    def __init__(self, plane: DataPlane) -> None:
        self._plane = plane

    def methods(self) -> dict[str, Callable[[Any], Any]]:
        """By the names of their calls."""
        return {"TraceSetting": self.trace_setting, "LogSettings": self.log_settings}

    def trace_setting(self, request: Any) -> Any:
        """What is traced, after the changes that are asked for."""
        traces, model = self._plane.traces, request.model_name
        if model:
            self._plane.models.find(model)
        asked = {name: list(setting.value) for name, setting in request.settings.items()}
        traces.update(asked, model)
        response = message_type("TraceSettingResponse")()
        for name, values in traces.values().items():
            response.settings[name].value.extend(values)
        return response

    def log_settings(self, request: Any) -> Any:
        """What is logged, after the changes that are asked for."""
        log = self._plane.log
        log.update(plain_values(request.settings))
        response = message_type("LogSettingsResponse")()
        for name, value in log.values().items():
            setattr(response.settings[name], _field(value), value)
        return response


def _field(value: Value) -> str:
    if isinstance(value, bool):
        return "bool_param"
    return "uint32_param" if isinstance(value, int) else "string_param"
