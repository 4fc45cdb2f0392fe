"""Begins a conversion to TARGET, says where it works, and waits to be killed."""

from __future__ import annotations

import sys
from pathlib import Path

from surplus.engine.convert.staging import staging

with staging(Path(sys.argv[1])) as folder:
    (folder / "half.onnx").write_bytes(b"half")
    print(folder, flush=True)
    sys.stdin.read()
