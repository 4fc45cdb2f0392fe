"""Silero-vad hears speech in sound: a model with a state that comes back with each query."""

from __future__ import annotations

import json

import torch
from silero_vad import get_speech_timestamps, load_silero_vad

torch.manual_seed(0)
time_s = torch.arange(16_000 * 4) / 16_000
sound = torch.sin(2 * torch.pi * 220 * time_s) * (time_s % 1 > 0.5) + torch.randn(time_s.shape) / 50
model = load_silero_vad(onnx=True)
for begin in range(0, sound.numel() - 512, 512):
    print(json.dumps(float(model(sound[begin : begin + 512], 16_000))))
print(json.dumps(get_speech_timestamps(sound, model, threshold=0.1)))
