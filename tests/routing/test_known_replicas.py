"""What a client knows of models, as their resolver says it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from surplus.routing.known_replicas import KnownReplicas
from surplus.routing.resolver import ReplicaAddress

FOUND = [ReplicaAddress("10.0.0.1:8001")]
HANGS_S = 30.0


class Waking:
    """A resolver that waits with who asks for ``sleeper`` until somebody asks for another model."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self.was_asked = False

    def replicas(self, model: str) -> Sequence[ReplicaAddress]:
        if model == "sleeper":
            self.was_asked = self._asked.wait(HANGS_S)
        else:
            self._asked.set()
        return FOUND


def test_a_model_that_is_waited_for_holds_up_no_other() -> None:
    resolver = Waking()
    known = KnownReplicas(resolver, 1.0, lambda *_: None)
    looks = [known.look_for(model) for model in ("sleeper", "other")]
    assert [look.result(HANGS_S + 10) for look in looks if look] == [FOUND, FOUND]
    assert resolver.was_asked
    known.close()
