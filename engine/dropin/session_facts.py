"""What a session says of itself, in ONNX Runtime's words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from surplus.engine.dfg.graph import ValueKind
from surplus.engine.dropin.model_metadata import ModelMetadata, read_metadata
from surplus.engine.dropin.node_arg import NodeArg, node_arg
from surplus.engine.dropin.providers import CPU, check_providers
from surplus.engine.dropin.session_options import SessionOptions
from surplus.engine.dropin.statuses import NotImplemented, status
from surplus.engine.runtime.inputs import IoSpec

if TYPE_CHECKING:
    from surplus.engine.dropin.told_model import ToldModel
    from surplus.engine.runtime.model import Model

_OF_PROVIDERS = "no provider is asked, the plan says what runs where (model.plan)"
_REFUSED = {
    "create_ortvalue_from_shape_and_type": "values lie in the host's memory (OrtValue)",
    "get_input_epdevices": _OF_PROVIDERS,
    "get_input_memory_infos": _OF_PROVIDERS,
    "get_output_memory_infos": _OF_PROVIDERS,
    "get_provider_graph_assignment_info": _OF_PROVIDERS,
    "get_tuning_results": "`engine tune` looks for the fastest plan",
    "release_captured_graph": "graphs are captured and released by the engine",
    "set_ep_dynamic_options": _OF_PROVIDERS,
    "set_tuning_results": "`engine tune` looks for the fastest plan",
}
"""Methods of ONNX Runtime's that are not there, and why or what is instead."""


class SessionFacts:
    """A session without its queries.

    Parameters
    ----------
    model : Model or ToldModel
        What answers.
    path : Path
        The file that it was opened from.
    options : SessionOptions or None
        What it was made with.
    falls_back : bool
        Whether providers that are not there are only warned of.
    """

    def __init__(
        self, model: Model | ToldModel, path: Path, options: Any, *, falls_back: bool
    ) -> None:
        self.model = model
        self._path = path
        self._options = SessionOptions() if options is None else options
        self._falls_back = falls_back
        self._output_names = tuple(spec.name for spec in model.outputs)

    def get_inputs(self) -> list[NodeArg]:
        """Inputs without a default, in the model's order."""
        return [node_arg(spec) for spec in self.model.inputs if not _has_default(spec)]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs with a default, in the model's order."""
        return [node_arg(spec) for spec in self.model.inputs if _has_default(spec)]

    def get_outputs(self) -> list[NodeArg]:
        """Outputs, in the model's order, which is that of ``run``."""
        return [node_arg(spec) for spec in self.model.outputs]

    def get_modelmeta(self) -> ModelMetadata:
        """What the model's file says of itself."""
        return read_metadata(self._path)

    def get_session_options(self) -> Any:
        """What it was made with."""
        return self._options

    def get_providers(self) -> list[str]:
        """ONNX Runtime's providers that are in use."""
        return [CPU]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Theirs: none."""
        return {CPU: {}}

    def set_providers(
        self, providers: Sequence[Any] | None = None, provider_options: Sequence[Any] | None = None
    ) -> None:
        """Warn of those that are not there; the session stays as it is."""
        check_providers(providers, provider_options, falls_back=self._falls_back)

    def disable_fallback(self) -> None:
        """Refuse providers that are not there from now on, instead of warning."""
        self._falls_back = False

    def enable_fallback(self) -> None:
        """Warn of providers that are not there."""
        self._falls_back = True

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    def __getattr__(self, name: str) -> Any:
        if name in _REFUSED:
            raise status(NotImplemented, f"InferenceSession.{name} is not there: {_REFUSED[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _has_default(spec: IoSpec) -> bool:
    return spec.optional and spec.kind is not ValueKind.OPTIONAL
