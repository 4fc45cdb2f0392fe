"""Models, a profile and a placement, made once a session by the command itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surplus import models
from surplus.engine.cli.main import main
from tests.cli.calls import DEVICES, Command

BUILT = {"lenet": {}, "fork_join": {"branches": 4, "depth": 3, "size": 64}}


@pytest.fixture(scope="session")
def cli_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    for name, parameters in BUILT.items():
        path = models.save(models.build(name, **parameters), folder / f"{name}.onnx")
        np.savez(path.with_suffix(".npz"), **models.example_inputs(name, **parameters))
        shared = [str(path), "--cache", str(folder / "cache")]
        profile, placement = str(folder / f"{name}-P.json"), str(folder / f"{name}-F.json")
        assert main(["profile", *shared, "--devices", DEVICES, "-o", profile]) == 0
        assert main(["place", *shared, "--profile", profile, "-o", placement]) == 0
    return folder


@pytest.fixture
def engine(cli_folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(cli_folder, capsys)
