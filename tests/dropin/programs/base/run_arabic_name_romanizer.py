"""Arabic-name-romanizer writes names in Latin letters: an encoder and a decoder."""

from __future__ import annotations

import json

from arabic_name_romanizer import transliterate, transliterate_many

names = ["زغلولان", "قشطبوري", "محمد الفنجري", "عبد المتجلي"]
print(json.dumps([transliterate(name) for name in names], default=str))
print(json.dumps(transliterate_many(names), default=str))
