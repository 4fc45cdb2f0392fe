"""What runs a model in this process, one a file; ``RUNTIMES`` knows them by name."""

from surplus.loadgen.runtimes.onnx_runtime import OnnxRuntimeModel as OnnxRuntimeModel
from surplus.loadgen.runtimes.runtime import RUNTIMES as RUNTIMES
from surplus.loadgen.runtimes.surplus_engine import SurplusModel as SurplusModel
