// Whether queries of several models that are due share the cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace engine {

/// Who was asked lately, of the models of this process, and whether models of others were.
/// Thread-safe: all of it is a hint, and what threads overwrite is one query fewer.
class AskedModels {
 public:
  /// Queries of others count for that long.
  static constexpr std::int64_t usual_ns = 1'000'000'000;

  explicit AskedModels(std::int64_t lately_ns = usual_ns) : lately_ns_(lately_ns) {}

  /// Cores are the process's, whatever machine of it a model runs on.
  [[nodiscard]] static AskedModels& of_process() {
    static AskedModels instance;
    return instance;
  }

  /// A query of `who`, any number that tells models apart, came; whether one of another came
  /// lately. `elsewhere_ns`: when one came to another process (Broker::asked_elsewhere).
  bool asked(std::uintptr_t who, std::int64_t now_ns, std::int64_t elsewhere_ns) noexcept {
    // relaxed, all of this class: hints
    const std::int64_t before_ns = last_ns_.exchange(now_ns, std::memory_order_relaxed);
    if (last_.load(std::memory_order_relaxed) != who) {
      last_.store(who, std::memory_order_relaxed);
      other_ns_.store(before_ns, std::memory_order_relaxed);
    }
    has_processes_.store(elsewhere_ns != 0, std::memory_order_relaxed);
    const std::int64_t others_ns =
        std::max(other_ns_.load(std::memory_order_relaxed), elsewhere_ns);
    return now_ns - others_ns < lately_ns_;
  }
  /// Whether other processes came, or went, since take_news().
  [[nodiscard]] bool has_news() const noexcept {
    return has_processes_.load(std::memory_order_relaxed) != known_.load(std::memory_order_relaxed);
  }
  /// Whether other processes came since the last call.
  bool take_news() noexcept {
    const bool are_there = has_processes_.load(std::memory_order_relaxed);
    const bool was_known = known_.exchange(are_there, std::memory_order_relaxed);
    return are_there && !was_known;
  }

 private:
  std::atomic<std::uintptr_t> last_{0};
  const std::int64_t lately_ns_;
  std::atomic<std::int64_t> last_ns_{-usual_ns}, other_ns_{-usual_ns};
  std::atomic<bool> has_processes_{false}, known_{false};
};

}  // namespace engine
