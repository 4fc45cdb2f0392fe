"""``python -m bench cache_proof``: what proving the cache's files adds to a warm load.

Each load is a process of its own, from ``surplus.load`` to the first answer, in turns: with
the proof, without it, and with it where nothing was noted yet, as after a start of the machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from bench.models.fresh_load import load_figures
from surplus import models

_IMPORTS = """
import surplus.engine.pipeline.opening, surplus.engine.dfg.known_graph as known
import surplus.engine.store.prepacked as prepacked, surplus.engine.runtime.layout as layout
import surplus.engine.store.segments as store
"""
_UNPROVEN = """
for module in (known, layout, store):
    module.is_intact = lambda path: path.exists()
prepacked.read_intact = lambda path: path.exists()
"""
_ANSWER = """
model.run(inputs)
print(loaded - before, time.perf_counter_ns() - before)
"""

HOW = ("without", "with", "first")


def times_ns(path: Path, cache: Path, name: str, how: str) -> tuple[int, int]:
    """Until it is loaded, and until it has answered."""
    if how == "first":
        for note in cache.rglob("proven.json"):
            note.unlink()
    prepare = _IMPORTS + (_UNPROVEN if how == "without" else "")
    loaded, answered = load_figures(path, cache, name, prepare, _ANSWER)
    return loaded, answered


def main() -> int:
    """Print medians in ms and their ratios to a load without proof."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("models", nargs="*", default=["squeezenet", "resnet50", "bert_base"])
    args = parser.parse_args()
    for name in args.models:
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder) / "cache"
            path = models.save(models.build(name), Path(folder) / f"{name}.onnx")
            times_ns(path, cache, name, "with")  # cold
            found: dict[str, list[tuple[int, int]]] = {how: [] for how in HOW}
            for _ in range(args.rounds):
                for how in HOW:
                    found[how].append(times_ns(path, cache, name, how))
                times_ns(path, cache, name, "with")  # notes what "first" has read
        for index, until in enumerate(("loaded", "answered")):
            median = {how: statistics.median(t[index] for t in found[how]) for how in HOW}
            text = ", ".join(f"{how} {ns / 1e6:.1f} ms" for how, ns in median.items())
            ratios = [median[how] / median["without"] for how in HOW[1:]]
            print(f"{name} {until}: {text}; ratios {ratios[0]:.3f}, {ratios[1]:.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
