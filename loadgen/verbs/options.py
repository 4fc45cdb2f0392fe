"""Options that several verbs share: whom to ask what."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from surplus.loadgen.asked_model import AskedModel, parse_model
from surplus.loadgen.clients.images import LAYOUTS, SCALINGS, ImageParams
from surplus.loadgen.clients.inputs import InputParams, ModelInput, parse_shape
from surplus.loadgen.clock import NS_PER_S
from surplus.loadgen.duration import parse_duration_ns
from surplus.loadgen.errors import BadOptionError, LoadgenError
from surplus.loadgen.runtimes import RUNTIMES
from surplus.loadgen.transport import CLIENTS, PROTOCOLS, TlsParams, TransportParams

_USUAL = {"grpc": "127.0.0.1:8001", "http": "127.0.0.1:8000"}

_PROTOCOL, _RUNTIME = "grpc", "surplus"


@contextmanager
def bad_options() -> Iterator[None]:
    """What is wrong with a value while parameters are made is wrong with an option."""
    try:
        yield
    except (ValueError, LoadgenError) as error:
        raise BadOptionError(str(error)) from error


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """Whom to ask, how, and which models."""
    add = parser.add_argument
    add("--scenario", type=Path, metavar="FILE", help="options from TOML or JSON; see the manual")
    add("--url", help="the server's address (127.0.0.1:8001, or 127.0.0.1:8000 over http)")
    add("--model", action="append", default=[], metavar="NAME[=WEIGHT]", help="a served model")
    add("--model-version", default="", help="default: the server's choice")
    add("--in-process", action="append", default=[], metavar="FILE[=WEIGHT]", help="no server")
    add("--runtime", choices=list(RUNTIMES), help="for --in-process (surplus)")
    add("--timeout", help="of each query (60s)")
    add("--priority", type=int, default=0, help="told to the server; 1 is the most urgent")
    add("--seed", type=int, default=0, help="of arrivals, models and random inputs (%(default)s)")
    add("--client", choices=CLIENTS, default="auto", help="native where that can be used (auto)")
    add("--protocol", choices=PROTOCOLS, help="http: binary tensors (grpc)")
    add("--connections", type=int, default=0, help="of the native client (default: one a user)")
    add("--threads", type=int, default=1, help="of the native client (%(default)s)")
    add("--compare", action="store_true", help="answers that differ from the first are errors")
    add("--shared-memory", action="store_true", help="tensors lie in system shared memory (grpc)")
    add("--tls-ca", default="", metavar="FILE", help="ask a server of this authority by TLS (PEM)")
    add("--tls-cert", default="", metavar="FILE", help="what is shown to it, with its key (PEM)")
    add("--tls-key", default="", metavar="FILE", help="the key of --tls-cert")
    add_input_options(parser)


def add_input_options(parser: argparse.ArgumentParser) -> None:
    """What queries carry."""
    add = parser.add_argument
    add("--inputs", type=Path, metavar="PATH", help="arrays named like inputs: .npz, or a folder")
    add("--input", action="append", default=[], metavar="NAME:SHAPE:TYPE[:random|zeros]")
    add("--shape", action="append", default=[], metavar="NAME:SHAPE", help="for open dimensions")
    add("--images", action="append", default=[], metavar="PATH", help="pictures, or a folder")
    add("--image-scaling", choices=list(SCALINGS), help="of pixels (unit: 0 to 1)")
    add("--image-input", default="", metavar="NAME", help="which input takes them")
    add("--image-layout", choices=LAYOUTS, help="by the model's shape (auto)")


def asked_models(
    arguments: argparse.Namespace, traced: Sequence[str] = ()
) -> tuple[AskedModel, ...]:
    """Of the scenario's tables, else of the command line, else those that a trace names.

    Raises
    ------
    ValueError
        Naming what is wrong.
    """
    if tables := getattr(arguments, "models", None):
        return tuple(_model(table | {"seed": arguments.seed}) for table in tables)
    if arguments.model and arguments.in_process:
        raise ValueError("--model asks a server, and --in-process does not: name either")
    common = vars(arguments) | {"version": arguments.model_version}
    named = [parse_model(text) for text in arguments.model or arguments.in_process]
    named = named or [(name, 1.0) for name in traced]
    if not named:
        raise ValueError("there is no model to ask: give --model, --in-process or --scenario")
    return tuple(_model(common | {"name": name, "weight": weight}) for name, weight in named)


def transport(arguments: argparse.Namespace) -> TransportParams:
    """How queries travel."""
    is_here = is_in_process(arguments)
    return TransportParams(
        arguments.client,
        (arguments.runtime or _RUNTIME) if is_here else (arguments.protocol or _PROTOCOL),
        arguments.connections,
        arguments.threads,
        arguments.compare,
        arguments.shared_memory,
        _tls(arguments),
    )


def url(arguments: argparse.Namespace) -> str:
    """The server's address; empty for models in this process."""
    if not is_in_process(arguments):
        return arguments.url or _USUAL[arguments.protocol or _PROTOCOL]
    if arguments.url:
        raise ValueError("models in this process have no --url")
    return ""


def is_in_process(arguments: argparse.Namespace) -> bool:
    """Whether models are in this process."""
    return bool(arguments.in_process)


def _model(values: Mapping[str, Any]) -> AskedModel:
    """Of the values of options, by name; those of a model's table leave some out."""
    timeout = values.get("timeout")
    return AskedModel(
        values["name"],
        values.get("version", ""),
        float(values.get("weight", 1.0)),
        None if timeout is None else parse_duration_ns(timeout) / NS_PER_S,
        values.get("priority", 0),
        _inputs(values),
    )


def _inputs(values: Mapping[str, Any]) -> InputParams:
    paths = tuple(Path(text) for text in values.get("images", ()))
    images = ImageParams(
        paths,
        values.get("image_scaling") or "unit",
        values.get("image_input", ""),
        values.get("image_layout") or "auto",
    )
    file = values.get("inputs")
    return InputParams(
        file=None if file is None else Path(file),
        specs=tuple(ModelInput.parse(text) for text in values.get("input", ())),
        shapes=dict(parse_shape(text) for text in values.get("shape", ())),
        seed=values["seed"],
        images=images if paths else None,
    )


def _tls(arguments: argparse.Namespace) -> TlsParams | None:
    if arguments.tls_ca:
        return TlsParams(arguments.tls_ca, arguments.tls_cert, arguments.tls_key)
    if arguments.tls_cert or arguments.tls_key:
        raise ValueError("--tls-cert and --tls-key need --tls-ca")
    return None
