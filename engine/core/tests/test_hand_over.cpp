#include "frontend/hand_over.hpp"
#include "test.hpp"

namespace hand_over_tests {

using engine::frontend::HandOver;

TEST(runs_that_compute_for_long_are_handed_over_for_a_while) {
  constexpr std::int64_t long_ns = HandOver::too_long_ns + 1, start_ns = 5;
  HandOver hand_over;
  hand_over.note(start_ns, HandOver::too_long_ns, HandOver::too_long_ns);
  CHECK(!hand_over.is_on(start_ns) && !hand_over.is_watching(start_ns));
  hand_over.note(start_ns, long_ns, 0);  // nobody knows why
  CHECK(!hand_over.is_on(start_ns) && hand_over.is_watching(start_ns));
  hand_over.note(start_ns, long_ns, 1000);  // the core was somebody else's
  CHECK(!hand_over.is_on(start_ns) && hand_over.is_watching(start_ns));
  hand_over.note(start_ns, long_ns, long_ns);
  CHECK(hand_over.is_on(start_ns) && hand_over.is_on(start_ns + HandOver::while_ns - 1));
  CHECK(!hand_over.is_on(start_ns + HandOver::while_ns));
  CHECK(!hand_over.is_watching(start_ns + HandOver::while_ns));
}

}  // namespace hand_over_tests
