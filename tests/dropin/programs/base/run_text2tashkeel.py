"""Text2tashkeel writes the vowels of Arabic text: models quantised to eight bits."""

from __future__ import annotations

import json

from text2tashkeel import Diacritizer

texts = ["بسم الله الرحمن الرحيم", "الحمد لله رب العالمين", "ذهب الولد الى المدرسة"]
for name in ("rawi-v2-int8", "rawi-ensemble"):
    diacritizer = Diacritizer(name)
    print(json.dumps([diacritizer.diacritize(text) for text in texts]))
