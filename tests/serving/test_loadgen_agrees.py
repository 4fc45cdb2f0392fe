"""Histograms of a server and latencies that loadgen measures are of the same queries."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import surplus
from surplus import models
from surplus.engine.serving.histogram import BOUNDS_US
from surplus.loadgen.address import parse_address
from surplus.loadgen.clients.grpc_request import call_headers, framed, infer_request
from surplus.loadgen.clients.tensors import from_array
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.native_load import NativeLoad, NativeTarget
from surplus.loadgen.params import LoadgenParams

QUERIES = 60


def test_no_client_has_an_answer_before_the_server_made_it(tmp_path: Path) -> None:
    path = models.save(models.build("squeezenet"), tmp_path / "squeezenet.onnx")
    model = surplus.load(path, "cpu:1", cache=tmp_path / "cache", selection_s=0)
    inputs = models.example_inputs("squeezenet")
    request = infer_request("net", "", [from_array(name, x) for name, x in inputs.items()])
    with surplus.Server({"net": model}, port=0) as server:
        address = parse_address(server.address)
        target = NativeTarget(address, [framed(request)], call_headers(str(address), 10**10))
        load = LoadgenParams(min_duration_ns=0, min_count=QUERIES, warmup_ns=0)
        records = NativeLoad(target, ClosedLoopParams(load, 1)).run()
        assert server._server is not None
        (served,) = server._server.plane.models
        found = served.times.whole
    latencies_us = np.sort((records.done_ns - records.sent_ns) / 1e3)
    assert found.count == len(latencies_us) >= QUERIES
    assert found.total_s < latencies_us.sum() / 1e6
    theirs = np.searchsorted(latencies_us, BOUNDS_US, "right")
    ours = np.cumsum(found.counts[:-1])
    assert np.all(ours >= theirs)
