"""Names of the files of a stored graph."""

from __future__ import annotations

MODEL_FILE = "model.onnx"
"""The basic-optimised form, which plans are cut from."""

RUNNABLE_FILE = "runnable.onnx"
"""The same where inputs have defaults, but without these: such inputs must be fed."""

WEIGHTS_FILE = "weights.bin"

GIVEN_FILE, GIVEN_WEIGHTS_FILE = "given.onnx", "given.bin"
"""The model as it came (given_form.py), and those of its constants that are not in the other."""

HASHES_FOLDER = "hashes"
"""In the cache: what is remembered of users' files; not there before the first one was read."""
