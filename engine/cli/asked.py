"""What several verbs make of the options that they share."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options

if TYPE_CHECKING:
    from surplus.engine.dfg.graph import Graph
    from surplus.engine.planning.load_params import LoadParams
    from surplus.placement import Problem


def asked_params(args: argparse.Namespace, **more: Any) -> LoadParams:
    """How to load: --devices, --policy, --option and --cache, and what a verb adds.

    A verb waits for the measured plan unless it says otherwise.
    """
    from surplus.engine.planning.load_params import LoadParams

    return LoadParams(
        devices=args.devices,
        placement_policy=args.policy,
        policy_options=options.pairs(args.option),
        cache=args.cache,
        custom_operators=getattr(args, "custom_operators", ()),
        **{"tune": "now", **_kernels(args), **more},
    )


def _kernels(args: argparse.Namespace) -> dict[str, str]:
    """--kernels, --precision and --kernel-memory, of verbs that have them."""
    names = ("kernels", "precision", "kernel_memory")
    return {name: getattr(args, name) for name in names if getattr(args, name, "")}


def asked_inputs(args: argparse.Namespace, graph: Graph | None = None) -> dict[str, Any]:
    """Example inputs of MODEL: --inputs and --dim; ``graph`` if it has been read."""
    from surplus.engine.examples.made_up import example_inputs
    from surplus.engine.planning.stages import read_model

    sizes = options.sizes(args.dim)
    return example_inputs(
        graph or read_model(args.model, args.cache), args.model, args.inputs, sizes
    )


def asked_problem(args: argparse.Namespace) -> tuple[Graph, Problem]:
    """MODEL's graph, and its placement problem by --profile, --kernels, --gpu-memory, --widths."""
    from surplus.engine.devices.memory_size import parse_bytes
    from surplus.engine.kernels.registry import LIBRARIES
    from surplus.engine.planning.stages import read_model
    from surplus.engine.profiling.costs import problem_of
    from surplus.engine.profiling.fastest_kernels import allowed_libraries, with_fastest_kernels
    from surplus.engine.profiling.profile import Profile

    profile = Profile.load(args.profile)
    allowed = allowed_libraries(profile, args.kernels)
    graph = read_model(args.model, args.cache)
    profile, taken = with_fastest_kernels(graph, profile, allowed)
    for name, count in taken.items():
        title = LIBRARIES[name].title if name in LIBRARIES else name
        print(
            f"times on the CPU: {title}'s kernels for {count} of {len(graph.tasks)} tasks",
            file=sys.stderr,
        )
    limit = parse_bytes(args.gpu_memory) if args.gpu_memory else None
    specs = profile.device_specs()
    return graph, problem_of(graph, profile, specs, limit, widths=args.widths)
