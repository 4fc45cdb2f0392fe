"""Magika says of what type files are: one model, opened from a path, queried in batches."""

from __future__ import annotations

import json
from pathlib import Path

from magika import Magika

magika = Magika()
texts = [
    b"import sys\n\ndef main() -> int:\n    return len(sys.argv)\n" * 20,
    b'{"a": [1, 2, 3], "b": {"c": null}}' * 30,
    b"#include <stdio.h>\nint main(void) { return 0; }\n" * 20,
    b"<html><body><p>words</p></body></html>" * 20,
    bytes(range(256)) * 8,
]
found = [magika.identify_bytes(text) for text in texts]
found.append(magika.identify_path(Path(__file__)))
print(json.dumps([[str(each.output.label), each.score] for each in found]))
