"""CSV files that are none: each reader says which file, and which line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from surplus.colocation.arrivals.trace import AzureFunctions, Timestamps
from surplus.colocation.files.csv_file import read_rows
from surplus.colocation.overlap.training.samples import read_samples
from surplus.colocation.policies.veltair.layer_profile import read_layer_profile
from surplus.colocation.profiles.abacus import AbacusProfile

GROUPS = "model,start,end,bs,seq_len,model,start,end,bs,seq_len,median,mean,var\n"

READERS: tuple[tuple[Callable[[Path], object], str], ...] = (
    (lambda path: Timestamps(str(path), "seconds"), "seconds\n1\n"),
    (lambda path: AzureFunctions(str(path), "f"), "HashFunction,1,2\n"),
    (lambda path: read_samples(path.parent), GROUPS),
    (lambda path: AbacusProfile(str(path.parent), "a", 2).latency_ns(1, 0, 100), GROUPS),
    (lambda path: read_layer_profile(path, (1,)), "1\n"),
)


@pytest.mark.parametrize("reader", READERS, ids=("trace", "azure", "samples", "abacus", "layers"))
@pytest.mark.parametrize("row", [b'"' + b"1" * 200_000 + b'"', b"\xff\xfe"], ids=["long", "bytes"])
def test_what_is_no_text_is_refused_with_its_line(
    reader: tuple[Callable[[Path], object], str], row: bytes, tmp_path: Path
) -> None:
    read, head = reader
    path = tmp_path / "rows.csv"
    path.write_bytes(head.encode() + row + b"\n")
    with pytest.raises(ValueError, match=r"rows\.csv, line \d"):
        read(path)


def test_an_open_quote_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n" + '3,"\n' + "4,5\n" * 300)
    with pytest.raises(ValueError, match=r"rows\.csv, line 303: a cell of \d+ .* quote missing\?"):
        list(read_rows(path))


def test_rows_have_the_numbers_of_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('a,b\n"1\n2",3\n\n4\n')
    assert list(read_rows(path)) == [(1, ["a", "b"]), (3, ["1\n2", "3"]), (4, []), (5, ["4"])]
