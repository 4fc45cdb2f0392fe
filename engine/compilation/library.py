"""Links layers and tables into a shared library that needs neither Python nor TVM."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from surplus.engine.compilation.c_source import SegmentVersion, c_source, version_script
from surplus.engine.errors import ConfigError

_HERE = Path(__file__).parent
_INCLUDE = _HERE.parent / "include"
_RUNTIME = _HERE / "segment_runtime.c"
_LIMIT_S = 300


def link(
    segments: Sequence[SegmentVersion], objects: Sequence[Path], folder: Path, library: Path
) -> None:
    """Compile the tables, and link them with the runtime and the layers' objects.

    Raises
    ------
    ConfigError
        If there is no C compiler, or it fails; the message has what it says.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise ConfigError("no C compiler (cc, gcc or clang) to link compiled layers with")
    source, script = folder / "segments.c", folder / "segments.map"
    source.write_text(c_source(segments))
    script.write_text(version_script(segments))
    command = [
        compiler,
        *("-std=c11", "-O3", "-march=native", "-shared", "-fPIC", "-pthread"),
        *(f"-I{place}" for place in (_HERE, _INCLUDE)),
        *(str(source), str(_RUNTIME), *map(str, objects)),
        f"-Wl,--version-script={script}",
        *("-o", str(library)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    if done.returncode:
        raise ConfigError(f"{compiler} failed: {done.stderr.strip()[-2000:]}")
