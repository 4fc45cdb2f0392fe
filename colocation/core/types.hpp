// What choices are made of: batches that wait, and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace colocation {

using Ns = std::int64_t;
using Count = std::int64_t;

/// Where a vector has it.
constexpr std::size_t at(Count place) noexcept { return static_cast<std::size_t>(place); }

constexpr Count kFullPercent = 100;

/// A batch of the most urgent queries of a service; what is lost if it is late is its value.
struct WaitingBatch {
  Ns deadline_ns = 0;
  double value = 0.0;
  Count share_percent = 0;
  Ns took_ns = 0;

  friend bool operator<(const WaitingBatch& a, const WaitingBatch& b) {
    return std::tie(a.deadline_ns, a.value, a.share_percent, a.took_ns) <
           std::tie(b.deadline_ns, b.value, b.share_percent, b.took_ns);
  }
};

/// A batch that would start if its share were free.
struct Wish {
  double score = 0.0;
  Count service = 0;
  WaitingBatch task;
};

/// A batch that could start now, behind some queries that are given up for it; `full` is how many
/// queries it might be of.
struct Column {
  double score = 0.0;
  Count service = 0;
  WaitingBatch task;
  Count partition = 0;
  Count skipped = 0;
  Count size = 0;
  Count full = 0;

  friend bool operator<(const Column& a, const Column& b) {
    return std::tie(a.score, a.service) < std::tie(b.score, b.service);
  }
};

/// The most urgent query of a service would be late even on the fastest share, and end then.
struct Hopeless {
  Count service = 0;
  Ns end_ns = 0;
};

}  // namespace colocation
