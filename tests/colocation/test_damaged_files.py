"""Files that are not what they should be: each reader says which file, and that it is damaged."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.colocation.arrivals.trace import Timestamps
from surplus.colocation.files.toml_file import read_toml
from surplus.colocation.overlap.features import GroupPart, Layout
from surplus.colocation.overlap.group_times import GroupTimes, load_group_times
from surplus.colocation.overlap.latency_model import LatencyModel, load_latency_model
from surplus.colocation.overlap.perceptron import Perceptron
from surplus.colocation.overlap.training.samples import read_samples
from surplus.colocation.profiles.abacus import AbacusProfile
from surplus.colocation.profiles.layers import Layers
from surplus.colocation.profiles.measured_profile import load_measured_profile


@dataclass(frozen=True)
class Seed:
    """A file of one key."""

    seed: int


LAYOUT = Layout(("a", "b"), (4, 6), 2)
MODEL = LatencyModel("linear", LAYOUT, Perceptron((np.ones((10, 1)),), (np.ones(1),)))
TIMES = GroupTimes(
    LAYOUT,
    (Perceptron((np.zeros((12, 1)),), (np.zeros(1),)),),
    np.array([[0.0, 1.0, 0.0, 5.0, 0.1]]),
    (np.array([[1.0, 0.1]]), np.array([[1.0, 0.1]])),
)
PROFILE: dict[str, Any] = {
    "format": "surplus-colocation-profile/1",
    "devices": "cpu:2",
    "models": {
        "a": {
            "operators": 2,
            "items": [1, 4],
            "ms": {"50": [2.0, 8.0], "100": [1.0, 4.0]},
            "deviation": [0.1, 0.1],
            "groups_ms": [0.5, 0.5],
            "versions": [{"sensitivity": 0.1, "cores": [1, 2], "groups_ms": [[2, 1], [2, 1]]}],
        }
    },
    "extra": {"a": {}},
    "machine": {},
    "by_share": False,
}
HEADER = "model,start,end,bs,seq_len,model,start,end,bs,seq_len,median,mean,var\n"


def archive(content: bytes, kind: int = zipfile.ZIP_DEFLATED, **changed: Any) -> bytes:
    """The file with some of its arrays replaced, or left out if they are None."""
    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file) | changed
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as written:
        for name, array in arrays.items():
            if array is not None:
                member = io.BytesIO()
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=True)
                written.writestr(f"{name}.npy", member.getvalue())
    return buffer.getvalue()


def about(text: bytes) -> dict[str, Any]:
    return {"about": np.frombuffer(text, np.uint8)}


def described(content: bytes, **changed: Any) -> bytes:
    with np.load(io.BytesIO(content)) as file:
        known = json.loads(bytes(file["about"]))
    return archive(content, **about(json.dumps(known | changed).encode()))


def spoiled(content: bytes) -> bytes:
    """The bytes of the first member's data turned over."""
    return content[:60] + bytes(255 - byte for byte in content[60:90]) + content[90:]


