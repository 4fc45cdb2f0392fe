"""Modules to convert; only imported where torch is installed."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers = [nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)]
        self.body = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64, 5), nn.Dropout())

    def forward(self, image: Any) -> Any:
        print("the module prints")
        return {"logits": self.body(image), "mean": image.mean((2, 3))}


class Tagger(nn.Module):
    """A transformer layer, and two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, tokens: Any, mask: Any) -> Any:
        return self.layer(self.table(tokens)) * mask.unsqueeze(-1)


class Recurrent(nn.Module):
    """Dynamo's file answers for the example's length only."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.lstm(x)[0]


class Decides(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return x * 2
        return -x


class Eigen(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.linalg.eigvalsh(x @ x.T)


def scripted() -> Any:
    with warnings.catch_warnings(action="ignore"):
        return torch.jit.script(Decides())


linear = nn.Linear(4, 2)
