// Whether memories hold what a schedule puts there: constants throughout, tensors while they are
// needed. placement/memory.py has the rules.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulation.hpp"

namespace placement {

/// Limits of memories and what tasks' constants take, as it is handed over.
struct Constants {
  std::vector<std::int64_t>
      capacity_bytes;                     ///< by memory; negative: no limit. Empty: none anywhere
  std::vector<std::int64_t> own_bytes;    ///< by task: what no other task shares
  std::vector<std::vector<Index>> blobs;  ///< by task: what it shares
  std::vector<std::int64_t> blob_bytes;
};

/// Used by one thread at a time.
class Room {
 public:
  /// Throws std::invalid_argument where lists have a wrong length or name what is not there.
  Room(const Problem& problem, Constants constants);

  [[nodiscard]] bool is_limited() const noexcept { return !constants_.capacity_bytes.empty(); }
  /// Whether the last query of a simulation, played from its beginning, fits.
  [[nodiscard]] bool holds(const Simulation& simulation);

 private:
  void add_constants(const Query& query);
  void add_tensors(const Simulation& simulation);
  void stay(Index tensor, Index memory, Ns start_ns, Ns end_ns, const Simulation& simulation);
  [[nodiscard]] double peak(std::size_t memory);

  const Problem& problem_;
  const Constants constants_;
  // Bytes are doubles here, since no sum of them is too large; whole ones to 2^53.
  std::vector<double> constant_bytes_;                       // by memory
  std::vector<std::vector<std::pair<Ns, double>>> changes_;  // by memory
  std::vector<char> has_blob_;                               // by memory and blob
  std::vector<Ns> leaves_ns_;                                // by tensor: end of its last copy
};

}  // namespace placement
