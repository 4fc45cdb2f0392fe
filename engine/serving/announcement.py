"""What a server that is ready says: what is served where, and how to query it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from surplus.engine.errors import UnavailableError
from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.serving.servable import TensorSpec
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.tls_files import TlsFiles


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def announce(
    ready: Sequence[tuple[RepositoryEntry, ServedModel]],
    address: str,
    host: str,
    http_port: int | None,
    tls: TlsFiles | None = None,
    metrics_port: int | None = None,
) -> None:
    """Say what is served where, and how to query it."""
    names = ", ".join(dict.fromkeys(entry.name for entry, _ in ready)) or "no model yet"
    say_address(f"serving {names}", address, tls)
    for entry, model in ready:
        try:
            query = query_command(entry, model.executor.inputs, address)
        except UnavailableError:  # it has lost its device, or was unloaded since
            continue
        trusting = "" if tls is None else " --tls-ca AUTHORITY.pem"
        print(f"query: {query}{trusting}")
        break
    say_others(host, http_port, tls, metrics_port)


def say_address(what: str, address: str, tls: TlsFiles | None) -> None:
    """Say what is answered there over gRPC."""
    grpc = "gRPC" if tls is None else "gRPC over TLS"
    print(f"{what} on {address} ({grpc}, Open Inference Protocol)")


def say_others(
    host: str, http_port: int | None, tls: TlsFiles | None, metrics_port: int | None
) -> None:
    """Say which further ports there are."""
    sys.stdout.flush()
    scheme = "http" if tls is None else "https"
    if http_port is not None:
        print(f"HTTP: {scheme}://{_host(host)}:{http_port}/v2", flush=True)
    if metrics_port is not None:
        at = f"{scheme}://{_host(host)}:{metrics_port}"
        print(f"metrics: {at}/metrics, status: {at}/status", flush=True)


def query_command(entry: RepositoryEntry, inputs: Sequence[TensorSpec], address: str) -> str:
    """A command that sends queries to a model: its example inputs, or else open dimensions of 1."""
    command = [_loadgen(), "--url", address, "--model", entry.name, "--duration", "10s"]
    beside = entry.path.with_suffix(".npz")
    if beside.exists():
        return shlex.join([*command, "--inputs", str(beside)])
    for spec in inputs:
        if spec.shape is not None and -1 in spec.shape:
            command += ["--shape", f"{spec.name}:{','.join(str(abs(size)) for size in spec.shape)}"]
    return shlex.join(command)


def _loadgen() -> str:
    """The load generator of this installation, short where that lies below this folder."""
    tool = Path(sys.executable).with_name("loadgen")
    if not tool.exists():
        return "loadgen"
    try:
        return str(tool.relative_to(Path.cwd()))
    except ValueError:
        return str(tool)
