import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from surplus.engine import _core
from surplus.engine import native as library
from surplus.engine.errors import RuntimeLibraryError


def _version_in_child(queue):
    queue.put(library.load_runtime())


def test_finds_the_wheels_library_without_importing_onnxruntime():
    code = (
        "import sys; from surplus.engine.native import find_library, load_runtime;"
        "load_runtime(); assert 'onnxruntime' not in sys.modules; print(find_library())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert Path(out.stdout.strip()).name.startswith("libonnxruntime.so")
    assert out.stderr == ""


def test_load_is_idempotent_and_says_the_version():
    version = library.load_runtime()
    assert version == os.environ.get("SURPLUS_TEST_ORT", version)  # make test-onnxruntimes
    assert version == library.load_runtime() == _core.runtime_version()
    assert tuple(int(part) for part in version.split(".")[:2]) >= (1, 24)


def test_another_library_is_refused_once_one_is_open():
    library.load_runtime()
    with pytest.raises(RuntimeError, match="already loaded from"):
        _core.open_runtime("/nowhere/libonnxruntime.so")


def test_the_environment_names_the_library(monkeypatch, tmp_path):
    named = tmp_path / "libonnxruntime.so.9"
    named.write_bytes(b"")
    monkeypatch.setenv(library.LIBRARY_VARIABLE, str(named))
    assert library.find_library() == named


def test_a_named_library_that_is_missing_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv(library.LIBRARY_VARIABLE, str(tmp_path / "gone.so"))
    with pytest.raises(RuntimeLibraryError, match=r"gone\.so, which is not a file"):
        library.find_library()


def test_without_onnxruntime_the_error_says_what_to_install(monkeypatch):
    monkeypatch.delenv(library.LIBRARY_VARIABLE, raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setattr(library.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeLibraryError, match=r"pip install 'surplus-engine\[cpu\]'"):
        library.find_library()


@pytest.mark.parametrize(
    ("installed", "told"),
    [
        (["onnxruntime", "onnxruntime_gpu"], "onnxruntime and onnxruntime-gpu are installed"),
        (["onnxruntime_gpu", "onnxruntime_extensions", "onnxruntime_ep_webgpu"], ""),
        (["onnxruntime"], ""),
    ],
)
def test_two_builds_of_onnxruntime_are_one_warning(installed, told, monkeypatch, tmp_path, caplog):
    library_path = tmp_path / "onnxruntime" / "capi" / "libonnxruntime.so.1"
    for name in installed:
        (tmp_path / f"{name}-1.32.0.dist-info").mkdir()
    opened = []

    def version():
        if not opened:
            raise RuntimeError("not open")
        return "1.32.0"

    fake = SimpleNamespace(runtime_version=version, open_runtime=opened.append)
    monkeypatch.setattr(library, "_core", fake)
    monkeypatch.setattr(library, "find_library", lambda: library_path)
    for _ in range(2):
        assert library.load_runtime() == "1.32.0"
    assert [record.message[: len(told)] for record in caplog.records] == [told] * bool(told)


def test_condas_library_lies_in_its_environment(monkeypatch, tmp_path):
    """A module without a library beside it, and several versions in ``lib``."""
    (tmp_path / "lib").mkdir()
    for name in ("libonnxruntime.so", "libonnxruntime.so.1.9.0", "libonnxruntime.so.1.31.1"):
        (tmp_path / "lib" / name).write_bytes(b"")
    module = tmp_path / "site-packages" / "onnxruntime"
    (module / "capi").mkdir(parents=True)
    monkeypatch.delenv(library.LIBRARY_VARIABLE, raising=False)
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path))
    spec = SimpleNamespace(submodule_search_locations=[str(module)])
    monkeypatch.setattr(library.importlib.util, "find_spec", lambda name: spec)
    assert library.find_library() == tmp_path / "lib" / "libonnxruntime.so.1.31.1"
    beside = module / "capi" / "libonnxruntime.so.1.24.0"
    beside.write_bytes(b"")
    assert library.find_library() == beside


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["lib.so.1.9.9", "lib.so.1.10.0"], "lib.so.1.10.0"),
        (["lib.so", "lib.so.13"], "lib.so.13"),
        ([], None),
    ],
)
def test_the_newest_library_by_numbers(names, wanted):
    found = library.newest(map(Path, names))
    assert found == (None if wanted is None else Path(wanted))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot open shared object file"),
        (b"not a library", "cannot load ONNX Runtime"),  # an ELF header is missing
    ],
)
def test_a_broken_library_is_a_clean_error(tmp_path, content, message):
    path = tmp_path / "libonnxruntime.so"
    if content is not None:
        path.write_bytes(content)
    code = f"from surplus.engine import _core; _core.open_runtime({str(path)!r})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.returncode == 1
    assert f"RuntimeError: {message}" in out.stderr or message in out.stderr


def test_a_library_that_is_not_onnx_runtime_is_named():
    code = "from surplus.engine import _core; _core.open_runtime('libm.so.6')"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "libm.so.6 is not ONNX Runtime" in out.stderr


def test_spawned_processes_find_the_core():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_version_in_child, args=(queue,))
    child.start()
    version = queue.get(timeout=60)
    child.join()
    assert version == library.load_runtime()
