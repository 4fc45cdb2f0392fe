"""What a plan becomes in the core, where the model is unusual."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.runtime.runtime_models import model_of, read_text

DEAD = "dead (float[n] x) => (float[n] x) { a = Neg(x)  b = Abs(a) }"


@pytest.mark.parametrize("whole", [True, False])
def test_a_model_whose_nodes_make_no_output(whole: bool, tmp_path: Path) -> None:
    model = model_of(read_text(DEAD, tmp_path), whole=whole)
    assert model.run({"x": np.arange(3, dtype=np.float32)})["x"].tolist() == [0, 1, 2]
