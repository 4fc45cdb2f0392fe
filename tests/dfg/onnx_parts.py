"""Parts of tiny ONNX models."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

_RNG = np.random.default_rng(7)


def value(name, shape=None, elem_type=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, elem_type, shape)


def weight(name, *shape):
    return numpy_helper.from_array(_RNG.normal(size=shape).astype(np.float32), name)
