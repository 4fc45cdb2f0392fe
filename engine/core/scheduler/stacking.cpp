#include "scheduler/stacking.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace engine {

namespace {

/// A stack takes less than that of what its queries take one by one, or is not worth it.
constexpr double worth = 0.9;
/// What one stack counts for in what was observed.
constexpr float weight = 0.125F;
/// A stack that was interrupted says little of the next.
constexpr float longest = 4.0F;
constexpr int most_failures = 8;

}  // namespace

Stacking::Stacking(std::shared_ptr<const Stacker> stacker, std::uint32_t least_rows,
                   std::vector<std::int64_t> takes_ns)
    : stacker_(std::move(stacker)), least_rows_(least_rows), takes_ns_(std::move(takes_ns)) {
  if (least_rows < 1 || least_rows > takes_ns_.size())
    throw std::invalid_argument("a stack has " + std::to_string(takes_ns_.size()) +
                                " rows at most, got queries of at least " +
                                std::to_string(least_rows));
  for (const std::int64_t ns : takes_ns_)
    if (ns <= 0) throw std::invalid_argument("stacks take a time, got " + std::to_string(ns));
}

std::int64_t Stacking::takes_ns(std::uint32_t rows) const noexcept {
  const float pace = pace_.load(std::memory_order_relaxed);  // relaxed: an estimate
  return static_cast<std::int64_t>(static_cast<double>(takes_ns_[rows - 1]) *
                                   static_cast<double>(pace));
}

std::uint32_t Stacking::rows_within(std::int64_t duration_ns) const noexcept {
  std::uint32_t rows = most_rows();
  while (rows > 0 && takes_ns(rows) > duration_ns) --rows;
  return rows;
}

bool Stacking::gains(std::uint32_t rows, std::int64_t alone_ns) const noexcept {
  return static_cast<double>(takes_ns(rows)) < worth * static_cast<double>(alone_ns);
}

void Stacking::note(std::uint32_t rows, std::int64_t took_ns, std::size_t queries) const noexcept {
  const float found = static_cast<float>(took_ns) / static_cast<float>(takes_ns_[rows - 1]);
  // relaxed, all: an estimate, of which a lane may overwrite another's share, and statistics
  const float pace = pace_.load(std::memory_order_relaxed);
  pace_.store(pace + weight * (std::min(found, longest * pace) - pace), std::memory_order_relaxed);
  failures_.store(0, std::memory_order_relaxed);
  Count& count = counts_[queries];
  count.stacks.fetch_add(1, std::memory_order_relaxed);
  count.took_ns.fetch_add(static_cast<std::uint64_t>(took_ns), std::memory_order_relaxed);
}

void Stacking::note_failure() const noexcept {
  failures_.fetch_add(1, std::memory_order_relaxed);  // relaxed: an estimate
}

bool Stacking::has_failed() const noexcept {
  return failures_.load(std::memory_order_relaxed) >= most_failures;  // relaxed: an estimate
}

std::uint64_t Stacking::stacks() const noexcept {
  std::uint64_t all = 0;
  for (std::size_t size = 0; size < counts_.size(); ++size) all += of_size(size).stacks;
  return all;
}

std::uint64_t Stacking::queries() const noexcept {
  std::uint64_t all = 0;
  for (std::size_t size = 0; size < counts_.size(); ++size) all += size * of_size(size).stacks;
  return all;
}

Stacking::OfSize Stacking::of_size(std::size_t queries) const noexcept {
  const Count& count = counts_[queries];
  // relaxed, both: statistics
  return {count.stacks.load(std::memory_order_relaxed),
          count.took_ns.load(std::memory_order_relaxed)};
}

}  // namespace engine
