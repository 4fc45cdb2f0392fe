"""``engine serve`` whose models never come to be loaded; says on stderr when it waits for them."""

from __future__ import annotations

import sys
import threading
from typing import Any, NoReturn

from surplus.engine.cli import loaded_with_progress, policy_load
from surplus.engine.cli.main import main


def _stuck(*_: Any) -> NoReturn:
    print("stuck", file=sys.stderr, flush=True)
    threading.Event().wait()
    raise AssertionError


loaded_with_progress.loaded_with_progress = _stuck
policy_load.prepare = _stuck
sys.exit(main())
