"""A thousand broken files: each loads or is refused in one line; nothing is left behind."""

import random
from pathlib import Path

from onnx_mutations import MUTATIONS

from engine.dfg.onnx_reader import read
from engine.errors import ModelError

COUNT = 1000


def test_mutated_and_truncated_files(rich: Path, tmp_path: Path) -> None:
    source = rich.read_bytes()
    rng = random.Random(5)
    victim, cache = tmp_path / "victim.onnx", tmp_path / "cache"
    refusals = []
    for index in range(COUNT):
        victim.write_bytes(MUTATIONS[index % len(MUTATIONS)](source, rng))
        try:
            read(victim, cache)
        except ModelError as error:
            refusals.append(str(error))
    assert [text for text in refusals if str(victim) not in text or "\n" in text] == []
    assert len(refusals) > COUNT // 4
    assert len(list(cache.iterdir())) <= COUNT - len(refusals)
    assert not list(cache.glob(".new-*"))
