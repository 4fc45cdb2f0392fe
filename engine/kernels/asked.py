"""The libraries whose kernels a load may use."""

from __future__ import annotations

import os
from typing import NamedTuple

from surplus.engine.errors import ConfigError

KERNELS_VARIABLE = "SURPLUS_KERNELS"
"""Environment variable that names one of ``LoadParams.kernels``."""

AUTO = "auto"
ONNX_RUNTIME = "onnxruntime"

PRECISIONS = ("f32", "bf16", "f16")
"""What a library may be asked to compute in; the first is the default."""


def kernels_by_default() -> str:
    """What ``SURPLUS_KERNELS`` says, or what is fastest."""
    return os.environ.get(KERNELS_VARIABLE) or AUTO


class AskedKernels(NamedTuple):
    """Libraries that may take the place of ONNX Runtime's kernels.

    Parameters
    ----------
    versions : mapping of str to str
        By name; those that are installed and have a conformance table here.
    is_forced : bool
        Whether they are used wherever they answer rightly, not only where that is faster.
    """

    versions: dict[str, str]
    is_forced: bool = False

    @staticmethod
    def parse(text: str) -> AskedKernels:
        """``auto``, ``onnxruntime`` or the name of a library.

        A library that is named and has no conformance table here gets one, which takes some 20 s.
        ``auto`` goes on without it, while one is made in the background.

        Raises
        ------
        ConfigError
            If there is no such library, it is not installed, or no table of it can be made.
        """
        if text == ONNX_RUNTIME:
            return AskedKernels({})
        from surplus.engine.kernels.registry import LIBRARIES, installed  # looks for them

        if text == AUTO:
            return AskedKernels(_known(installed()))
        library = LIBRARIES.get(text)
        if library is None:
            names = ", ".join((AUTO, ONNX_RUNTIME, *LIBRARIES))
            raise ConfigError(f"kernels must be one of {names}, got {text!r}")
        here = library.find()
        if here is None:
            raise ConfigError(f"kernels {text!r}: not installed: {library.install}")
        from surplus.engine.kernels.conformance.here import require_table

        require_table(text)
        return AskedKernels({text: here.version}, is_forced=True)

    def check_precision(self, precision: str) -> None:
        """Refuse what nobody here computes in.

        Raises
        ------
        ConfigError
            Naming what is missing.
        """
        if precision not in PRECISIONS:
            raise ConfigError(
                f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}"
            )
        if precision == PRECISIONS[0]:
            return
        from surplus.engine.kernels.registry import LIBRARIES

        if not self.versions:
            hints = ", ".join(library.install for library in LIBRARIES.values())
            raise ConfigError(
                f"precision {precision!r}: ONNX Runtime's kernels compute in f32; other libraries"
                f" are not installed or not asked for ({hints})"
            )
        if not any(LIBRARIES[name].computes_in(precision) for name in self.versions):
            raise ConfigError(f"precision {precision!r}: this processor has no instructions for it")

    @property
    def text(self) -> str:
        """What a stored plan depends on; empty for ONNX Runtime's alone."""
        names = " ".join(_text(name, version) for name, version in sorted(self.versions.items()))
        return f"only {names}" if self.is_forced else names


def _known(versions: dict[str, str]) -> dict[str, str]:
    """Those with a conformance table here."""
    if not versions:
        return {}
    from surplus.engine.kernels.conformance.here import is_known_here

    return {name: version for name, version in versions.items() if is_known_here(name)}


def _text(name: str, version: str) -> str:
    """With its table's digest: what another one allowed is another plan."""
    from surplus.engine.kernels.registry import table_of

    table = table_of(name)
    return f"{name} {version}" if table is None else f"{name} {version} {table.digest}"
