"""Run by each Python that an adopted program starts: its folder is first in ``PYTHONPATH``.

It must harm no Python, also one of another environment or version, which has not got the engine.
"""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

_HERE = str(Path(__file__).parent)


def _run_next() -> None:
    """The ``sitecustomize`` that Python would have found without this one."""
    others = [entry for entry in sys.path if entry != _HERE]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


class _NotHere:
    """Says, when ``onnxruntime`` is imported, that it is not adopted, and lets it be imported."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "onnxruntime":
            import warnings

            warnings.warn(
                f"onnxruntime is not adopted: {sys.executable} has no surplus", stacklevel=2
            )


try:
    from surplus.engine.dropin.finder import adopt
except ImportError:
    sys.meta_path.insert(0, _NotHere())
else:
    adopt()
_run_next()
