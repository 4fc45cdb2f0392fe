// What a server says of its load with an answer, to who asks for that: a balancer, say.
#pragma once

#include <cstdint>
#include <string>

#include "frontend/load_headers.hpp"
#include "scheduler/machine.hpp"

namespace engine::frontend {

/// The last report of a machine, made anew when it is older than a fifth of a millisecond: to count
/// what waits costs more than an answer where much does. One thread at a time.
class LoadReport {
 public:
  /// "TEXT named_metrics.wait_ns=N": how long a new query would wait there for a lane.
  [[nodiscard]] const std::string& of(Machine& machine, std::int64_t now_ns) {
    constexpr std::int64_t fresh_ns = 200'000;
    if (machine_ == &machine && now_ns - made_ns_ < fresh_ns) return text_;
    machine_ = &machine;
    made_ns_ = now_ns;
    text_ = load_format;
    text_ += " named_metrics.wait_ns=";
    text_ += std::to_string(machine.admission().wait_ns(now_ns));
    return text_;
  }

 private:
  const Machine* machine_ = nullptr;  ///< not used but to compare
  std::int64_t made_ns_ = 0;
  std::string text_;
};

}  // namespace engine::frontend
