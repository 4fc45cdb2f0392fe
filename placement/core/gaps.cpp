#include "gaps.hpp"

#include <algorithm>
#include <utility>

namespace placement {

namespace {

constexpr std::size_t most_in_chunk = 256;

bool ends_before(const Gap& gap, Ns ns) noexcept { return gap.end_ns < ns; }

Ns length_ns(const Gap& gap) noexcept { return gap.end_ns - gap.begin_ns; }

}  // namespace

Gaps::Gaps() { insert({0, end_of_times_ns}); }

Ns Gaps::earliest_ns(Ns ready_ns, Ns service_ns) const {
  const Ns end_ns = later(ready_ns, service_ns);
  auto chunk = std::ranges::partition_point(
      chunks_, [&](const Chunk& c) { return ends_before(c.gaps.back(), end_ns); });
  for (; chunk != chunks_.end(); ++chunk) {
    if (chunk->longest_ns < service_ns) continue;
    auto gap = std::ranges::partition_point(chunk->gaps,
                                            [&](const Gap& g) { return ends_before(g, end_ns); });
    for (; gap != chunk->gaps.end(); ++gap) {
      const Ns start_ns = std::max(gap->begin_ns, ready_ns);
      if (start_ns + service_ns <= gap->end_ns) return start_ns;
    }
  }
  throw_too_late();
}

std::optional<Gap> Gaps::take(Ns start_ns, Ns end_ns) {
  if (end_ns >= end_of_times_ns) throw_too_late();
  const auto chunk = std::ranges::partition_point(
      chunks_, [&](const Chunk& c) { return ends_before(c.gaps.back(), end_ns); });
  auto place = std::ranges::partition_point(chunk->gaps,
                                            [&](const Gap& g) { return ends_before(g, end_ns); });
  const Gap gap = *place;
  if (gap.begin_ns > start_ns) return std::nullopt;
  const Gap left{gap.begin_ns, start_ns}, right{end_ns, gap.end_ns};
  const bool has_left = length_ns(left) > 0, has_right = length_ns(right) > 0;
  if (has_left && has_right) {
    *place = right;
    chunk->gaps.insert(place, left);
  } else if (has_left || has_right) {
    *place = has_left ? left : right;
  } else {
    chunk->gaps.erase(place);
  }
  changed(chunk, length_ns(gap));
  return gap;
}

void Gaps::give_back(Gap gap, Ns start_ns, Ns end_ns) {
  if (end_ns < gap.end_ns) erase(end_ns);
  if (gap.begin_ns < start_ns) erase(gap.begin_ns);
  insert(gap);
}

void Gaps::insert(Gap gap) {
  if (chunks_.empty()) {
    chunks_.push_back({{gap}, length_ns(gap)});
    return;
  }
  const auto chunk = chunk_from(gap.begin_ns);
  const auto place = std::ranges::partition_point(
      chunk->gaps, [&](const Gap& g) { return g.begin_ns < gap.begin_ns; });
  chunk->gaps.insert(place, gap);
  changed(chunk, length_ns(gap));
}

void Gaps::erase(Ns begin_ns) {
  const auto chunk = chunk_from(begin_ns);
  std::erase_if(chunk->gaps, [&](const Gap& g) { return g.begin_ns == begin_ns; });
  changed(chunk, chunk->longest_ns);
}

/// The chunk that has the gap that begins then, or that a new one belongs to.
Gaps::Chunks::iterator Gaps::chunk_from(Ns begin_ns) {
  const auto chunk = std::ranges::partition_point(
      chunks_, [&](const Chunk& c) { return c.gaps.back().begin_ns < begin_ns; });
  return chunk == chunks_.end() ? chunk - 1 : chunk;
}

void Gaps::changed(Chunks::iterator chunk, Ns length_ns) {
  if (chunk->gaps.empty()) {
    chunks_.erase(chunk);
    return;
  }
  const auto find_longest = [](Chunk& c) {
    c.longest_ns = placement::length_ns(std::ranges::max(c.gaps, {}, placement::length_ns));
  };
  if (chunk->gaps.size() > most_in_chunk) {
    const auto middle = chunk->gaps.begin() + most_in_chunk / 2;
    Chunk second{{middle, chunk->gaps.end()}, 0};
    find_longest(second);
    chunk->gaps.erase(middle, chunk->gaps.end());
    chunk = chunks_.insert(chunk + 1, std::move(second)) - 1;
    find_longest(*chunk);
  } else if (length_ns >= chunk->longest_ns && chunk + 1 != chunks_.end()) {
    // What is left of the open gap is always the longest, nearly as long as it was.
    find_longest(*chunk);
  } else {
    chunk->longest_ns = std::max(chunk->longest_ns, length_ns);
  }
}

}  // namespace placement
