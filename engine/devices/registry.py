"""The kinds of devices, by the word that their names begin with.

To add one: a file like those in ``kinds/``, an entry here, and what drives it in the core
(``engine/core/devices``). Modules are imported when a device of theirs is named.
"""

from __future__ import annotations

_HERE = "surplus.engine.devices.kinds"

KINDS = {
    "cpu": f"{_HERE}.cpu:CPU",
    "cuda": f"{_HERE}.cuda:CUDA",
    "plugin": f"{_HERE}.plugin:PLUGIN",
    "emulated": f"{_HERE}.emulated:EMULATED",
}
"""``module:object`` of each; ``engine devices`` lists them in this order."""
