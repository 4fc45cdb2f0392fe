"""A partition file for ONNX Runtime: which nodes of a graph go to which of two streams.

What a user would write by hand for ``session.node_partition_config_file``: chains between forks
and joins are dealt out in halves, the rest stays on the first stream.
"""

from __future__ import annotations

import json
from pathlib import Path

import onnx


def write_partition(optimised: Path, target: Path) -> None:
    """Write the file for a model whose nodes all have names of their own."""
    nodes = onnx.load(optimised, load_external_data=False).graph.node
    first, second = _halves(_chains(list(nodes)))
    listed = set(second)
    first = [node.name for node in nodes if node.name not in listed]
    streams = [first, second] if second else [first]
    content = {
        "type": "DeviceBasedPartitioner",
        "streams": streams,
        "devices": ["0"] * len(streams),
    }
    target.write_text(json.dumps(content))


def _halves(chains: list[list[str]]) -> tuple[list[str], list[str]]:
    total = sum(map(len, chains))
    first: list[str] = []
    second: list[str] = []
    for chain in chains:
        (first if len(first) < total / 2 else second).extend(chain)
    return first, second


def _chains(nodes: list[onnx.NodeProto]) -> list[list[str]]:
    """Maximal paths of nodes with one reader and one writer each."""
    maker = {name: node for node in nodes for name in node.output}
    readers: dict[str, int] = {}
    for node in nodes:
        for name in set(node.input):
            readers[name] = readers.get(name, 0) + 1
    chain_of: dict[str, list[str]] = {}
    chains: list[list[str]] = []
    for node in nodes:
        before = [maker[name] for name in node.input if name in maker]
        alone = len(before) == 1 and all(readers[n] == 1 for n in before[0].output if n in readers)
        if len(before) > 1:
            continue
        if alone and before[0].name in chain_of:
            chain = chain_of[before[0].name]
        else:
            chain = []
            chains.append(chain)
        chain.append(node.name)
        chain_of[node.name] = chain
    return chains
