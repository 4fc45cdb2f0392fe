// What is remembered of a plan's runs, for as long as records of them may be read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/flight_ring.hpp"
#include "scheduler/run_order.hpp"

namespace engine {

/// A run that has ended: arrival, begun, due (0: not), end, outcome.
using RunRing = FlightRing<5>;

/// What records leave out of a node that they name.
struct FlownNode {
  std::string name;
  std::vector<std::uint32_t> after;  ///< nodes that it waits for
  std::int64_t service_ns = 0;
  std::uint32_t executor = 0;
  std::uint16_t width = 1;
  bool is_copy = false;
};

/// Of one plan, which it outlives (FlightRecorder). Thread-safe.
class FlownPlan {
 public:
  /// 49 kB, with the first run that is recorded.
  static constexpr std::size_t run_records = 1024;

  explicit FlownPlan(std::uint32_t number) : number_(number) {}

  /// Unique in the process, by which records name the plan.
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  /// What people know its model by.
  [[nodiscard]] std::string label() const {
    const std::lock_guard lock(mutex_);
    return label_;
  }
  /// `serves`: whether its runs are queries; else they are measurements, which do not count.
  void be_called(std::string label, bool serves) {
    serves_.store(serves, std::memory_order_relaxed);  // relaxed: for runs from now on
    const std::lock_guard lock(mutex_);
    label_ = std::move(label);
  }
  [[nodiscard]] const RunRing& runs() const noexcept { return runs_; }
  /// How many of those that were recorded came late.
  [[nodiscard]] std::uint64_t late() const noexcept {
    return late_.load(std::memory_order_relaxed);  // relaxed: a statistic
  }
  void add(const RunRing::Record& run, bool is_late) noexcept {
    if (!serves_.load(std::memory_order_relaxed)) return;  // relaxed: as above
    runs_.write(run);
    if (is_late) late_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  }

 private:
  const std::uint32_t number_;
  RunRing runs_{run_records};
  std::atomic<std::uint64_t> late_{0};
  std::atomic<bool> serves_{true};
  mutable std::mutex mutex_;  // guards label_
  std::string label_;
};

/// A plan that is no more.
struct GonePlan {
  std::shared_ptr<const FlownPlan> flown;
  Urgency urgency;
  std::vector<FlownNode> nodes;
};

}  // namespace engine
