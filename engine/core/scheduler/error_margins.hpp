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
/// A run that is expected in time, and only not surely, is a chance: each costs one of the model's
/// chances, which it has back if it was in time; one more is earned by every 200 promises that are
/// kept. So below overload hardly anything is refused for margins alone, and in overload one of 200
/// that are promised is broken for it, at most.
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
  }
  /// Whether the model has a chance left.
  [[nodiscard]] bool has_chance(const FairShare* share) const {
    const auto found = std::ranges::find(margins_, share, &Margin::share);
    return (found == margins_.end() ? first_chances : found->chances) >= 1;
  }
  /// What begins at once needs none, but takes one that is there.
  void take_chance(const FairShare* share, std::int64_t now_ns) {
    double& chances = at(share, now_ns).chances;
    chances = std::max(0.0, chances - 1);
  }
  /// A promise was kept, by a chance or by what was sure.
  void keep(const FairShare* share, bool is_chance, std::int64_t now_ns) {
    double& chances = at(share, now_ns).chances;
    chances = std::min(chances + (is_chance ? 1 : earned), most_chances);
  }
  /// What was learnt of that model counts no more.
  void forget(const FairShare* share) {
    for (Margin& margin : margins_)
      if (margin.share == share) margin.spreads = at_first;
  }

 private:
  static constexpr double may_be_later = 0.01;
  static constexpr double least = 1, most = 20;
  static constexpr double learning_step = 0.5;
  static constexpr double first_chances = 3, most_chances = 5, earned = 0.005;
  static constexpr std::int64_t remembered_ns = 60'000'000'000;

  struct Margin {
    const FairShare* share = nullptr;  ///< to be compared only
    double spreads = at_first;
    double chances = first_chances;
    std::int64_t learnt_ns = 0;
  };

  Margin& at(const FairShare* share, std::int64_t now_ns) {
    const auto found = std::ranges::find(margins_, share, &Margin::share);
    if (found != margins_.end()) {
      found->learnt_ns = now_ns;
      return *found;
    }
    std::erase_if(margins_, [now_ns](const Margin& margin) {
      return margin.learnt_ns < now_ns - remembered_ns;
    });
    return margins_.emplace_back(Margin{.share = share, .learnt_ns = now_ns});
  }

  std::vector<Margin> margins_;
};

}  // namespace engine
