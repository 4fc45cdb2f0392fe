"""A thousand broken files: each loads or is refused in one line; nothing is left behind."""

from pathlib import Path

from fuzzing_time import generator, rounds
from onnx_mutations import MUTATIONS

from engine.dfg.onnx_reader import read
from engine.errors import ModelError

COUNT = 1000


def test_mutated_and_truncated_files(rich: Path, tmp_path: Path) -> None:
    source = rich.read_bytes()
    rng = generator(5)
    victim, cache = tmp_path / "victim.onnx", tmp_path / "cache"
    refusals, count = [], 0
    for index in rounds(COUNT):
        count += 1
        victim.write_bytes(MUTATIONS[index % len(MUTATIONS)](source, rng))
        try:
            read(victim, cache)
        except ModelError as error:
            refusals.append(str(error))
    assert [text for text in refusals if str(victim) not in text or "\n" in text] == []
    assert len(refusals) > count // 4
    assert len(list(cache.glob("*-ort*"))) <= count - len(refusals)
    assert not list(cache.glob(".new-*"))
