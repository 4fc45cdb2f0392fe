// Answers that are kept, for queries that ask for the same of the same tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/answer_key.hpp"

namespace engine::frontend {

/// An output as it was answered.
struct KeptTensor {
  std::string name, datatype;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> content;  ///< raw, and aligned for any element
};

using KeptAnswer = std::vector<KeptTensor>;
using KeptAnswerPtr = std::shared_ptr<const KeptAnswer>;

/// The answers that were asked for last, of all models together, as many as there is room for:
/// those of the front end and those that Python computed.
///
/// An answer is found by its key's hash and given if the whole key is the same, inputs and all; so
/// no two queries are taken for each other. Of those with the same hash the last one is kept.
///
/// Thread-safe: a lock for the time of a comparison of a query's bytes, or of the release of a
/// model's answers. What goes is freed outside.
class AnswerCache {
 public:
  /// What an answer takes beside its key and its values, generously.
  static constexpr std::size_t entry_bytes = 1024;

  /// `most_bytes`: what all of them may take.
  explicit AnswerCache(std::size_t most_bytes) noexcept : most_bytes_(most_bytes) {}
  AnswerCache(const AnswerCache&) = delete;
  AnswerCache& operator=(const AnswerCache&) = delete;

  /// Keeps answers of that load of a model from now on.
  void begin(std::uint64_t load);
  /// Forgets them, and keeps no further one.
  void end(std::uint64_t load) noexcept;

  /// The answer to that query, which counts as asked for now; null if it is not there.
  [[nodiscard]] KeptAnswerPtr find(const AnswerKey& key);
  /// Keeps a copy of all outputs that the key is of, unless one is there; those go for it that were
  /// not asked for longest. One that there could not be room for is not kept.
  void keep(const AnswerKey& key, const std::vector<TensorView>& answer);

  [[nodiscard]] std::size_t count() const;
  /// What they take, as it is counted.
  [[nodiscard]] std::size_t held_bytes() const;

 private:
  struct Entry {
    std::uint64_t load = 0, hash = 0;
    std::size_t bytes = 0;
    std::string key;
    KeptAnswerPtr answer;
  };
  using Entries = std::list<Entry>;
  using Index = std::unordered_map<std::uint64_t, Entries::iterator>;  ///< by hash

  void take_out(Entries::iterator entry, Entries& gone) noexcept;

  const std::size_t most_bytes_;
  mutable std::mutex mutex_;                        // of all that follows
  Entries entries_;                                 // the last one asked for is first
  std::unordered_map<std::uint64_t, Index> loads_;  // those that have begun
  std::size_t bytes_ = 0;
};

}  // namespace engine::frontend
