"""Times of the pass over a query's numbers, which are looked at before another library's kernels.

By itself, over the inputs of each model of ``models_cpu``, as if one segment read all of them,
beside the median time of a query with ONNX Runtime's kernels. At most 1 % of that, or 0.3 us.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable

import surplus
from bench.infrastructure.built_models import built
from surplus import models
from surplus.engine import _core
from surplus.engine.values import to_value

_ROUNDS = 41
_SHARE, _LEAST_NS = 0.01, 300.0
_QUERIES_S = 1.0


def row(name: str) -> dict[str, float | str | bool]:
    """Measure one model: nanoseconds of the pass and of a query."""
    path, inputs = built(name)
    with tempfile.TemporaryDirectory() as cache:
        asked = {"cache": cache, "kernels": "onnxruntime", "tune": "background"}
        with surplus.load(path, inputs=inputs, **asked) as model:
            query_ns = _median_ns(lambda: model.run(inputs))
        values = [to_value(array) for array in inputs.values()]
        pass_ns = _core.number_pass_ns(values, _ROUNDS)
    limit_ns = max(_SHARE * query_ns, _LEAST_NS)
    size = sum(value.nbytes for value in values)
    return {
        "model": name,
        "bytes": size,
        "pass ns": pass_ns,
        "query ns": query_ns,
        "limit ns": limit_ns,
        "holds": pass_ns <= limit_ns,
    }


def _median_ns(run: Callable[[], object]) -> float:
    run()
    until, taken = time.monotonic() + _QUERIES_S, list[int]()
    while len(taken) < 5 or time.monotonic() < until:
        began = time.perf_counter_ns()
        run()
        taken.append(time.perf_counter_ns() - began)
    return statistics.median(taken)


def main() -> None:
    """Print a line a model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models; all of models_cpu without")
    for name in parser.parse_args().names or models.model_names():
        found = row(name)
        print(
            f"{found['model']:20} {found['bytes']:>9} bytes  pass {found['pass ns']:>9.0f} ns "
            f" query {found['query ns']:>11.0f} ns  limit {found['limit ns']:>8.0f} ns "
            f" {'holds' if found['holds'] else 'MISSED'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
