// Segments for the tests of compiled kernels, over int64 tensors.
#include <cstddef>
#include <cstdint>

#include "../../include/surplus_segment.h"

namespace {

const char* same_shape(const SurplusTensor* inputs, SurplusTensor* outputs, std::size_t* bytes) {
  outputs[0] = inputs[0];
  *bytes = 8;
  return inputs[0].elem_type == 7 ? nullptr : "wants int64";
}

std::int64_t count_of(const SurplusTensor& tensor) {
  std::int64_t count = 1;
  for (std::int32_t i = 0; i < tensor.rank; ++i) count *= tensor.dims[i];
  return count;
}

/// 1000 times the lanes plus the first numbers of both inputs, by way of the workspace.
const char* add(const SurplusRun* run, const SurplusTensor* inputs, const SurplusTensor* outputs) {
  auto* sum = static_cast<std::int64_t*>(run->workspace);
  *sum = 1000 * run->lanes;
  for (int i = 0; i < 2; ++i)
    if (count_of(inputs[i]) > 0) *sum += *static_cast<const std::int64_t*>(inputs[i].data);
  auto* written = static_cast<std::int64_t*>(outputs[0].data);
  for (std::int64_t i = 0; i < count_of(outputs[0]); ++i) written[i] = *sum;
  return nullptr;
}

/// Fails for 0; waits to be cancelled for 1.
const char* fail_or_wait(const SurplusRun* run, const SurplusTensor* inputs, const SurplusTensor*) {
  if (*static_cast<const std::int64_t*>(inputs[0].data) == 0) return "got a zero";
  while (run->is_cancelled(run) == 0) {
  }
  return "was cancelled";
}

/// Describes outputs as wrong as its input says.
const char* wrong_shape(const SurplusTensor* inputs, SurplusTensor* outputs, std::size_t*) {
  outputs[0] = inputs[0];
  switch (inputs[0].dims[0]) {
    case 1:
      outputs[0].rank = SURPLUS_MAX_RANK + 1;
      break;
    case 2:
      outputs[0].dims[0] = -1;
      break;
    case 3:
      outputs[0].elem_type = 8;
      break;
    default:
      outputs[0].dims[0] += 1;
  }
  return nullptr;
}

}  // namespace

extern "C" {

extern const SurplusSegment two_inputs, one_input, wrong, newer, empty, no_outputs;
const SurplusSegment two_inputs{SURPLUS_SEGMENT_ABI, 2, 1, same_shape, add};
const SurplusSegment one_input{SURPLUS_SEGMENT_ABI, 1, 1, same_shape, fail_or_wait};
const SurplusSegment wrong{SURPLUS_SEGMENT_ABI, 1, 1, wrong_shape, fail_or_wait};
const SurplusSegment newer{SURPLUS_SEGMENT_ABI + 1, 1, 1, same_shape, add};
const SurplusSegment empty{SURPLUS_SEGMENT_ABI, 1, 1, same_shape, nullptr};
const SurplusSegment no_outputs{SURPLUS_SEGMENT_ABI, 1, 0, same_shape, add};
}
