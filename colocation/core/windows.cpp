#include "windows.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace colocation {

namespace {

constexpr std::array<Count, 20> kSkipped{0,  1,  2,  3,  4,  5,  6,  7,  8,  10,
                                         12, 14, 16, 20, 24, 28, 32, 40, 48, 64};

}  // namespace

std::optional<QueueWindow> best_window(const WindowSearch& of, const Worth& worth,
                                       std::vector<Ns>& row) {
  const bool alike = of.queue.alike();
  std::optional<QueueWindow> best;
  double gained = 0.0;
  for (const Count skipped : kSkipped) {
    const Count left = std::min(of.most, of.queue.size() - skipped);
    if (left <= 0) break;
    if (!alike)
      of.times.prefixes_of(of.service, of.queue, skipped, left, of.most_items, of.share_percent,
                           row);
    const auto length = std::min(row.size(), static_cast<std::size_t>(left));
    const auto own = std::span(row).first(length);
    const Ns deadline_ns = of.queue.at(skipped).deadline_ns;
    const double limit_ns = static_cast<double>(deadline_ns - of.now_ns) / of.slowness;
    const Count size = bisect_right(own, limit_ns);
    if (size == 0) continue;
    const Ns took_ns = own[static_cast<std::size_t>(size - 1)];
    const double lost =
        static_cast<double>(skipped) * std::max(worth.profit, kLeastLost * worth.value);
    const double gain = static_cast<double>(size) * worth.value - lost -
                        static_cast<double>(took_ns) * of.slowness * worth.per_ns;
    if (!best || gain > gained) {
      best = QueueWindow{skipped, size, took_ns, deadline_ns};
      gained = gain;
    }
    if (size == static_cast<Count>(length)) break;
  }
  return best;
}

}  // namespace colocation
