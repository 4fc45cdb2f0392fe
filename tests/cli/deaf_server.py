"""``engine serve`` all of whose lanes come to be held by operators that never return."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from surplus.engine.cli import loads
from surplus.engine.cli.main import main
from tests.compiled_library import hold_lanes

_load = loads._loaded


def _then_held(*arguments: Any) -> Any:
    executor = _load(*arguments)
    threading.Thread(target=hold_lanes, args=(executor._model.model._machine,), daemon=True).start()
    return executor


loads._loaded = _then_held
sys.exit(main())
