"""Programs of a few lines, as users write them first."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tests.as_it_comes import models
from tests.as_it_comes.house import House, said

ASKS = f"""
import sys
import numpy as np
import surplus

x = np.ones(({models.ROWS}, {models.WIDTH}), np.float32)

def rows(answer):
    return [round(float(row.sum()), 3) for row in answer]
"""

LOAD = (
    ASKS
    + """
model = surplus.load(sys.argv[1])
for _ in range(50):
    outputs = model.run({"x": x})
future = model.submit({"x": x})
assert rows(future.result(timeout=60)["y"]) == rows(outputs["y"])
print(rows(outputs["y"]))
"""
)

SESSION = (
    ASKS
    + """
import os
session = surplus.InferenceSession(sys.argv[1])
print(rows(session.run(None, {"x": x})[0]))
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("no child")
"""
)

FORK = (
    ASKS
    + """
import os
model = surplus.load(sys.argv[1])
print(rows(model.run({"x": x})["y"]), flush=True)
child = os.fork()
if child == 0:
    own = surplus.load(sys.argv[1])
    print(rows(own.run({"x": x})["y"]), flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
print(rows(model.run({"x": x})["y"]), flush=True)
"""
)

KERNEL = (
    ASKS
    + """
import asyncio, threading

loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()

async def first_cell():
    global model
    model = surplus.load(sys.argv[1])
    return rows(model.run({"x": x})["y"])

async def second_cell():
    answers = await asyncio.gather(*(model.infer({"x": x}) for _ in range(8)))
    return [rows(answer["y"]) for answer in answers]

def cell(coroutine):
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result(100)

print(cell(first_cell()))
for answer in cell(second_cell()):
    print(answer)
"""
)

LEARNT = (
    ASKS
    + """
import time

def bits():
    return model.run({"x": x})["y"].tobytes().hex()

x[:] = np.random.default_rng(0).standard_normal(x.shape)
model = surplus.load(sys.argv[1])
print(bits())
until_s = time.monotonic() + float(sys.argv[2])
while "not measured yet" in repr(model) and time.monotonic() < until_s:
    time.sleep(0.1)
print(bits())
"""
)
"""Asks before and after what measures in the background is through, or busy for too long."""

COMPUTES = "print('computes', flush=True)\nwhile True:\n    pass\n"

ADOPTED = """
import sys
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1])
x = np.ones((4, 64), np.float32)
print("surplus.engine" in sys.modules)
print([round(float(row.sum()), 3) for row in session.run(None, {"x": x})[0]])
"""

STORED = """
import sys
import numpy as np
import surplus

model = surplus.load(sys.argv[1])
query = dict(np.load(sys.argv[2]))
for _ in range(3):
    answer = model.run(query)
np.savez(sys.argv[3], **answer)
"""


def numbers(text: str) -> list[list[float]]:
    """The lists that it printed."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("[")]


def close(found: list[list[float]], want: list[float], count: int) -> bool:
    """Whether so many answers came and all are right."""
    return len(found) == count and np.allclose(found, [want] * count, rtol=1e-4, atol=1e-2)


def test_a_model_is_loaded_and_asked(house: House, model: Path, want: list[float]) -> None:
    assert close(numbers(said(house.program(LOAD, model))), want, 1)


def test_a_session_in_place_of_onnxruntimes(house: House, model: Path, want: list[float]) -> None:
    out = said(house.program(SESSION, model))
    assert close(numbers(out), want, 1)
    assert out.splitlines()[-1] == "no child"


def test_two_programs_at_once(house: House, model: Path, want: list[float]) -> None:
    """Both know nothing of the model, and learn it at the same time."""
    for _ in range(2):
        both = [house.program(LOAD, model) for _ in range(2)]
        for out in [said(process) for process in both]:
            assert close(numbers(out), want, 1)


def test_a_fork(house: House, model: Path, want: list[float]) -> None:
    assert close(numbers(said(house.program(FORK, model))), want, 3)


def test_a_notebooks_kernel(house: House, model: Path, want: list[float]) -> None:
    """Cells run in an event loop that goes on between them, and may await answers."""
    assert close(numbers(said(house.program(KERNEL, model))), want, 9)


def test_a_model_that_is_loaded_while_another_process_computes(
    house: House, model: Path, want: list[float]
) -> None:
    others = [house.program(COMPUTES) for _ in range(2)]
    try:
        for other in others:
            assert other.stdout is not None
            assert other.stdout.readline() == "computes\n"
        assert close(numbers(said(house.program(LOAD, model))), want, 1)
    finally:
        for other in others:
            other.kill()
            other.communicate()


def test_what_is_learnt_in_the_background_has_the_same_bits(house: House, model: Path) -> None:
    bits = [
        line for wait_s in (20, 0) for line in said(house.program(LEARNT, model, wait_s)).split()
    ]
    assert len(bits) == 4
    assert len(set(bits)) == 1


def test_an_adopted_program(house: House, model: Path, want: list[float]) -> None:
    (house.folder / "app.py").write_text(ADOPTED)
    out = house.run("engine", "adopt", "--", "python", "app.py", model)
    assert close(numbers(out), want, 1)
    assert out.splitlines()[0] == "True"


@pytest.mark.parametrize("tuned", [False, True], ids=["run", "tuned"])
def test_a_stored_plan_is_right_on_whole_numbers_and_nan(house: House, tuned: bool) -> None:
    """``engine run`` measures and stores a plan, of whatever kernels; then it is used."""
    path, query = models.hashed(house.folder / "hashed.onnx"), models.adversarial()
    np.savez(house.folder / "query.npz", **query)
    house.run("engine", "run", path)
    if tuned:
        house.run("engine", "tune", path, "--time", "3")
    assert re.search(r"hashed", house.run("engine", "plans", path))
    said(house.program(STORED, path, house.folder / "query.npz", house.folder / "answer.npz"))
    session = onnxruntime.InferenceSession(path)
    right = dict(
        zip((o.name for o in session.get_outputs()), session.run(None, query), strict=True)
    )
    with np.load(house.folder / "answer.npz") as answer:
        assert set(answer) == set(right)
        for name in ("same", "total"):
            np.testing.assert_array_equal(answer[name], right[name], name)
        for name in ("clicks", "y"):
            np.testing.assert_allclose(answer[name], right[name], rtol=1e-4, atol=1e-4)
