"""A placement as files that another runtime reads."""

from surplus.engine.emit.emitted import Emitted, Placed
from surplus.engine.emit.registry import EMITTERS, emit

__all__ = ["EMITTERS", "Emitted", "Placed", "emit"]
