// By how much the runs of each model take longer than predicted, of a hundred one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace engine {

class FairShare;

/// How many of its spreads (ServiceTimes) a model's runs are off at most, but for one of a hundred:
/// learnt from its promised runs that have ended, by steps that balance where one of a hundred ends
/// later than it surely should have (Robbins, Monro, 1951; Gibbs, Candes, "Adaptive conformal
/// inference under distribution shift", 2021). By model: a run of a millisecond is off by ten
/// spreads whenever the kernel takes its core away, a long one hardly by two.
///
/// One thread at a time; O(models).
class ErrorMargins {
 public:
  static constexpr double at_first = 3;

  /// In spreads.
  [[nodiscard]] double of(const FairShare* share) const {
    const auto found = std::ranges::find(margins_, share, &Margin::share);
    return found == margins_.end() ? at_first : found->spreads;
  }
  /// A promised run of that model has ended, later than it surely should have, or not.
  void learn(const FairShare* share, bool is_later, std::int64_t now_ns) {
    Margin& margin = at(share, now_ns);
    const double step = is_later ? 1 - may_be_later : -may_be_later;
    margin.spreads = std::clamp(margin.spreads + learning_step * step, least, most);
    margin.learnt_ns = now_ns;
  }
  /// What was learnt of that model counts no more.
  void forget(const FairShare* share) {
    std::erase_if(margins_, [share](const Margin& margin) { return margin.share == share; });
  }

 private:
  static constexpr double may_be_later = 0.01;
  static constexpr double least = 1, most = 50;
  static constexpr double learning_step = 0.5;
  static constexpr std::int64_t remembered_ns = 60'000'000'000;

  struct Margin {
    const FairShare* share = nullptr;  ///< to be compared only
    double spreads = at_first;
    std::int64_t learnt_ns = 0;
  };

  Margin& at(const FairShare* share, std::int64_t now_ns) {
    const auto found = std::ranges::find(margins_, share, &Margin::share);
    if (found != margins_.end()) return *found;
    std::erase_if(margins_, [now_ns](const Margin& margin) {
      return margin.learnt_ns < now_ns - remembered_ns;
    });
    return margins_.emplace_back(Margin{.share = share});
  }

  std::vector<Margin> margins_;
};

}  // namespace engine
