"""The models by name, each built on demand from a few parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import onnx

    Arrays = dict[str, npt.NDArray[Any]]

# Builders are imported when first asked for, so that `from surplus import models` stays cheap.
_BUILT_IN = {
    "alexnet": "surplus.models.alexnet",
    "bert_base": "surplus.models.bert",
    "bert_large": "surplus.models.bert",
    "chain": "surplus.models.synthetic",
    "deepfm": "surplus.models.deepfm",
    "densenet121": "surplus.models.densenet",
    "densenet161": "surplus.models.densenet",
    "diamonds": "surplus.models.synthetic",
    "dlrm": "surplus.models.dlrm",
    "efficientnet_b0": "surplus.models.efficientnet",
    "faster_rcnn": "surplus.models.faster_rcnn",
    "fork_join": "surplus.models.synthetic",
    "googlenet": "surplus.models.googlenet",
    "inception_v3": "surplus.models.inception",
    "lenet": "surplus.models.lenet",
    "mask_rcnn": "surplus.models.mask_rcnn",
    "mnasnet": "surplus.models.mnasnet",
    "mobilenet_v2": "surplus.models.mobilenet",
    "moe": "surplus.models.moe",
    "multi_task": "surplus.models.multi_task",
    "random_dag": "surplus.models.synthetic",
    "random_wide": "surplus.models.random_wide",
    "resnet101": "surplus.models.resnet",
    "resnet152": "surplus.models.resnet",
    "resnet18": "surplus.models.resnet",
    "resnet50": "surplus.models.resnet",
    "resnext50": "surplus.models.resnet",
    "shufflenet_v2": "surplus.models.shufflenet",
    "squeezenet": "surplus.models.squeezenet",
    "ssd": "surplus.models.ssd",
    "ssd_mobilenet_v1": "surplus.models.ssd_mobilenet",
    "ssd_per_class": "surplus.models.ssd",
    "tiny_yolov2": "surplus.models.tiny_yolo",
    "two_tower": "surplus.models.two_tower",
    "vgg16": "surplus.models.vgg",
    "vgg19": "surplus.models.vgg",
}
_registered: dict[str, ModelInfo] = {}

# What no model is meant for: a million of anything, or a thousand times what it has by default.
_MOST = 1_000_000
_MOST_OF_DEFAULT = 1_000
_LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class ModelInfo:
    """What the registry knows of a model.

    Parameters
    ----------
    name, family, description : str
        Registry name, family (detector, classifier, ...) and one line for a listing.
    params : type
        Frozen dataclass of the parameters, all with defaults; it raises ValueError for values
        out of range. Sizes that no memory holds, and bad seeds, never come to it.
    builder : callable
        Makes the model from an instance of `params`.
    examples : callable
        Makes inputs from an instance of `params` and a seed.
    """

    name: str
    family: str
    description: str
    params: type
    builder: Callable[[Any], onnx.ModelProto]
    examples: Callable[[Any, int], Arrays]

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameter names and their defaults, in order of declaration."""
        return {field.name: field.default for field in dataclasses.fields(self.params)}

    def build(self, **params: Any) -> onnx.ModelProto:
        """Build the model; the same parameters give the same bytes each time."""
        return self.builder(self._instance(params))

    def example_inputs(self, seed: int = 0, **params: Any) -> dict[str, np.ndarray[Any, Any]]:
        """Make valid inputs, by input name, for the model that ``build(**params)`` gives."""
        return self.examples(self._instance(params), seed)

    def parse(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Convert parameters from text, as a command line has them, to their types.

        Raises
        ------
        ValueError
            If a name is unknown or a text does not read as the default's type.
        """
        self._reject_unknown(texts)
        return {key: _convert(key, text, self.parameters[key]) for key, text in texts.items()}

    def _instance(self, params: Mapping[str, Any]) -> Any:
        self._reject_unknown(params)
        for key, value in params.items():
            _check_type(key, value, self.parameters[key])
            _check_bound(key, value, self.parameters[key])
        return self.params(**params)

    def _reject_unknown(self, params: Mapping[str, Any]) -> None:
        for key in params:
            if key not in self.parameters:
                known = ", ".join(self.parameters)
                raise ValueError(f"{self.name} has no parameter {key!r}; it has: {known}")


def register(
    name: str,
    *,
    family: str,
    description: str,
    params: type,
    build: Callable[[Any], onnx.ModelProto],
    example_inputs: Callable[[Any, int], Arrays],
) -> None:
    """Add a model to the registry; see `ModelInfo` for the arguments.

    Raises
    ------
    ValueError
        If the name is taken.
    """
    built_in = _BUILT_IN.get(name)
    if name in _registered or (built_in and build.__module__ != built_in):
        raise ValueError(f"a model named {name!r} is registered already")
    _registered[name] = ModelInfo(name, family, description, params, build, example_inputs)


def model_names() -> list[str]:
    """Return the names of all models, sorted."""
    return sorted({*_BUILT_IN, *_registered})


def info(name: str) -> ModelInfo:
    """Return what is known of a model.

    Raises
    ------
    ValueError
        If there is no such model; the message lists those that exist.
    """
    if name not in _registered:
        if name not in _BUILT_IN:
            raise ValueError(f"no model named {name!r}; there are: {', '.join(model_names())}")
        import_module(_BUILT_IN[name])
    return _registered[name]


def build(name: str, **params: Any) -> onnx.ModelProto:
    """Build a model by name.

    Raises
    ------
    ValueError
        If the name or a parameter is unknown, or a value is out of range.
    """
    return info(name).build(**params)


def example_inputs(name: str, seed: int = 0, **params: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Make inputs, by input name, for the model that ``build(name, **params)`` gives."""
    return info(name).example_inputs(seed, **params)


def _convert(key: str, text: str, default: Any) -> Any:
    wanted = type(default)
    try:
        return _boolean(text) if wanted is bool else wanted(text)
    except (KeyError, ValueError):
        raise ValueError(f"{key} must be of type {wanted.__name__}, got {text!r}") from None


def _boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.lower()]


def _check_type(key: str, value: Any, default: Any) -> None:
    wanted = type(default)
    fits = type(value) is wanted or (wanted is float and type(value) is int)
    if not fits:
        raise ValueError(f"{key} must be of type {wanted.__name__}, got {value!r}")


def _check_bound(key: str, value: Any, default: Any) -> None:
    """Refuse what would only run out of memory, or overflow, somewhere in a builder."""
    if type(default) is not int:
        return
    if key == "seed":
        if not 0 <= value <= _LARGEST_SEED:
            raise ValueError(f"seed must be within 0..{_LARGEST_SEED}, got {value}")
    elif value > (most := max(_MOST, _MOST_OF_DEFAULT * default)):
        raise ValueError(f"{key} must be at most {most}, got {value}")
