// A model as the front end knows it: what goes in and comes out, which plan answers, what it did.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/hand_over.hpp"
#include "frontend/histogram.hpp"
#include "frontend/route.hpp"
#include "frontend/trouble.hpp"
#include "isolation/worker_link.hpp"

namespace engine::frontend {

class AnswerCache;

/// An input or output.
struct Port {
  std::string name;
  std::string datatype;                                   ///< the protocol's name of it
  int elem_type = 0;                                      ///< ONNX's
  std::optional<std::vector<std::int64_t>> extents = {};  ///< -1: any; none: not even the rank

  /// Empty dimensions are left to Python (engine/trial/empty_inputs.py).
  [[nodiscard]] bool fits(const std::vector<std::int64_t>& shape) const noexcept;
};

/// What became of the queries that were answered here: counts and nanoseconds, as
/// engine/serving/statistics.py has them; `queue` of some of them only.
struct FrontCounts {
  enum Kind : std::size_t {
    success,
    fail,
    refused,
    compute_input,
    queue,
    executing,
    compute_output,
    cache_hit,
    cache_miss,
    kinds
  };
  struct Totals {
    std::array<std::uint64_t, kinds> counts{};
    std::array<std::int64_t, kinds> nanoseconds{};
  };

  /// One thread at a time.
  void add(Kind kind, std::int64_t duration_ns) noexcept {
    // relaxed, all: each is a number by itself, read from another thread for people to see
    counts_[kind].fetch_add(1, std::memory_order_relaxed);
    nanoseconds_[kind].fetch_add(duration_ns, std::memory_order_relaxed);
  }
  /// What has come since the last call. One thread at a time.
  [[nodiscard]] Totals take() noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, kinds> counts_{};
  std::array<std::atomic<std::int64_t>, kinds> nanoseconds_{};
};

/// What is counted of a version of a model from one load of it to the next. One thread at a time
/// adds, any reads.
struct FrontTally {
  FrontTimes times;
  TroubleCounts trouble;
};

/// What clients call a version of a model.
struct ModelName {
  std::string name, version;
};

/// One version of a model. Immutable but for what is counted and measured.
struct FrontModel {
  /// Shared with who remembers its queries: who holds the model holds its plans, hence weights.
  std::shared_ptr<const ModelName> called = std::make_shared<ModelName>();
  std::vector<Port> inputs, outputs;
  std::shared_ptr<Route> route;                  ///< null, and no worker: Python answers
  std::shared_ptr<isolation::QueryLink> worker;  ///< runs it in another process
  std::shared_ptr<AnswerCache> answers;          ///< null: none is kept
  std::uint64_t load = 0;                        ///< its number there
  std::size_t most_in_flight = 0;
  std::atomic<std::size_t> in_flight{0};
  HandOver hand_over;  ///< the front end's thread alone knows it
  FrontCounts counts;
  std::shared_ptr<FrontTally> tally = std::make_shared<FrontTally>();
  std::atomic<std::int64_t> last_ns{0};  ///< when the last query was answered well

  /// Place of that input or output; nothing where there is none of that name.
  [[nodiscard]] static std::optional<std::size_t> find(const std::vector<Port>& ports,
                                                       std::string_view name) noexcept;
  /// "model 'name' version 1"
  [[nodiscard]] std::string text() const;
};

using FrontModelPtr = std::shared_ptr<FrontModel>;

/// Models by name and version. Thread-safe: a short lock.
class FrontModels {
 public:
  /// In the place of one that is there.
  void offer(FrontModelPtr model);
  void withdraw(const std::string& name, const std::string& version);
  /// Without a version the newest; null: ask Python.
  [[nodiscard]] FrontModelPtr find(std::string_view name, std::string_view version) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Versions = std::map<std::uint64_t, FrontModelPtr>;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Versions, Hash, std::equal_to<>> models_;  // guarded by mutex_
};

}  // namespace engine::frontend
