// Which plan answers a model's next query, for who asks without Python.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "scheduler/plan.hpp"

namespace engine::frontend {

using PlanPtr = std::shared_ptr<const Plan>;

/// Beside the plan of a model, the one for while queries overlap
/// (engine/runtime/throughput_switch.py), and when that is used. What needs more than this (a
/// trial, a device that is lost, a plan that is still to be opened) is not answered here: Python
/// knows.
///
/// Thread-safe: a short lock.
class Route {
 public:
  /// When the plan for overlapping queries is used.
  struct Rule {
    std::uint64_t found = 0;     ///< where a query finds so many in flight
    bool always = false;         ///< for what is best effort
    bool by_neighbours = false;  ///< also while queries of other models come
    std::uintptr_t who = 0;      ///< for which its queries count; 0: for nobody
    bool is_bounded = false;     ///< sizes of inputs alone decide how long a query runs
  };

  /// Leads queries to `plan` from now on, and to those of `busy` in turn, if there are any, by the
  /// rule.
  void lead(PlanPtr plan, std::vector<PlanPtr> busy, const Rule& rule) {
    const std::lock_guard lock(mutex_);
    plan_ = std::move(plan);
    busy_ = std::move(busy);
    rule_ = rule;
  }
  /// Leads none from now on.
  void close() { lead(nullptr, {}, {}); }

  struct Way {
    PlanPtr plan;  ///< null: ask Python
    bool is_bounded = false;
  };

  /// The plan for a query that comes now.
  [[nodiscard]] Way take(std::int64_t now_ns);
  /// Whether a device is lost, or held, of those that queries are led to.
  [[nodiscard]] bool is_in_doubt() const;

 private:
  [[nodiscard]] bool has_trouble() const;
  [[nodiscard]] PlanPtr next_busy();

  mutable std::mutex mutex_;
  PlanPtr plan_;  // guarded by mutex_, as all below
  std::vector<PlanPtr> busy_;
  std::size_t turn_ = 0;
  Rule rule_;
};

}  // namespace engine::frontend
