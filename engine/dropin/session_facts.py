"""What a session says of itself, in ONNX Runtime's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from surplus.engine.dropin.model_metadata import ModelMetadata
from surplus.engine.dropin.node_arg import NodeArg
from surplus.engine.dropin.ort_value import OrtValue
from surplus.engine.dropin.providers import CPU, chosen_providers
from surplus.engine.dropin.session_handle import SessionHandle
from surplus.engine.dropin.statuses import MissingName, NotImplemented, status

if TYPE_CHECKING:
    from surplus.engine.dropin.told_model import ToldModel
    from surplus.engine.runtime.model import Model

_OF_PROVIDERS = "no provider is asked, the plan says what runs where (model.plan)"
_REFUSED = {
    "get_provider_graph_assignment_info": _OF_PROVIDERS,
    "set_ep_dynamic_options": _OF_PROVIDERS,
}
"""Methods of ONNX Runtime's that are not there, and why or what is instead."""


class SessionFacts:
    """A session without its queries.

    Programs read what begins with an underscore, too: names and types are ONNX Runtime's.

    Parameters
    ----------
    handle : SessionHandle
        What answers. It is what cannot be pickled, so that a subclass may say how it is.
    falls_back : bool
        Whether providers that are not there are only warned of.
    """

    def __init__(self, handle: SessionHandle, *, falls_back: bool) -> None:
        self._sess = handle
        self._enable_fallback = falls_back
        self._fallback_providers = [CPU]
        self._sess_options = handle.session_options
        self._inputs_meta = handle.inputs_meta
        self._outputs_meta = handle.outputs_meta
        self._overridable_initializers = handle.overridable_initializers
        self._providers = handle.get_providers()
        self._provider_options = handle.get_provider_options()

    @property
    def model(self) -> Model | ToldModel:
        """What answers; in a forked child, from the first query on, one that was opened there."""
        return self._sess.model

    def get_inputs(self) -> list[NodeArg]:
        """Inputs without a default, in the model's order."""
        return self._inputs_meta

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs with a default, in the model's order."""
        return self._overridable_initializers

    def get_outputs(self) -> list[NodeArg]:
        """Outputs, in the model's order, which is that of ``run``."""
        return self._outputs_meta

    def get_modelmeta(self) -> ModelMetadata:
        """What the model's file says of itself."""
        return self._sess.model_meta

    @property
    def _model_meta(self) -> ModelMetadata:
        return self._sess.model_meta

    def get_session_options(self) -> Any:
        """What it was made with."""
        return self._sess_options

    def get_providers(self) -> list[str]:
        """ONNX Runtime's providers that are in use."""
        return self._providers

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Theirs: none."""
        return self._provider_options

    def set_providers(
        self, providers: Sequence[Any] | None = None, provider_options: Sequence[Any] | None = None
    ) -> None:
        """Warn of those that are not there; the session stays as it is."""
        chosen = chosen_providers(providers, provider_options, falls_back=self._enable_fallback)
        self._providers, self._provider_options = chosen, {name: {} for name in chosen}

    def disable_fallback(self) -> None:
        """Refuse providers that are not there from now on, instead of warning."""
        self._enable_fallback = False

    def enable_fallback(self) -> None:
        """Warn of providers that are not there."""
        self._enable_fallback = True

    def get_input_memory_infos(self) -> list[Any]:
        """Where each input lies: ONNX Runtime's ``OrtMemoryInfo`` of the host."""
        return [_host_memory() for _ in self._inputs_meta]

    def get_output_memory_infos(self) -> list[Any]:
        """The same of outputs."""
        return [_host_memory() for _ in self._outputs_meta]

    def get_input_epdevices(self) -> list[Any]:
        """ONNX Runtime's ``OrtEpDevice`` of the CPU, for each input; None where it has none."""
        from surplus.engine.dropin.own_modules import extension  # few programs ask

        devices = (each for each in extension().get_ep_devices() if each.ep_name == CPU)
        return [next(devices, None)] * len(self._inputs_meta)

    def create_ortvalue_from_shape_and_type(
        self,
        shape: Sequence[int],
        element_type: Any,
        device_type: str,
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """A tensor of zeros (``OrtValue.ortvalue_from_shape_and_type``)."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type, device_id)

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Nothing to release: the engine captures and releases graphs itself."""

    def get_tuning_results(self) -> list[Any]:
        """None: kernels are not tuned one by one (``engine tune`` looks for the fastest plan)."""
        return []

    def set_tuning_results(self, results: Sequence[Any], *, error_on_invalid: bool = False) -> None:
        """Take none.

        Raises
        ------
        NotImplemented
            If there are any.
        """
        if results:
            raise status(NotImplemented, "kernels are not tuned: `engine tune` looks for plans")

    def __getattr__(self, name: str) -> Any:
        if name in _REFUSED:
            raise status(MissingName, f"InferenceSession.{name} is not there: {_REFUSED[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _host_memory() -> Any:
    from surplus.engine.dropin.own_modules import extension  # few programs ask

    own = extension()
    kind, memory = own.OrtAllocatorType.ORT_ARENA_ALLOCATOR, own.OrtMemType.DEFAULT
    return own.OrtMemoryInfo("Cpu", kind, 0, memory)
