"""A model that sums what a sequence gives it, and says what it was told of the query."""

from __future__ import annotations

import onnx

MODEL = """
<ir_version: 8, opset_import: ["" : 13]>
sums (float[N, 2] x, float[N, 2] before, float[N, 1] start, int64[N, 1] id)
  => (float[N, 2] total, float[N, 2] after, int64[N, 1] seen, float[N, 1] began)
{
  after = Add(before, x)
  total = Identity(after)
  seen = Identity(id)
  began = Identity(start)
}
"""

CONFIG = """
max_batch_size: 8
sequence_batching {
  max_sequence_idle_microseconds: 3600000000
  direct { }
  control_input [
    { name: "start" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } ] },
    { name: "id" control [ { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT64 } ] }
  ]
  state [
    {
      input_name: "before"
      output_name: "after"
      data_type: TYPE_FP32
      dims: [ 2 ]
      initial_state: { name: "tens" data_type: TYPE_FP32 dims: [ 2 ] data_file: "tens" }
    }
  ]
}
"""

TENS = b"\0\0\x20\x41" * 2
"""10.0, twice."""


def repository(root, config=CONFIG):
    """One with the model; returns the model's folder."""
    folder = root / "sums"
    (folder / "1").mkdir(parents=True)
    onnx.save(onnx.parser.parse_model(MODEL), folder / "1" / "model.onnx")
    (folder / "initial_state").mkdir()
    (folder / "initial_state" / "tens").write_bytes(TENS)
    (folder / "config.pbtxt").write_text(config)
    return folder
