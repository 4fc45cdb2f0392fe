"""Layers with weights: convolution (batch norm folded), fully connected, embedding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surplus.models.builder import Array, GraphBuilder


@dataclass(frozen=True)
class Init:
    """How a layer's weights are drawn.

    Parameters
    ----------
    gain : float
        Factor on He's standard deviation sqrt(2 / fan_in) [He et al. 2015, eq. 10].
    zero_mean : bool
        Subtract each filter's mean, so that the common positive part of rectified features
        cancels and a head answers to their differences.
    """

    gain: float = 1.0
    zero_mean: bool = False


HE = Init()
ZERO_MEAN = Init(zero_mean=True)


def he_normal(rng: np.random.Generator, shape: tuple[int, ...], init: Init = HE) -> Array:
    """Draw weights of shape (outputs, fan-in axes...) as `init` says."""
    fan_in = int(np.prod(shape[1:]))
    weight: Array = rng.standard_normal(shape, dtype=np.float32)
    weight *= np.float32(init.gain * np.sqrt(2.0 / fan_in))
    if init.zero_mean:
        weight -= weight.mean(axis=tuple(range(1, len(shape))), keepdims=True)
    return weight


@dataclass(frozen=True)
class Conv:
    """Shape of a convolution whose batch norm is folded into weights and bias.

    Parameters
    ----------
    channels_in, channels_out : int
        Feature channels.
    kernel : int or (int, int)
        Height and width of the filter.
    stride, groups : int
        As ONNX defines them.
    pad : int or (int, int), optional
        Zero padding on both sides; kernel // 2 by default.
    bias : bool
        Whether there is a bias; a convolution that no batch norm follows has none to fold.
    """

    channels_in: int
    channels_out: int
    kernel: int | tuple[int, int] = 1
    stride: int = 1
    pad: int | tuple[int, int] | None = None
    groups: int = 1
    init: Init = HE
    bias: bool = True

    @property
    def kernel_hw(self) -> tuple[int, int]:
        """Height and width of the filter."""
        return (self.kernel, self.kernel) if isinstance(self.kernel, int) else self.kernel

    @property
    def pad_hw(self) -> tuple[int, int]:
        """Padding above and left."""
        if self.pad is None:
            return self.kernel_hw[0] // 2, self.kernel_hw[1] // 2
        return (self.pad, self.pad) if isinstance(self.pad, int) else self.pad


def conv(b: GraphBuilder, x: str, name: str, spec: Conv, bias: Array | None = None) -> str:
    """Add a convolution with bias (zeros by default); `x` is (batch, channels, height, width)."""
    return apply_conv(b, x, name, spec, conv_weights(b, name, spec, bias))


def conv_weights(
    b: GraphBuilder, name: str, spec: Conv, bias: Array | None = None
) -> tuple[str, ...]:
    """Store a convolution's weight and, if it has one, bias, for one use or for several."""
    shape = (spec.channels_out, spec.channels_in // spec.groups, *spec.kernel_hw)
    weight = he_normal(b.weight_rng(name), shape, spec.init)
    stored = _weight(b, name, weight)
    return (stored, _bias(b, name, spec.channels_out, bias)) if spec.bias else (stored,)


def apply_conv(b: GraphBuilder, x: str, name: str, spec: Conv, weights: tuple[str, ...]) -> str:
    """Add a convolution with stored weights."""
    pad_h, pad_w = spec.pad_hw
    return b.op(
        "Conv",
        x,
        *weights,
        name=name,
        kernel_shape=list(spec.kernel_hw),
        strides=[spec.stride, spec.stride],
        pads=[pad_h, pad_w, pad_h, pad_w],
        group=spec.groups,
    )


def conv_relu(b: GraphBuilder, x: str, name: str, spec: Conv) -> str:
    """Add a convolution and a ReLU."""
    return b.op("Relu", conv(b, x, name, spec), name=f"{name}.relu")


def gemm(
    b: GraphBuilder,
    x: str,
    name: str,
    features: tuple[int, int],
    init: Init = HE,
    bias: Array | None = None,
) -> str:
    """Add a fully connected layer on (rows, features[0]), giving (rows, features[1])."""
    weight = he_normal(b.weight_rng(name), (features[1], features[0]), init)
    bias_name = _bias(b, name, features[1], bias)
    return b.op("Gemm", x, _weight(b, name, weight), bias_name, name=name, transB=1)


def dense(b: GraphBuilder, x: str, name: str, features: tuple[int, int], init: Init = HE) -> str:
    """Add MatMul and Add, as exporters write a linear layer on inputs of rank 3."""
    weight = he_normal(b.weight_rng(name), (features[1], features[0]), init)
    product = b.op("MatMul", x, _weight(b, name, np.asarray(weight.T, order="C")), name=name)
    return b.op("Add", product, _bias(b, name, features[1], None), name=f"{name}.bias")


def embedding(b: GraphBuilder, indices: str, name: str, shape: tuple[int, int], std: float) -> str:
    """Add a look-up of `indices` in a table of (rows, width) with entries of deviation `std`."""
    table = b.weight_rng(name).standard_normal(shape, dtype=np.float32)
    table *= np.float32(std)
    return b.op("Gather", _weight(b, name, table), indices, name=name, axis=0)


def max_pool(
    b: GraphBuilder, x: str, kernel: int, stride: int, pad: int = 0, *, ceil: bool = False
) -> str:
    """Add a square max pooling; with `ceil`, a last window may reach over the edge."""
    attributes = {"ceil_mode": 1} if ceil else {}
    return b.op(
        "MaxPool",
        x,
        kernel_shape=[kernel] * 2,
        strides=[stride] * 2,
        pads=[pad] * 4,
        name="pool",
        **attributes,
    )


def classifier(b: GraphBuilder, x: str, features: tuple[int, int]) -> str:
    """Add global average pooling, Flatten and a fully connected layer."""
    pooled = b.op("GlobalAveragePool", x, name="pool")
    flat = b.op("Flatten", pooled, axis=1, name="flatten")
    return gemm(b, flat, "classifier", features, ZERO_MEAN)


def _weight(b: GraphBuilder, name: str, array: Array) -> str:
    return b.initializer(f"{b.path(name)}.weight", array)


def _bias(b: GraphBuilder, name: str, size: int, bias: Array | None) -> str:
    values = np.zeros(size, np.float32) if bias is None else bias.astype(np.float32)
    return b.initializer(f"{b.path(name)}.bias", values)
