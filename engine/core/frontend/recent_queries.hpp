// The last queries that were answered here, to be found again by what their clients call them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/front_model.hpp"

namespace engine::frontend {

/// A query that has ended.
struct SeenQuery {
  std::shared_ptr<const ModelName> model;
  std::string id;            ///< as its client called it; empty if it did not
  std::string trace_parent;  ///< W3C's header; empty without one
  std::uint32_t plan =
      0;  ///< its run, as the machine's recorder names it; 0: another process ran it
  std::uint64_t arrival = 0;
  std::int64_t received_ns = 0, started_ns = 0, ended_ns = 0, answered_ns = 0;
  std::int64_t waited_ns = -1;          ///< for a lane; -1: not known
  std::optional<Trouble> trouble = {};  ///< none: it was answered in time
};

/// Whether a trace parent of W3C says that its trace is recorded.
[[nodiscard]] inline bool is_sampled(std::string_view trace_parent) noexcept {
  constexpr std::size_t whole = 55;  // version, 16 bytes, 8 bytes, flags, and lines between
  if (trace_parent.size() < whole) return false;
  const char flags = trace_parent[whole - 1];
  constexpr std::string_view odd = "13579bdf";
  return odd.find(flags) != odd.npos;
}

/// Remembers the last ones, and those of which somebody is to be told, until they are taken.
/// Thread-safe: a short lock.
class RecentQueries {
 public:
  static constexpr std::size_t most = 1024;

  /// Keep for who takes them: one of so many, 0 none, and those whose trace is recorded where
  /// `follows`.
  void sample(std::uint64_t every, bool follows) {
    const std::lock_guard lock(mutex_);
    every_ = every;
    follows_ = follows;
  }
  void add(SeenQuery query) {
    const std::lock_guard lock(mutex_);
    const bool is_due = every_ != 0 && added_ % every_ == 0;
    if ((is_due || (follows_ && is_sampled(query.trace_parent))) && sampled_.size() < most)
      sampled_.push_back(query);
    if (ring_.size() < most)
      ring_.push_back(std::move(query));
    else
      ring_[added_ % most] = std::move(query);
    ++added_;
  }
  /// The oldest first.
  [[nodiscard]] std::vector<SeenQuery> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<SeenQuery> found = ring_;
    if (found.size() == most)
      std::ranges::rotate(found, found.begin() + static_cast<std::ptrdiff_t>(added_ % most));
    return found;
  }
  /// Those that were kept since the last call.
  [[nodiscard]] std::vector<SeenQuery> take_sampled() {
    const std::lock_guard lock(mutex_);
    return std::exchange(sampled_, {});
  }

 private:
  mutable std::mutex mutex_;  // of all that follows
  std::uint64_t every_ = 0, added_ = 0;
  bool follows_ = false;
  std::vector<SeenQuery> ring_, sampled_;
};

}  // namespace engine::frontend