ARCHIVES: tuple[Callable[[bytes], bytes], ...] = (
    lambda good: b"",
    lambda good: good[: len(good) // 2],
    spoiled,
    lambda good: archive(good, zipfile.ZIP_BZIP2).replace(b"1AY&SY", b"1AY&SX", 1),
    lambda good: archive(good, **about(b"[" * 100_000)),
    lambda good: archive(good, about=None),
    lambda good: archive(good, more=np.array([{"a": 1}], object)),
    lambda good: archive(good, more=np.array([1 + 1j])),
    lambda good: archive(good, more=np.array([np.nan])),
    lambda good: described(good, models=[1, 2]),
    lambda good: described(good, operators=[4.5, 6]),
    lambda good: described(good, operators=["4", "6"]),
)


@pytest.mark.parametrize("damage", ARCHIVES)
@pytest.mark.parametrize(
    ("load", "good"),
    [(load_latency_model, MODEL), (load_group_times, TIMES)],
    ids=["model", "times"],
)
def test_a_damaged_archive_is_named(
    load: Callable[[Path], object],
    good: LatencyModel | GroupTimes,
    damage: Callable[[bytes], bytes],
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.npz"
    path.write_bytes(good.to_bytes())
    load(path)
    path.write_bytes(damage(good.to_bytes()))
    with pytest.raises(ValueError, match=r"m\.npz"):
        load(path)


@pytest.mark.parametrize(
    "changed",
    [
        {"alone": np.array([[0.0, 1.0, 0.0, -5.0, 0.1]])},
        {"alone": np.array([[0.0, 1.0, 0.0, 5.0, -0.1]])},
        {"alone": np.array([[0.0, 1.0, 0.0, 1e30, 0.1]])},
        {"errors2": np.array([[0.0, 0.1]])},
    ],
)
def test_group_times_that_no_measurement_gives_are_refused(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "t.npz"
    path.write_bytes(archive(TIMES.to_bytes(), **changed))
    with pytest.raises(ValueError, match=r"t\.npz: .*> 0 and deviations >= 0"):
        load_group_times(path)


def test_predictions_that_are_no_times_are_refused() -> None:
    absurd = (Perceptron((np.zeros((12, 1)),), (np.array([1e30]),)),)
    times = GroupTimes(LAYOUT, absurd, TIMES.alone, TIMES.errors)
    with pytest.raises(ValueError, match="estimated to take"):
        times.of((GroupPart(0, 0, 1, 1),))


def changed_profile(place: tuple[Any, ...], value: Any) -> Any:
    document = json.loads(json.dumps(PROFILE))
    parent = document
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    return document


WRONG = (
    (("format",), "other/1"),
    (("models",), []),
    (("models", "a"), 5),
    (("models", "a", "items"), []),
    (("models", "a", "items"), ["1", "4"]),
    (("models", "a", "operators"), "2"),
    (("models", "a", "operators"), 0),
    (("models", "a", "deviation"), [0.1]),
    (("models", "a", "deviation"), [0.1, -0.1]),
    (("models", "a", "deviation"), [0.1, 10**400]),
    (("models", "a", "ms"), {"100": [1.0, float("nan")]}),
    (("models", "a", "ms", "50"), None),
    (("models", "a", "groups_ms"), [-1.0]),
    (("models", "a", "unknown"), 1),
    (("models", "a", "versions", 0, "cores"), [2, 1]),
    (("models", "a", "versions", 0, "cores"), [1]),
    (("models", "a", "versions", 0, "sensitivity"), "x"),
    (("models", "a", "versions", 0, "groups_ms"), []),
    (("extra", "a"), {"a": "much"}),
    (("by_share",), "no"),
    (("more",), 1),
)


@pytest.mark.parametrize(("place", "value"), WRONG, ids=lambda own: str(own)[:40])
def test_a_damaged_profile_is_named(place: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(PROFILE))
    load_measured_profile.cache_clear()
    assert load_measured_profile(path).models["a"].versions[0].cores == (1, 2)
    path.write_text(json.dumps(changed_profile(place, value)))
    load_measured_profile.cache_clear()
    with pytest.raises(ValueError, match=r"p\.json: no profile of engine colocate profile"):
        load_measured_profile(path)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "1"])
def test_what_is_no_profile_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    load_measured_profile.cache_clear()
    with pytest.raises(ValueError, match=r"p\.json"):
        load_measured_profile(path)


@pytest.mark.parametrize("numbers", ["nan,5,1", "5,nan,1", "5,5,nan", "5,5,-1", "5,0,1", "-5,5,1"])
def test_measurements_that_are_no_times_are_refused(numbers: str, tmp_path: Path) -> None:
    (tmp_path / "a_b.csv").write_text(f"{HEADER}a,0,4,1,0,b,0,0,1,0,{numbers}\n")
    with pytest.raises(ValueError, match=r"a_b\.csv, line 2"):
        read_samples(tmp_path)
    with pytest.raises(ValueError, match=r"a_b\.csv, line 2"):
        AbacusProfile(str(tmp_path), "a", 4)


def test_a_table_of_other_layers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "layers.csv"
    path.write_text("8,7,6,5,4,3,2,1\n" * 52)
    with pytest.raises(ValueError, match=r"layers\.csv: 52 layers, ResNet-50 has 53"):
        Layers(str(path))


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    table, rows = tmp_path / "s.toml", tmp_path / "rows.csv"
    table.write_bytes(b"\xef\xbb\xbfseed = 1\n")
    rows.write_bytes(b"\xef\xbb\xbftimestamp\r\n1\r\n2\r\n")
    assert read_toml(Seed, table) == Seed(1)
    assert Timestamps(str(rows)).rate_per_s == 2.0
