"""A client that finds replicas by the resolver, and asks another one once if one fails."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any, Self
from urllib.request import Request, urlopen

_FRESH_S = 0.5


def resolve(resolver: str, model: str) -> list[dict[str, Any]]:
    with urlopen(f"http://{resolver}/v1/models/{model}", timeout=40) as answer:
        document = json.load(answer)
    assert document["model"] == model
    replicas: list[dict[str, Any]] = document["replicas"]
    return replicas


def ask(address: str, model: str, value: float, version: int | None = None) -> float:
    """What the model adds to a value."""
    path = model if version is None else f"{model}/versions/{version}"
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [value] * 4}
    body = json.dumps({"inputs": [tensor]}).encode()
    with urlopen(Request(f"http://{address}/v2/models/{path}/infer", body), timeout=5) as answer:
        first: float = json.load(answer)["outputs"][0]["data"][0]
    return first - value


class SteadyLoad:
    """Threads that ask a model at a rate; every query is accounted for.

    Attributes
    ----------
    added : Counter of float
        Answers by what was added.
    lost : list of str
        What became of queries that two replicas failed.
    retried : int
    """

    def __init__(self, resolver: str, model: str, rate_per_s: float, threads: int = 2) -> None:
        self._resolver = resolver
        self._model = model
        self.rate_per_s = rate_per_s
        self._known: tuple[float, list[dict[str, Any]]] = (-1e9, [])
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self.added: Counter[float] = Counter()
        self.asked = 0
        self.lost: list[str] = []
        self.retried = 0
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def check(self, allowed: Sequence[float]) -> None:
        """No query was lost, none answered twice or wrongly."""
        assert self.lost == []
        assert set(self.added) <= set(allowed), self.added
        assert sum(self.added.values()) == self.asked

    def _run(self) -> None:
        while not self._is_over.wait(len(self._threads) / self.rate_per_s):
            with self._lock:
                self.asked += 1
            self._ask_once()

    def _ask_once(self) -> None:
        """One query, retried once, with addresses that are known, then with new ones."""
        failed: list[str] = []
        errors = []
        for attempt in range(2):
            try:
                others = [own["http"] for own in self._replicas(attempt > 0)]
                address = random.choice([one for one in others if one not in failed] or others)
                failed.append(address)
                added = ask(address, self._model, 1.0)
            except (OSError, HTTPException, IndexError) as error:
                errors.append(f"{failed} {error}")
                continue
            with self._lock:
                self.added[added] += 1
                self.retried += attempt
            return
        with self._lock:
            self.lost.append("; ".join(errors))

    def _replicas(self, anew: bool) -> list[dict[str, Any]]:
        known_s, replicas = self._known
        if anew or time.monotonic() - known_s > _FRESH_S:
            replicas = resolve(self._resolver, self._model)
            self._known = (time.monotonic(), replicas)
        return replicas
