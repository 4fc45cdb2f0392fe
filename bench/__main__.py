"""``python -m bench``: every table of docs/PERFORMANCE.md, measured and stored.

``python -m bench NAME ...`` measures some; ``python -m bench NAME [WORD ...]`` runs whatever of
this folder runs, with its own words and options; ``python -m bench --list`` says what there is.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

from bench.infrastructure.result_file import uncommitted

TABLES = (
    "dispatch",
    "hand_over",
    "tracing",
    "fan_out",
    "overlap",
    "models_cpu",
    "kernels",
    "kernels_many",
    "neighbours",
    "neighbours_simulated",
    "promises",
    "throughput",
    "batching",
    "co_run",
    "memory",
    "many_models",
    "idle",
    "size",
    "not_tensors",
    "plan_judgement",
    "start_up",
    "first_queries",
    "repository",
    "sir_tables",
    "sir_optimum",
    "sir_throughput",
    "sir_too_large",
    "placement_auto",
    "placement_evaluator",
    "placement_large",
    "placement_small",
    "placement_throughput",
    "optimum",
    "executable_optima",
    "serving",
    "submit",
    "isolation",
    "ensemble",
    "observability",
    "response_cache",
    "reload",
    "evictions",
    "batching_served",
    "loadgen_agreement",
    "dstack_golden",
    "dstack_gains",
    "dstack_steps",
    "dstack_four_gpus",
    "gpulet_interference",
    "gpulet_population",
    "gpulet_capacity",
    "gpulet_requests",
    "gpulet_violations",
    "gpulet_consolidated",
    "gpulet_scaling",
    "cluster_day",
    "cluster_gpulet",
    "cluster_failures",
    "chaos",
    "colocation_conservation",
    "colocation_live",
)


_UNCOMMITTED = "SURPLUS_BENCH_UNCOMMITTED"
_FOLDER = Path(__file__).parent
_PREFIXED = (
    "abacus",
    "cluster",
    "colocation",
    "dstack",
    "gpulet",
    "kernels",
    "neighbours",
    "sir",
    "veltair",
)
"""Folders whose names their benches' names begin with."""

_ROOMS = ("", "core", "models", "safety")
"""Others of which each file may be a bench; of the rest only those that run as a whole are."""


def runnable() -> dict[str, str]:
    """What of this folder runs by itself: by its name, the module."""
    found = {
        path.parent.name: f"bench.{path.parent.name}" for path in _FOLDER.glob("*/__main__.py")
    }
    for room in (*_ROOMS, *_PREFIXED):
        for path in (_FOLDER / room).glob("*.py"):
            if path.name != "__main__.py" and '__name__ == "__main__"' in path.read_text():
                name = f"{room}_{path.stem}" if room in _PREFIXED else path.stem
                found[name] = ".".join(filter(None, ("bench", room, path.stem)))
    return dict(sorted(found.items()))


def told(module: str) -> str:
    """What a module says it does."""
    return ast.get_docstring(ast.parse(_text(module))) or ""


def takes_words(module: str) -> bool:
    """Whether a module reads its command line."""
    return re.search(r"ArgumentParser|sys\.argv|parse_args", _text(module)) is not None


def _text(module: str) -> str:
    path = _FOLDER.parent.joinpath(*module.split("."))
    return (path / "__main__.py" if path.is_dir() else path.with_suffix(".py")).read_text()


def main() -> int:
    """Run each in a process of its own, so that none warms or crowds the next."""
    words = sys.argv[1:]
    known = runnable()
    if words == ["--list"]:
        for name, module in known.items():
            first_line, _, _ = told(module).partition("\n")
            print(f"{name:24} {first_line}")
        return 0
    first = next((i for i, word in enumerate(words) if word not in known), len(words))
    names, options = words[:first] or list(TABLES), words[first:]
    if first == 0 and options and not options[0].startswith("-"):
        print(f"no bench {options[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    if options and len(names) > 1:
        print(f"{options[0]}: options are for one bench, not {len(names)}", file=sys.stderr)
        return 2
    if options and not takes_words(known[names[0]]):
        if {*options} & {"-h", "--help"}:
            print(told(known[names[0]]))
            return 0
        print(f"{options[0]}: {names[0]} takes no options", file=sys.stderr)
        return 2
    if stored := [name for name in names if name in TABLES]:
        changed = uncommitted()
        if changed and not os.environ.get(_UNCOMMITTED):
            print(
                f"{', '.join(stored)}: results say of which commit they are, and {changed[0]} is"
                f" not committed ({_UNCOMMITTED}=1 measures all the same, and they say so)",
                file=sys.stderr,
            )
            return 2
    commands = [[sys.executable, "-m", known[name], *options] for name in names]
    failed = [
        name
        for name, command in zip(names, commands, strict=True)
        if subprocess.run(command, check=False).returncode
    ]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
