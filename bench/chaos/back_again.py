"""How long until a server answers again where it did before."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection
from http.client import HTTPConnection, HTTPException

_EVERY_S = 0.005
_TIMEOUT_S = 1.0
_LOOK_S = 1.0
_LONGEST_S = 60.0


def back_after_s(
    address: str, models: Collection[str], is_wanted: Callable[[], bool]
) -> float | None:
    """From now to its first answer at this address; ``inf`` if there is none in a minute.

    Parameters
    ----------
    address : str
        ``HOST:PORT`` of HTTP.
    models : collection of str
        That it served: an answer of any of them counts.
    is_wanted : callable
        Whether it still is to serve one of them; None is returned once it is not.
    """
    begin_s = look_s = time.monotonic()
    while (now_s := time.monotonic()) - begin_s < _LONGEST_S:
        if any(_answers(address, model) for model in models):
            return time.monotonic() - begin_s
        if now_s - look_s > _LOOK_S:
            look_s = now_s
            if not is_wanted():
                return None
        time.sleep(_EVERY_S)
    return float("inf")


def _answers(address: str, model: str) -> bool:
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [0.0] * 4}
    connection = HTTPConnection(address, timeout=_TIMEOUT_S)
    try:
        connection.request("POST", f"/v2/models/{model}/infer", json.dumps({"inputs": [tensor]}))
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
