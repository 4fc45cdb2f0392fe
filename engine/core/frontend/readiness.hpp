// Who is ready, as Python has told: for health checks that wait for nobody.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "frontend/proto.hpp"
#include "frontend/route.hpp"

namespace engine::frontend {

/// Says what engine/serving/model_table.py would. Nothing where Python has to be asked: before it
/// has told of all models, of a model that it did not tell of, and while a device of a model's is
/// lost or its lanes are held, which Python may not have noticed.
///
/// Thread-safe: a short lock, longer by some 50 ns a model for server().
class Readiness {
 public:
  struct State {
    bool is_ready = false;
    bool is_unloaded = false;                ///< on request: no fault of the server's
    std::shared_ptr<Route> route = nullptr;  ///< null: what Python told holds
  };

  /// From now on. A model of which nothing was told is one more.
  void tell(std::string_view name, std::string_view version, State state);
  /// All models have been told of.
  void open() noexcept;
  /// No queries are admitted any more.
  void drain() noexcept;

  /// Whether every name has a version that is ready or was unloaded, and queries are admitted.
  [[nodiscard]] std::optional<bool> server() const;
  /// Whether that version is ready, or any if it is empty.
  [[nodiscard]] std::optional<bool> model(std::string_view name, std::string_view version) const;

 private:
  using Versions = std::map<std::string, State, std::less<>>;

  mutable std::mutex mutex_;
  std::map<std::string, Versions, std::less<>> models_;  // guarded by mutex_, as the others
  bool is_open_ = false, drains_ = false;
};

/// The answer to a call that asks who is ready, a message without prefix. Nothing where Python has
/// to answer: the request is not plain, or Readiness does not know.
[[nodiscard]] std::optional<std::string> server_ready_answer(const Readiness& readiness,
                                                             Bytes request);
[[nodiscard]] std::optional<std::string> model_ready_answer(const Readiness& readiness,
                                                            Bytes request);
[[nodiscard]] std::optional<std::string> health_answer(const Readiness& readiness, Bytes request);

}  // namespace engine::frontend
