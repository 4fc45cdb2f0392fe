// How much of the lanes each model asks for, and what of that is kept for it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace engine {

class FairShare;

/// Of models whose runs are due. What one of them is entitled to until some time is what it is
/// expected to ask for, at most its share of the lanes by weight; what of that it has not queued
/// yet is kept free by the others. So a flood does not take the lanes of a model that asks little,
/// nor all of those of another flood. One thread at a time; O(models).
class FlowDemand {
 public:
  /// A run of `share`'s model comes, admitted or not, due after `due_after_ns`.
  void ask(const FairShare* share, double weight, std::int64_t due_after_ns, std::int64_t work_ns,
           std::int64_t now_ns) {
    Flow& flow = of(share, now_ns);
    flow.weight = weight;
    flow.due_after_ns = due_after_ns;
    flow.lanes = decayed(flow, now_ns) + static_cast<double>(work_ns) / remembered_ns;
    flow.asked_ns = now_ns;
  }
  /// It is admitted, or, with a negative number, has ended.
  void queue(const FairShare* share, std::int64_t work_ns, std::int64_t now_ns) {
    of(share, now_ns).queued_ns += work_ns;
  }
  /// Of the lanes' time until a run of that model is due, what is kept for others, whose runs go
  /// before it: they are due sooner after they come, or as soon.
  [[nodiscard]] std::int64_t kept_ns(const FairShare* share, std::int64_t due_after_ns, int lanes,
                                     std::int64_t now_ns) const {
    double weights = 0, kept = 0;
    for (const Flow& flow : flows_)
      if (flow.share == share || decayed(flow, now_ns) > forgotten_lanes) weights += flow.weight;
    for (const Flow& flow : flows_) {
      // An eighth: times that clients give shrink on their way.
      if (flow.share == share || flow.due_after_ns > due_after_ns + due_after_ns / 8) continue;
      const double most = lanes * flow.weight / std::max(weights, flow.weight);
      const double entitled =
          std::min(decayed(flow, now_ns), most) * static_cast<double>(due_after_ns);
      kept += std::max(0.0, entitled - static_cast<double>(flow.queued_ns));
    }
    return static_cast<std::int64_t>(kept);
  }

 private:
  static constexpr double remembered_ns = 1e9;
  static constexpr double forgotten_lanes = 1e-3;

  struct Flow {
    const FairShare* share = nullptr;  ///< to be compared only
    double weight = 1;
    std::int64_t due_after_ns = 0;
    double lanes = 0;  ///< what it asks for, as of `asked_ns`
    std::int64_t asked_ns = 0;
    std::int64_t queued_ns = 0;
  };

  [[nodiscard]] static double decayed(const Flow& flow, std::int64_t now_ns) {
    return flow.lanes * std::exp(static_cast<double>(flow.asked_ns - now_ns) / remembered_ns);
  }
  Flow& of(const FairShare* share, std::int64_t now_ns) {
    const auto found = std::ranges::find(flows_, share, &Flow::share);
    if (found != flows_.end()) return *found;
    std::erase_if(flows_, [now_ns](const Flow& flow) {
      return flow.queued_ns <= 0 && decayed(flow, now_ns) < forgotten_lanes;
    });
    flows_.push_back({.share = share, .asked_ns = now_ns});
    return flows_.back();
  }

  std::vector<Flow> flows_;
};

}  // namespace engine
