// A link: copies one after another, through a bounded staging pool; as placement/wire.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include "streams.hpp"

namespace placement {

/// A copy that is wanted; the most urgent of a moment is the least.
struct Asked {
  /// Of an output that nobody reads there.
  static constexpr Index last = std::numeric_limits<Index>::max();

  Index urgency;  ///< rank of its first reader
  Index tensor;
  Ns ready_ns;
  friend bool operator<(const Asked& a, const Asked& b) noexcept {
    return std::tie(a.urgency, a.tensor) < std::tie(b.urgency, b.tensor);
  }
};

/// When a copy takes its link, and when its data is there.
struct Held {
  Ns start_ns, end_ns;
};

/// One link during a query.
class Wire {
 public:
  Wire(const Problem& problem, Index link) : problem_(&problem), link_(&problem.link(link)) {}

  /// Before a query.
  void reset() noexcept;
  /// The device whose submitting thread pageable copies hold, if any.
  void set_thread(Streams* thread) noexcept { thread_ = link_->is_pageable ? thread : nullptr; }
  /// Between two moments; without what is on its way.
  void save(LinkMoment& moment, Ns now_ns) const;
  void restore(const LinkMoment& moment, Ns now_ns);

  void ask(const Asked& asked) { waiting_.push_back(asked); }
  /// The next copy that may start now, taken out; null if there is none. Valid until the next call
  /// of `ask`.
  [[nodiscard]] const Asked* take_next() {
    if (ordered_ < waiting_.size()) {
      if (waiting_.size() - ordered_ > 1) sort_asked();
      ordered_ = waiting_.size();
    }
    if (taken_ == waiting_.size()) return nullptr;
    const Asked& next = waiting_[taken_];
    if (link_->staging_bytes && !stage(next.tensor)) return nullptr;
    ++taken_;
    return &next;
  }
  /// Holds the link for a copy.
  [[nodiscard]] Held start(std::int64_t size_bytes, Ns now_ns) {
    Ns start_ns = std::max(now_ns, free_at_ns_);
    if (thread_ != nullptr) start_ns = thread_->free_ns(start_ns);
    free_at_ns_ = later(start_ns, problem_->hold_ns(*link_, size_bytes));
    if (thread_ != nullptr) thread_->hold(free_at_ns_);
    return {start_ns, later(free_at_ns_, link_->latency_ns)};
  }

  /// Says that a copy has this number. Copies arrive in the order of their starts: whether it will
  /// be the next.
  [[nodiscard]] bool send(Index copy) {
    sent_.push_back(copy);
    return sent_.size() - arrived_ == 1;
  }
  /// Copies on their way behind the next one.
  [[nodiscard]] std::span<const Index> behind_next() const noexcept {
    return std::span(sent_).subspan(std::min(arrived_ + 1, sent_.size()));
  }
  /// The next copy is there; nobody, or the one that is next now.
  [[nodiscard]] Index arrive(std::int64_t size_bytes) noexcept {
    if (link_->staging_bytes) staged_bytes_ -= staged(size_bytes);
    return ++arrived_ < sent_.size() ? sent_[arrived_] : nobody;
  }
  /// Whether copies wait for their part of the pool.
  [[nodiscard]] bool is_waiting() const noexcept { return taken_ < waiting_.size(); }

 private:
  void sort_asked();
  /// Takes a copy's part of the pool; whether that has room.
  [[nodiscard]] bool stage(Index tensor) noexcept;
  /// How much of the pool a copy holds until its data is there.
  [[nodiscard]] std::int64_t staged(std::int64_t size_bytes) const noexcept;

  const Problem* problem_;
  const Link* link_;
  Streams* thread_ = nullptr;
  Ns free_at_ns_ = 0;
  std::int64_t staged_bytes_ = 0;
  std::vector<Asked> waiting_;  // in the order of their turn, then those of this moment
  std::size_t ordered_ = 0;     // of those, how many have their turn
  std::size_t taken_ = 0;       // and how many had it
  std::vector<Index> sent_;     // numbers of copies, in the order of their starts
  std::size_t arrived_ = 0;     // of those
};

}  // namespace placement
