"""Options that several verbs share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from surplus.engine.devices.parsing import available_cores
from surplus.placement import policy_names

_TRUE = {"true": True, "false": False}


def add_model(parser: argparse.ArgumentParser) -> None:
    """MODEL, --cache and --custom-operators."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="an ONNX file")
    add_cache(parser)
    add_custom_operators(parser)


def add_cache(parser: argparse.ArgumentParser) -> None:
    """--cache."""
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="where prepared models, measured times and plans are kept"
        " (default $XDG_CACHE_HOME/surplus or ~/.cache/surplus)",
    )


def add_url(parser: argparse.ArgumentParser) -> None:
    """URL of a server that is asked."""
    parser.add_argument(
        "url",
        nargs="?",
        default="127.0.0.1:8001",
        metavar="URL",
        help="HOST:PORT of gRPC, or http://HOST:PORT (default %(default)s)",
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """--inputs and --dim."""
    parser.add_argument(
        "--inputs",
        type=Path,
        metavar="F.npz",
        help="example inputs by name (default: the .npz of MODEL's name beside it, if there is"
        " one, else seeded random values)",
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="make random inputs with this size of a dynamic dimension, for example batch=8, or"
        " image.2=64 if it has no name (default: images 224, texts 128, else 1); may be repeated",
    )


def add_devices(parser: argparse.ArgumentParser, default: str = "every core") -> None:
    """--devices; an empty string stands for the default."""
    parser.add_argument(
        "--devices",
        default="",
        metavar="D,...",
        help="devices to run on: cpu:LANES, plugin:PROVIDER, emulated:NAME[GPU]:LANES; for example"
        " cpu:2, cpu:1,plugin:webgpu or"
        f" cpu:1,emulated:gpu[h200] (default: {default}, here cpu:{available_cores()})",
    )


def add_policy(parser: argparse.ArgumentParser, open_names: bool = False) -> None:
    """--policy and its --option KEY=VALUE; ``open_names`` if there are more than those here."""
    text = (
        f"who decides which device runs what: {', '.join(policy_names())} (default %(default)s);"
        " single runs each operator where ONNX Runtime puts it, on the GPU if that can, and"
        " nowhere else; beside the others the whole model on any one device is tried"
    )
    if open_names:
        text += "; or, with --slo, which model runs when: edf_drop and others of engine simulate"
    parser.add_argument(
        "--policy",
        default="auto",
        choices=None if open_names else policy_names(),
        metavar="NAME",
        help=text,
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the policy, for example alpha_ns=50000 (threshold in ns) or"
        " max_iterations=5 for comm_sd; may be repeated",
    )


def add_slices(parser: argparse.ArgumentParser) -> None:
    """Add --slice-ms."""
    parser.add_argument(
        "--slice-ms",
        type=float,
        default=0.0,
        metavar="MS",
        help="cut segments that take longer, so that more urgent queries need not wait for their"
        " end (default: cut none)",
    )


def add_limits(parser: argparse.ArgumentParser) -> None:
    """--max-load-s and --max-query-ms."""
    parser.add_argument(
        "--max-load-s",
        type=float,
        default=600.0,
        metavar="S",
        help="seconds after which loading a model is given up (default %(default)g; 0: never)",
    )
    parser.add_argument(
        "--max-query-ms",
        type=float,
        default=300_000.0,
        metavar="MS",
        help="how long a query may compute before it is ended (default %(default)g; 0: for ever)",
    )


def add_gpu_memory(parser: argparse.ArgumentParser) -> None:
    """--gpu-memory."""
    parser.add_argument(
        "--gpu-memory",
        default="",
        metavar="SIZE",
        help="how much of each GPU's memory to use, for example 4GiB: what does not fit runs on"
        " the CPU (default: all of it)",
    )


def add_widths(parser: argparse.ArgumentParser) -> None:
    """--widths."""
    parser.add_argument(
        "--widths",
        action="store_true",
        help="let an operator take as many of a CPU's lanes at once as was profiled; -o writes how"
        " many, and engine run cuts segments and gives them lanes by that (default: one, and"
        " segments choose by themselves)",
    )


def add_kernels(parser: argparse.ArgumentParser) -> None:
    """--kernels, --precision and --kernel-memory."""
    parser.add_argument(
        "--kernels",
        default="",
        metavar="NAME",
        help="whose kernels the CPU runs with: auto chooses by measurement among those that are"
        " installed (see `engine devices`), onnxruntime keeps to its bits, openvino takes that"
        " wherever it answers rightly (default: $SURPLUS_KERNELS, else auto)",
    )
    parser.add_argument(
        "--precision",
        default="",
        metavar="TYPE",
        help="bf16 or f16: what libraries of kernels compute in, where the processor can; answers"
        " then differ by up to 5 %% of an output's magnitude (default: f32)",
    )
    parser.add_argument(
        "--kernel-memory",
        default="",
        metavar="SIZE",
        help="what weights that a library of kernels keeps for itself may take of a model, for"
        " example 2GiB (default: a quarter of the memory that is free)",
    )


def add_custom_operators(parser: argparse.ArgumentParser) -> None:
    """--custom-operators."""
    parser.add_argument(
        "--custom-operators",
        action="append",
        default=[],
        metavar="LIBRARY",
        help="a library of operators that ONNX Runtime does not bring along, or"
        " onnxruntime-extensions by its name; may be repeated",
    )


def add_kernels_of_profile(parser: argparse.ArgumentParser) -> None:
    """--kernels, of verbs that take a profile's times."""
    parser.add_argument(
        "--kernels",
        default="auto",
        metavar="NAME",
        help="whose times operators have on the CPU: auto is the fastest kernels that the profile"
        " has times of, onnxruntime its own alone, or a library by name (default: auto)",
    )


def add_any_bits(parser: argparse.ArgumentParser) -> None:
    """--any-bits."""
    parser.add_argument(
        "--any-bits",
        action="store_true",
        help="while queries overlap, another plan may run that lets more of them through; its"
        " answers may be rounded otherwise",
    )


def add_overlap(parser: argparse.ArgumentParser) -> None:
    """--any-bits and --max-batch."""
    add_any_bits(parser)
    parser.add_argument(
        "--max-batch",
        type=int,
        metavar="N",
        help="largest batch, in rows of the inputs, of queries that wait at the same time; 0:"
        " none (default: what is measured to gain; of policies for several models 8)",
    )


def add_profile(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """--profile."""
    parser.add_argument(
        "--profile",
        type=Path,
        required=required,
        metavar="P.json",
        help="what engine profile wrote for this model" + ("" if required else "; else measured"),
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON instead of tables; times are in ns or ms as the keys say",
    )


def pairs(rows: list[str]) -> dict[str, Any]:
    """``KEY=VALUE`` strings as a mapping; numbers, true/false and comma lists are converted.

    Raises
    ------
    ValueError
        Naming the string without ``=``.
    """
    return {key: _value(text) for key, text in texts(rows).items()}


def texts(rows: list[str]) -> dict[str, str]:
    """``KEY=VALUE`` strings as a mapping of strings.

    Raises
    ------
    ValueError
        Naming the string without ``=``, or the key that comes twice.
    """
    found: dict[str, str] = {}
    for row in rows:
        key, separator, text = row.partition("=")
        if not separator or not key:
            raise ValueError(f"expected KEY=VALUE, got {row!r}")
        if key in found:
            raise ValueError(f"{key!r} is given twice")
        found[key] = text
    return found


def sizes(rows: list[str]) -> dict[str, int]:
    """``NAME=SIZE`` strings as a mapping of non-negative integers."""
    found = texts(rows)
    for name, text in found.items():
        if not (text.isascii() and text.isdigit()):
            raise ValueError(f"--dim {name}: expected a size >= 0, got {text!r}")
    return {name: int(text) for name, text in found.items()}


def _value(text: str) -> Any:
    if "," in text:
        return tuple(_value(part) for part in text.split(","))
    if text in _TRUE:
        return _TRUE[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
