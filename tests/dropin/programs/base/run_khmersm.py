"""Khmersm parts Khmer text into words: a model whose weights lie beside it."""

from __future__ import annotations

import json

from khmersm import segment

texts = ["ខ្ញុំស្រឡាញ់ប្រទេសកម្ពុជា", "ភាសាខ្មែរ គឺជាភាសាផ្លូវការ", "សួស្ដី"]
print(json.dumps([segment(text) for text in texts]))
