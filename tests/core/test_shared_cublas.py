"""Sessions of one lane share a cuBLAS handle, through a library that stands in front of cuBLAS."""

import shutil
import subprocess
import sys

import pytest

from surplus.engine.cuda_libraries import SHARED_CUBLAS

CUBLAS = """
static char made[64];
static int count, ended, code;
int cublasCreate_v2(void** handle) { if (code) return code; *handle = &made[count++]; return 0; }
int cublasDestroy_v2(void* handle) { (void)handle; ++ended; return 0; }
int alive(void) { return count - ended; }
void refuse(int with) { code = with; }
"""
PROVIDER = """
int cublasCreate_v2(void** handle);
int cublasDestroy_v2(void* handle);
void* create(void) { void* handle = 0; return cublasCreate_v2(&handle) ? 0 : handle; }
int destroy(void* handle) { return cublasDestroy_v2(handle); }
"""
SCRIPT = """
import ctypes, sys
from pathlib import Path
front, folder = sys.argv[1], Path(sys.argv[2])
first = ctypes.CDLL(front, mode=ctypes.RTLD_GLOBAL) if "first" in sys.argv else None
cublas = ctypes.CDLL(str(folder / "libcublas.so.13"), mode=ctypes.RTLD_GLOBAL)
front = first or ctypes.CDLL(front, mode=ctypes.RTLD_GLOBAL)
provider = ctypes.CDLL(str(folder / "libprovider.so"))
provider.create.restype = ctypes.c_void_p
def destroy(handle): assert provider.destroy(ctypes.c_void_p(handle)) == 0
def share(stream): front.surplus_cublas_share(ctypes.c_void_p(stream))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """cuBLAS with symbols of its version, as NVIDIA's, and a library that is linked to it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    made = tmp_path_factory.mktemp("cublas")
    versions, name = made / "versions", "libcublas.so.13"
    versions.write_text(f"{name} {{ *; }};\n")
    flags = ["-shared", "-fPIC", "-x", "c", "-"]
    options = [f"-Wl,-soname,{name}", f"-Wl,--version-script,{versions}", "-o", str(made / name)]
    subprocess.run([compiler, *flags, *options], input=CUBLAS, text=True, check=True)
    linked = ["-x", "none", str(made / name), "-o", str(made / "libprovider.so")]
    subprocess.run([compiler, *flags, *linked], input=PROVIDER, text=True, check=True)
    return made


def run(folder, script, *words):
    command = [sys.executable, "-c", SCRIPT + script, str(SHARED_CUBLAS), str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_handles_for_one_stream_are_one_and_end_with_the_last(folder):
    script = """
assert front.surplus_cublas_is_first() == 1
share(0x10)
one, same = provider.create(), provider.create()
share(0x20)
other = provider.create()
share(0)
assert one == same != other and cublas.alive() == 2
destroy(one)
assert cublas.alive() == 2
destroy(same)
destroy(other)
assert cublas.alive() == 0
share(0x10)
assert provider.create() != one and cublas.alive() == 1
"""
    run(folder, script, "first")


def test_whoever_names_no_stream_has_a_handle_of_its_own(folder):
    script = """
handles = {provider.create() for _ in range(3)}
assert len(handles) == 3 == cublas.alive()
for handle in handles: destroy(handle)
assert cublas.alive() == 0
"""
    run(folder, script, "first")


def test_a_stream_at_the_address_of_one_that_is_gone_has_a_new_handle(folder):
    script = """
share(0x10)
kept = provider.create()
front.surplus_cublas_forget(ctypes.c_void_p(0x10))
assert provider.create() != kept and cublas.alive() == 2
destroy(kept)
assert cublas.alive() == 1
"""
    run(folder, script, "first")


def test_a_handle_that_cublas_refuses_is_nobodys(folder):
    script = """
share(0x10)
cublas.refuse(3)
assert provider.create() is None
cublas.refuse(0)
assert provider.create() is not None and cublas.alive() == 1
"""
    run(folder, script, "first")


def test_behind_another_cublas_it_says_so(folder):
    script = """
assert front.surplus_cublas_is_first() == 0
share(0x10)
assert provider.create() != provider.create()
"""
    run(folder, script)
