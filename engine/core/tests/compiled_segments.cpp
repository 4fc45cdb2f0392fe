// Segments for the tests of compiled kernels, over int64 tensors.
#include <atomic>
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

/// How often it ran, and what it was made with.
struct Counter {
  std::int64_t runs = 0;
  std::int64_t constant = 0;
  std::atomic_flag in_use = {};
};

std::atomic<int> states{0};

const char* make_counter(std::int32_t, const SurplusTensor* constants, std::int32_t count,
                         void** state) {
  if (count != 1) return "wants a constant";
  *state = new Counter{.constant = *static_cast<const std::int64_t*>(constants[0].data)};
  states.fetch_add(1);
  return nullptr;
}

void end_counter(void* state) {
  delete static_cast<Counter*>(state);
  states.fetch_sub(1);
}

/// Its constant, if nobody else has the state.
const char* read_counter(const SurplusRun* run, const SurplusTensor*,
                         const SurplusTensor* outputs) {
  auto* counter = static_cast<Counter*>(run->state);
  if (counter->in_use.test_and_set()) return "another run has the state";
  ++counter->runs;
  auto* written = static_cast<std::int64_t*>(outputs[0].data);
  for (std::int64_t i = 0; i < count_of(outputs[0]); ++i) written[i] = counter->constant;
  counter->in_use.clear();
  return nullptr;
}

/// As a library of version 1 has it.
struct FirstSegment {
  std::int32_t abi, inputs, outputs;
  decltype(SurplusSegment::shapes) shapes;
  decltype(SurplusSegment::run) run;
};

}  // namespace

extern "C" {

extern const FirstSegment of_version_1;
const FirstSegment of_version_1{1, 2, 1, same_shape, add};
extern const SurplusSegment counting, half, cut_off;
const SurplusSegment counting{
    SURPLUS_SEGMENT_ABI, 2,          1, same_shape, read_counter, sizeof(SurplusSegment),
    make_counter,        end_counter};
const SurplusSegment half{SURPLUS_SEGMENT_ABI, 1,      1, same_shape, add, sizeof(SurplusSegment),
                          make_counter,        nullptr};
const SurplusSegment cut_off{SURPLUS_SEGMENT_ABI, 1, 1, same_shape, add, 8, nullptr, nullptr};
int states_alive() { return states.load(); }

extern const SurplusSegment two_inputs, one_input, wrong, newer, empty, no_outputs;
const SurplusSegment two_inputs{SURPLUS_SEGMENT_ABI,    2,       1,      same_shape, add,
                                sizeof(SurplusSegment), nullptr, nullptr};
const SurplusSegment one_input{SURPLUS_SEGMENT_ABI,    1,       1,      same_shape, fail_or_wait,
                               sizeof(SurplusSegment), nullptr, nullptr};
const SurplusSegment wrong{SURPLUS_SEGMENT_ABI,    1,       1,      wrong_shape, fail_or_wait,
                           sizeof(SurplusSegment), nullptr, nullptr};
const SurplusSegment newer{SURPLUS_SEGMENT_ABI + 1, 1,       1,      same_shape, add,
                           sizeof(SurplusSegment),  nullptr, nullptr};
const SurplusSegment empty{SURPLUS_SEGMENT_ABI,    1,       1,      same_shape, nullptr,
                           sizeof(SurplusSegment), nullptr, nullptr};
const SurplusSegment no_outputs{SURPLUS_SEGMENT_ABI,    1,       0,      same_shape, add,
                                sizeof(SurplusSegment), nullptr, nullptr};
}
