"""Makes the summary of a graph that was just parsed (summary.py reads a stored one)."""

from __future__ import annotations

import hashlib
import json

from surplus.engine.dfg.activations import activations
from surplus.engine.dfg.content import Content
from surplus.engine.dfg.open_work import has_open_work
from surplus.engine.dfg.summary import Summary
from surplus.engine.dfg.zip_maps import zip_maps


def summary_of(content: Content) -> Summary:
    """Look at every task once; takes some 10 µs for each."""
    return Summary(
        digest=_digest(content),
        task_count=len(content.tasks),
        inputs=tuple(content.tensors[i] for i in content.inputs),
        outputs=tuple(content.tensors[i] for i in content.outputs),
        default_inputs=content.default_inputs,
        constant_outputs=content.constant_outputs,
        activations=activations(content, range(len(content.tasks))),
        zip_maps=zip_maps(content.model),
        has_open_work=has_open_work(content.tasks),
    )


def _digest(content: Content) -> str:
    tasks = [(t.name, t.op_type, t.inputs, t.outputs) for t in content.tasks]
    names = [t.name for t in content.tensors]
    # protobuf gives a name that is not UTF-8 as bytes: decoding it says so
    text = json.dumps([tasks, names], default=bytes.decode)
    return hashlib.sha256(text.encode()).hexdigest()
