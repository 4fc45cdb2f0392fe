#include "graphs.hpp"

#include <algorithm>
#include <random>

#include "scheduler/clock.hpp"

namespace engine::bench {

namespace {

constexpr int width = 100;

}  // namespace

Edges fork_join(int nodes) {
  Edges before(1);
  while (static_cast<int>(before.size()) < nodes) {
    const int fork = static_cast<int>(before.size()) - 1;
    const int branches = std::min(width, nodes - fork - 2);
    std::vector<int> join;
    for (int i = 0; i < branches; ++i) {
      join.push_back(static_cast<int>(before.size()));
      before.push_back({fork});
    }
    before.push_back(join.empty() ? std::vector<int>{fork} : join);
  }
  return before;
}

Edges random_dag(int nodes) {
  std::mt19937 random(7);
  Edges before(1);
  for (int i = 1; i < nodes; ++i) {
    std::vector<int> after;
    for (unsigned k = 1 + random() % 3; k > 0; --k)
      after.push_back(i - 1 -
                      static_cast<int>(random() % static_cast<unsigned>(std::min(i, width))));
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    before.push_back(after);
  }
  return before;
}

void burn(std::int64_t grain_ns) {
  if (grain_ns == 0) return;
  const std::int64_t end_ns = now_ns() + grain_ns;
  while (now_ns() < end_ns) cpu_relax();
}

}  // namespace engine::bench
