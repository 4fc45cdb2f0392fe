"""Models load side by side, and what goes wrong with one is that one's."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from surplus.engine.errors import UnavailableError
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.repository.layout import find_models
from surplus.engine.serving.loads import Loads
from tests.isolation.served import write_model


def test_an_unexpected_error_is_the_models_own(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_model(tmp_path, "negated")
    entries = find_models(tmp_path)

    def load(*_: object) -> NoReturn:
        raise AttributeError("nobody\nexpects it")

    with (
        Loads(entries, {"negated": LoadParams()}, load=load) as futures,
        pytest.raises(UnavailableError, match="internal error: AttributeError: nobody expec"),
    ):
        futures[0].result()
    assert "negated: internal error" in caplog.text
    assert "in load" in caplog.text, "where it came from is in the log"
