"""CUDA's libraries are loaded for the provider, the newest of each, whatever else is missing."""

import ctypes
import logging
import os
import shutil
import subprocess

import pytest

from surplus.engine.cuda_libraries import WORKSPACE, WORKSPACE_VARIABLE, preload


def compile_library(path, text):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    command = [compiler, "-x", "c", "-shared", "-fPIC", "-", "-o", str(path)]
    subprocess.run(command, input=text, text=True, check=True)


def test_what_is_there_is_loaded_for_all_to_see(tmp_path):
    old, new = tmp_path / "libcublas.so.12", tmp_path / "libcublas.so.13"
    old.touch()
    compile_library(new, "int surplus_preloaded(void) { return 7; }")
    assert preload((tmp_path,)) == (new,)
    assert ctypes.CDLL(None).surplus_preloaded() == 7


def test_what_cannot_be_loaded_is_said_and_left_to_the_linker(tmp_path, caplog):
    (tmp_path / "libcudnn.so.9").touch()
    with caplog.at_level(logging.WARNING):
        assert preload((tmp_path,)) == ()
    assert "libcudnn.so.9 is not loaded" in caplog.text


def test_the_size_of_cublas_workspaces_is_set_unless_it_is(tmp_path, monkeypatch):
    monkeypatch.delenv(WORKSPACE_VARIABLE, raising=False)
    preload((tmp_path,))
    assert os.environ[WORKSPACE_VARIABLE] == WORKSPACE
    monkeypatch.setenv(WORKSPACE_VARIABLE, ":16:8")
    preload((tmp_path,))
    assert os.environ[WORKSPACE_VARIABLE] == ":16:8"


def test_nothing_there_is_no_error(tmp_path):
    assert preload((tmp_path,)) == ()


def test_a_chosen_runtime_is_the_only_one(tmp_path):
    chosen, packaged = tmp_path / "libchosen.so", tmp_path / "libcudart.so.13"
    for library in (chosen, packaged):
        compile_library(library, "int surplus_runtime(void) { return 1; }")
    assert preload((tmp_path,), runtime=str(chosen)) == (chosen,)
    assert preload((tmp_path,)) == (packaged,)
