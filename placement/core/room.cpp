#include "room.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace placement {

Room::Room(const Problem& problem, Constants constants)
    : problem_(problem),
      constants_(std::move(constants)),
      constant_bytes_(at(problem.memory_count())),
      changes_(constant_bytes_.size()),
      has_blob_(constant_bytes_.size() * constants_.blob_bytes.size()),
      leaves_ns_(at(problem.tensor_count())) {
  if (!is_limited()) return;
  const std::size_t count = at(problem.task_count());
  if (constants_.capacity_bytes.size() != constant_bytes_.size() ||
      constants_.own_bytes.size() != count || constants_.blobs.size() != count)
    throw std::invalid_argument("room: a number is needed for each memory and each task");
  for (const std::vector<Index>& blobs : constants_.blobs)
    for (const Index blob : blobs)
      if (blob < 0 || at(blob) >= constants_.blob_bytes.size())
        throw std::invalid_argument("room: blob " + std::to_string(blob) + " is unknown");
}

bool Room::holds(const Simulation& simulation) {
  if (!is_limited()) return true;
  add_constants(simulation.query());
  add_tensors(simulation);
  for (std::size_t memory = 0; memory < constant_bytes_.size(); ++memory) {
    const std::int64_t capacity = constants_.capacity_bytes[memory];
    if (capacity >= 0 && peak(memory) > static_cast<double>(capacity)) return false;
  }
  return true;
}

void Room::add_constants(const Query& query) {
  std::ranges::fill(constant_bytes_, 0);
  std::ranges::fill(has_blob_, 0);
  for (Index task = 0; task < problem_.task_count(); ++task) {
    const std::size_t memory = at(query.memory(task));
    constant_bytes_[memory] += static_cast<double>(constants_.own_bytes[at(task)]);
    for (const Index blob : constants_.blobs[at(task)]) {
      char& has = has_blob_[memory * constants_.blob_bytes.size() + at(blob)];
      if (has == 0) constant_bytes_[memory] += static_cast<double>(constants_.blob_bytes[at(blob)]);
      has = 1;
    }
  }
}

void Room::add_tensors(const Simulation& simulation) {
  const Query& query = simulation.query();
  for (auto& changes : changes_) changes.clear();
  std::ranges::fill(leaves_ns_, 0);
  for (const Copy& copy : simulation.copies()) {
    leaves_ns_[at(copy.tensor)] = std::max(leaves_ns_[at(copy.tensor)], copy.end_ns);
    stay(copy.tensor, problem_.link(copy.link).target, copy.start_ns, copy.end_ns, simulation);
  }
  for (Index tensor = 0; tensor < problem_.tensor_count(); ++tensor) {
    const Index producer = problem_.tensor(tensor).producer;
    const bool is_given = producer == nobody;
    const Index home = is_given ? problem_.device(0).memory : query.memory(producer);
    const Ns made_ns = is_given ? 0 : query.end_ns[at(producer)];
    stay(tensor, home, is_given ? 0 : query.start_ns[at(producer)],
         std::max(made_ns, leaves_ns_[at(tensor)]), simulation);
  }
}

/// A tensor in a memory until at least `end_ns`.
void Room::stay(Index index, Index memory, Ns start_ns, Ns end_ns, const Simulation& simulation) {
  const Problem::Tensor& tensor = problem_.tensor(index);
  const Query& query = simulation.query();
  if (tensor.size_bytes == 0) return;
  for (const Index task : problem_.consumers_of(index))
    if (query.memory(task) == memory) end_ns = std::max(end_ns, query.end_ns[at(task)]);
  if (tensor.is_output && memory == problem_.device(0).memory)
    end_ns = std::max(end_ns, simulation.makespan_ns());
  const auto bytes = static_cast<double>(tensor.size_bytes);
  changes_[at(memory)].emplace_back(start_ns, bytes);
  changes_[at(memory)].emplace_back(end_ns, -bytes);
}

/// What ends at an instant makes room for what starts then: it sorts first.
double Room::peak(std::size_t memory) {
  std::ranges::sort(changes_[memory]);
  double now = 0;
  double most = 0;
  for (const auto& [instant_ns, bytes] : changes_[memory]) most = std::max(most, now += bytes);
  return constant_bytes_[memory] + most;
}

}  // namespace placement
