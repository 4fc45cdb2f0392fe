#include "holds.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace placement {

namespace {

constexpr std::size_t columns = 3;

Index checked(std::int64_t number, Index count, const char* what) {
  if (number < 0 || number >= count)
    throw std::invalid_argument("hold: " + std::string(what) + " " + std::to_string(number) +
                                " is unknown");
  return static_cast<Index>(number);
}

IndexLists lists(const std::vector<std::vector<Index>>& rows) {
  IndexLists found;
  for (const std::vector<Index>& row : rows) found.add(row);
  return found;
}

}  // namespace

void Holds::take(const Problem& problem, std::span<const std::int64_t> rows) {
  copies_.clear();
  is_empty_ = rows.empty();
  if (is_empty_) return;
  std::vector<std::vector<Index>> waiters(static_cast<std::size_t>(problem.tensor_count()));
  std::vector<std::vector<Index>> inputs(static_cast<std::size_t>(problem.task_count()));
  for (; !rows.empty(); rows = rows.subspan(columns)) {
    const Index tensor = checked(rows[0], problem.tensor_count(), "tensor");
    if (rows[2] < 0) {
      const Index task = checked(rows[1], problem.task_count(), "task");
      waiters[static_cast<std::size_t>(tensor)].push_back(task);
      inputs[static_cast<std::size_t>(task)].push_back(tensor);
      continue;
    }
    const Index copied = checked(rows[1], problem.tensor_count(), "tensor");
    const Index memory = checked(rows[2], problem.memory_count(), "memory");
    if (find(copied, memory) == nullptr) copies_.push_back({copied, memory, {}});
    find(copied, memory)->elders.push_back(tensor);
  }
  waiters_ = lists(waiters);
  inputs_ = lists(inputs);
}

void Holds::rewind() noexcept {
  for (Copy& copy : copies_) {
    copy.unmade = copy.elders.size();
    copy.is_kept = false;
  }
}

bool Holds::keeps(Index tensor, Index memory, Index urgency) noexcept {
  Copy* const copy = find(tensor, memory);
  if (copy == nullptr || copy->unmade == 0) return false;
  copy->is_kept = true;
  copy->urgency = urgency;
  return true;
}

Holds::Copy* Holds::find(Index tensor, Index memory) noexcept {
  const auto found = std::ranges::find_if(
      copies_, [&](const Copy& copy) { return copy.tensor == tensor && copy.memory == memory; });
  return found == copies_.end() ? nullptr : &*found;
}

}  // namespace placement
