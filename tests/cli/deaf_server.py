"""``engine serve`` all of whose lanes come to be held by operators that never return."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from surplus.engine.cli import loaded_with_progress as module
from surplus.engine.cli.main import main
from tests.compiled_library import hold_lanes

_load = module.loaded_with_progress


def _then_held(*arguments: Any) -> Any:
    model = _load(*arguments)
    threading.Thread(target=hold_lanes, args=(model._machine,), daemon=True).start()
    return model


module.loaded_with_progress = _then_held
sys.exit(main())
