// Whether a model's short runs are computed by the thread that received them.
#pragma once

#include <cstdint>

namespace engine::frontend {

/// One that took long made others wait, whatever it was expected to take; so the model's are handed
/// over for a while. Unless somebody else had the core meanwhile, when a lane would have waited,
/// too: after a long one, what the thread itself computes is looked at, which is a system call.
class HandOver {
 public:
  static constexpr std::int64_t too_long_ns = 1'000'000, while_ns = 1'000'000'000;

  [[nodiscard]] bool is_on(std::int64_t now_ns) const noexcept { return now_ns < until_ns_; }
  /// Whether note() is to be told what the thread computed.
  [[nodiscard]] bool is_watching(std::int64_t now_ns) const noexcept {
    return now_ns < watching_until_ns_;
  }
  /// A run has ended that took so long, and of which the thread computed so much, if it was
  /// watched.
  void note(std::int64_t now_ns, std::int64_t took_ns, std::int64_t computed_ns) noexcept {
    if (took_ns <= too_long_ns) return;
    watching_until_ns_ = now_ns + while_ns;
    if (computed_ns > too_long_ns) until_ns_ = now_ns + while_ns;
  }

 private:
  std::int64_t until_ns_ = 0, watching_until_ns_ = 0;
};

}  // namespace engine::frontend
