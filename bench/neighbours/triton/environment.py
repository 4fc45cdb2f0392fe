"""Where Triton lies: a virtual environment of its own, which ``make triton`` builds.

Its Python backend needs numpy 1: with 2 it answers with empty tensors.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.infrastructure.built_models import FOLDER

ENVIRONMENT = FOLDER.parent / "triton"
_PACKAGES = "lib/python3.*/site-packages"
_SERVER = "pytriton/tritonserver/bin/tritonserver"
_STUB = "triton_python_backend_stub"


@dataclass(frozen=True)
class TritonEnvironment:
    """One that was built.

    Parameters
    ----------
    folder : Path
        Of the virtual environment.

    Raises
    ------
    FileNotFoundError
        If it has no server, or none for its Python.
    """

    folder: Path = ENVIRONMENT

    def __post_init__(self) -> None:
        for file in (self.server, self._stub):
            if not file.exists():
                raise FileNotFoundError(f"no {file}")

    @property
    def _packages(self) -> Path:
        found = sorted(self.folder.glob(_PACKAGES))
        return found[0] if found else self.folder / _PACKAGES

    @property
    def server(self) -> Path:
        """The program."""
        return self._packages / _SERVER

    @property
    def _stub(self) -> Path:
        """Of the version of Python that the environment has: the process of a model's instance."""
        version = self._packages.parent.name.removeprefix("python")
        return self.server.parents[1] / "python_backend_stubs" / version / _STUB

    def link_backends(self, folder: Path) -> None:
        """Put the Python backend there with its stub beside it, where the server looks for both."""
        target = folder / "python"
        target.mkdir(parents=True)
        backend = self.server.parents[1] / "backends" / "python"
        for file in (*backend.glob("*.*"), self._stub):
            (target / file.name).symlink_to(file)

    def variables(self, given: Mapping[str, str] = os.environ) -> dict[str, str]:
        """What the server is started with: its Python is that of the environment."""
        own = {key: value for key, value in given.items() if not key.startswith("PYTHON")}
        libraries = [sysconfig.get_config_var("LIBDIR"), self._packages / "nvidia_pytriton.libs"]
        own["PATH"] = f"{self.folder / 'bin'}:{given.get('PATH', '')}"
        own["LD_LIBRARY_PATH"] = ":".join(map(str, libraries))
        return own


def server_options(folder: Path, grpc_port: int) -> list[str]:
    """Of the server's command line: what lies in a folder, over gRPC for this machine alone."""
    return [
        f"--model-repository={folder / 'repository'}",
        f"--backend-directory={folder / 'backends'}",
        "--model-control-mode=explicit",
        "--disable-auto-complete-config",
        "--grpc-address=127.0.0.1",
        f"--grpc-port={grpc_port}",
        "--allow-metrics=false",
    ]


def missing(folder: Path = ENVIRONMENT) -> str | None:
    """Why Triton cannot be asked here; None where it can."""
    try:
        TritonEnvironment(folder)
    except FileNotFoundError as error:
        return f"{error} (`make triton` fetches it)"
    return None
