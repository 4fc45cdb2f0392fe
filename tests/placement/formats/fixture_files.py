"""A small file of each format but ours, written for these tests."""

from pathlib import Path

DATA = Path(__file__).parent / "data"
FILES = {
    "stg": DATA / "diamond.stg",
    "dnn_partitioning": DATA / "two_layers.json",
    "wfcommons": DATA / "blast.json",
}
