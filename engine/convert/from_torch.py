"""A torch module by its import name, converted: what ``engine convert`` does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from surplus.engine.convert.converter import Conversion, ConvertParams, convert
from surplus.engine.convert.target import import_path, make_module, split_target
from surplus.engine.convert.torch_library import load_torch
from surplus.engine.convert.torch_source import TorchSource


def convert_target(
    target: str, params: ConvertParams, path: Path, folders: Sequence[Path] = ()
) -> Conversion:
    """Make the module and write it as ONNX.

    Parameters
    ----------
    target : str
        ``package.module:factory``. Torch is seeded with 0 before, so that random weights are the
        same each time.
    folders : sequence of Path
        Where to import from, before the current folder.

    Raises
    ------
    ConfigError
        If the target's form is wrong, or a folder does not exist.
    ConversionError
        In one line: what is missing, fails, has no ONNX form, or differs.
    """
    split_target(target)
    torch = load_torch()
    with import_path(folders):
        torch.manual_seed(0)
        # What the user's code prints must not end up between our JSON.
        with redirect_stdout(sys.stderr):
            module = make_module(target, torch.nn.Module)
        source = TorchSource(torch, module)
        source.check_arguments(params.inputs)
        return convert(source, params, path)
