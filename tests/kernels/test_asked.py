"""Whose kernels a load may use: what is asked for, and what is here."""

from __future__ import annotations

from pathlib import Path

import pytest

from surplus.engine.errors import ConfigError, RuntimeLibraryError
from surplus.engine.kernels import openvino
from surplus.engine.kernels.asked import AskedKernels, kernels_by_default
from surplus.engine.kernels.conformance import background, making
from surplus.engine.kernels.conformance.instruction_set import instruction_set
from surplus.engine.kernels.conformance.table import ConformanceTable, keep_table
from surplus.engine.kernels.registry import LIBRARIES, open_library
from surplus.engine.planning.load_params import LoadParams

TABLE = ConformanceTable("openvino", "1.2.3", instruction_set(), {})
HERE = f"openvino 1.2.3 {TABLE.digest}"


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = openvino.Installed(Path("/libopenvino_c.so"), "1.2.3")
    monkeypatch.setattr(openvino, "_found", lambda _: found)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def here(untried: None) -> None:
    keep_table(TABLE)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino, "_found", lambda _: None)


def test_the_environment_says_what_is_asked_for_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURPLUS_KERNELS", "openvino")
    assert kernels_by_default() == "openvino"
    monkeypatch.delenv("SURPLUS_KERNELS")
    assert kernels_by_default() == "auto"


@pytest.mark.usefixtures("here")
def test_a_stored_plan_depends_on_the_libraries_that_may_be_used() -> None:
    asked = {name: AskedKernels.parse(name) for name in ("auto", "onnxruntime", "openvino")}
    assert asked["auto"].text == HERE
    assert not asked["auto"].is_forced
    assert asked["onnxruntime"].text == ""
    assert asked["openvino"].text == f"only {HERE}"
    assert LoadParams(kernels="auto").plan_options() == {"kernels": HERE}
    assert LoadParams(kernels="onnxruntime").plan_options() == {"keeps_bits": True}


@pytest.mark.usefixtures("untried")
def test_without_a_table_auto_goes_on_and_has_one_made(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[str, str]] = []
    monkeypatch.setattr(background, "make_in_background", lambda *asked: begun.append(asked))
    assert AskedKernels.parse("auto").versions == {}
    assert begun == [("openvino", "1.2.3")]
    keep_table(TABLE)
    assert AskedKernels.parse("auto").versions == {"openvino": "1.2.3"}
    assert len(begun) == 1


@pytest.mark.usefixtures("untried")
def test_a_library_that_is_named_gets_its_table_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(making, "make_table", lambda *_: TABLE)
    assert AskedKernels.parse("openvino").text == f"only {HERE}"
    assert "was never tried on processors like this one" in caplog.text
    caplog.clear()
    AskedKernels.parse("openvino")
    assert caplog.text == ""


@pytest.mark.usefixtures("untried")
def test_a_library_whose_table_cannot_be_made_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> ConformanceTable:
        raise RuntimeLibraryError("no such file")

    monkeypatch.setattr(making, "make_table", failing)
    with pytest.raises(ConfigError, match="no conformance table: no such file"):
        AskedKernels.parse("openvino")


@pytest.mark.usefixtures("nowhere")
def test_without_a_library_plans_are_what_they_were() -> None:
    assert LoadParams(kernels="auto").plan_options() == {}


@pytest.mark.usefixtures("nowhere")
def test_a_library_that_is_not_here_is_refused_with_how_to_get_it() -> None:
    with pytest.raises(ConfigError, match=r"not installed: pip install 'surplus-engine\[openvino"):
        LoadParams(kernels="openvino")
    with pytest.raises(RuntimeLibraryError, match="'openvino' is not installed: pip"):
        open_library("openvino")


def test_names_that_nobody_knows_are_refused() -> None:
    with pytest.raises(ConfigError, match="auto, onnxruntime, openvino, tensorrt, got 'tvm'"):
        LoadParams(kernels="tvm")
    with pytest.raises(RuntimeLibraryError, match="'tvm' is not installed"):
        open_library("tvm")


def test_a_library_named_in_the_environment_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "libopenvino_c.so"
    monkeypatch.setenv("SURPLUS_OPENVINO_LIBRARY", str(library))
    assert openvino.LIBRARY.find() is None
    library = tmp_path / "there.so"
    library.touch()
    monkeypatch.setenv("SURPLUS_OPENVINO_LIBRARY", str(library))
    found = openvino.LIBRARY.find()
    assert found is not None
    assert found.path == library


def test_memory_for_kernels_is_a_size() -> None:
    assert LoadParams(kernel_memory="2GiB").kernel_memory_bytes() == 2 << 30
    assert LoadParams().kernel_memory_bytes() is None
    with pytest.raises(ConfigError):
        LoadParams(kernel_memory="much")


@pytest.mark.usefixtures("here")
def test_a_precision_is_taken_where_the_processor_computes_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bf16 = openvino.LIBRARY._replace(computes_in=lambda precision: precision == "bf16")
    monkeypatch.setitem(LIBRARIES, "openvino", bf16)
    options = LoadParams(kernels="auto", precision="bf16").plan_options()
    assert options == {"kernels": HERE, "precision": "bf16"}
    with pytest.raises(ConfigError, match="'f16': this processor has no instructions"):
        LoadParams(kernels="auto", precision="f16")
    with pytest.raises(ConfigError, match="'bf16': ONNX Runtime's kernels compute in f32"):
        LoadParams(kernels="onnxruntime", precision="bf16")
    with pytest.raises(ConfigError, match="one of f32, bf16, f16, got 'int8'"):
        LoadParams(kernels="auto", precision="int8")
