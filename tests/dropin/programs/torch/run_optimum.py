"""Optimum runs an exported transformer out of a folder of its own, with bindings and without.

The folder is made of random weights; ``model.onnx`` lies in it as ``optimum-cli`` writes it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from optimum.onnxruntime import ORTModelForFeatureExtraction, ORTModelForSequenceClassification
from transformers import DistilBertConfig, DistilBertForSequenceClassification

torch.manual_seed(0)
config = DistilBertConfig(
    n_layers=2, dim=64, n_heads=4, hidden_dim=128, vocab_size=500, attn_implementation="eager"
)
classifier = DistilBertForSequenceClassification(config).eval()


class Plain(torch.nn.Module):
    """With tensors in and out."""

    def __init__(self, answers: str) -> None:
        super().__init__()
        self.part = classifier if answers == "logits" else classifier.distilbert
        self.answers = answers

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return self.part(input_ids=input_ids, attention_mask=attention_mask)[self.answers]


def exported(folder: str, answers: str) -> str:
    ids = torch.randint(0, 500, (2, 9))
    names, axes = ["input_ids", "attention_mask"], {0: "batch", 1: "time"}
    of_rows = answers == "logits"
    torch.onnx.export(
        Plain(answers),
        (ids, torch.ones_like(ids)),
        str(Path(folder) / "model.onnx"),
        input_names=names,
        output_names=[answers],
        dynamic_axes={**dict.fromkeys(names, axes), answers: {0: "batch"} if of_rows else axes},
        dynamo=False,
        opset_version=17,
    )
    config.save_pretrained(folder)
    return folder


for of, answers in (
    (ORTModelForSequenceClassification, "logits"),
    (ORTModelForFeatureExtraction, "last_hidden_state"),
):
    with TemporaryDirectory() as folder:
        exported(folder, answers)
        for binds in (False, True):
            model = of.from_pretrained(folder, use_io_binding=binds, local_files_only=True)
            for time in (9, 5):
                ids = torch.arange(2 * time).reshape(2, time) % 500
                found = model(input_ids=ids, attention_mask=torch.ones_like(ids))[answers]
                print(json.dumps([model.providers, found.double().sum().item(), list(found.shape)]))
