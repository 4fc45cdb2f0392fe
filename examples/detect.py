"""Send a JPEG to a served detector and draw what it finds.

The detector takes 3 x H x W float32, BGR minus the mean of its training images, and answers
boxes (n, 4) in pixels of that input, labels (n,) and scores (n,). Its names and sizes are
asked from the server.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.grpc as triton
from PIL import Image, ImageDraw
from tritonclient.utils import InferenceServerException

MEAN_BGR = np.array([102.9801, 115.9465, 122.7717], np.float32)
SHORT_SIDE, STRIDE = 800, 32
COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#f032e6")


def input_size(shape: list[int], image: Image.Image) -> tuple[int, int]:
    """Width and height for a model input ``(3, H, W)``; open sides get multiples of 32."""
    if len(shape) != 3 or shape[0] not in (3, -1):
        raise SystemExit(f"detect: the model's input is {shape}, not 3 x H x W")
    scale = SHORT_SIDE / min(image.size)
    width, height = (round(side * scale / STRIDE) * STRIDE for side in image.size)
    return (shape[2] if shape[2] > 0 else width, shape[1] if shape[1] > 0 else height)


def to_input(image: Image.Image, size: tuple[int, int]) -> np.ndarray:
    """Resize and convert to float32 ``(3, H, W)``, BGR minus the mean."""
    rgb = np.asarray(image.resize(size, Image.Resampling.BILINEAR), np.float32)
    return np.ascontiguousarray((rgb[..., ::-1] - MEAN_BGR).transpose(2, 0, 1))


def output_names(metadata: Any) -> list[str]:
    """The model's names of boxes, labels and scores, or else its first three outputs."""
    names = [tensor.name for tensor in metadata.outputs]
    wanted = ["boxes", "labels", "scores"]
    if len(names) < 3:
        raise SystemExit(f"detect: the model's outputs are {names}, not boxes, labels, scores")
    return wanted if set(wanted) <= set(names) else names[:3]


def draw(image: Image.Image, found: list[np.ndarray], threshold: float, scale: np.ndarray) -> int:
    """Draw boxes that score at least ``threshold``; returns how many."""
    pen = ImageDraw.Draw(image)
    boxes, labels, scores = found
    kept = np.flatnonzero(scores >= threshold)
    for row in kept[::-1]:
        x1, y1, x2, y2 = (float(side) for side in boxes[row] * scale)
        colour = COLOURS[int(labels[row]) % len(COLOURS)]
        pen.rectangle((min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)), outline=colour, width=2)
        pen.text((x1 + 3, y1 + 1), f"{int(labels[row])}: {scores[row]:.2f}", fill=colour)
    return len(kept)


def detect(arguments: argparse.Namespace) -> None:
    """Ask the server, draw, save."""
    client = triton.InferenceServerClient(arguments.url)
    metadata = client.get_model_metadata(arguments.model)
    image = Image.open(arguments.image).convert("RGB")
    size = input_size(list(metadata.inputs[0].shape), image)
    array = to_input(image, size)
    tensor = triton.InferInput(metadata.inputs[0].name, array.shape, "FP32")
    tensor.set_data_from_numpy(array)
    answer = client.infer(arguments.model, [tensor], client_timeout=arguments.timeout)
    found = [np.asarray(answer.as_numpy(name)) for name in output_names(metadata)]
    scale = np.tile(np.array(image.size) / size, 2)
    count = draw(image, found, arguments.threshold, scale)
    image.save(arguments.output)
    print(f"{count} of {len(found[2])} detections score {arguments.threshold} or more")
    print(f"drawn into {arguments.output}")


def main() -> int:
    """Parse the command line and detect; errors are one line."""
    parser = argparse.ArgumentParser(description="Send a JPEG to a served detector.")
    parser.add_argument("image", nargs="?", type=Path, default=Path(__file__).parent / "image.jpg")
    parser.add_argument("--url", default="127.0.0.1:8001", help="gRPC address (%(default)s)")
    parser.add_argument("--model", default="faster_rcnn", help="served model (%(default)s)")
    parser.add_argument("--threshold", type=float, default=0.3, help="least score (%(default)s)")
    parser.add_argument("--timeout", type=float, default=60.0, help="in seconds (%(default)s)")
    parser.add_argument("--output", type=Path, default=Path("out.png"), help="(%(default)s)")
    try:
        detect(parser.parse_args())
    except (InferenceServerException, OSError) as error:
        print(f"detect: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
