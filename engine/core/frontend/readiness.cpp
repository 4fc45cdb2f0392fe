#include "frontend/readiness.hpp"

#include <algorithm>
#include <utility>

namespace engine::frontend {

namespace {

constexpr std::string_view service_name = "inference.GRPCInferenceService";

/// Of HealthCheckResponse.
constexpr char serving = 1, not_serving = 2;

bool is_in_doubt(const Readiness::State& state) {
  return state.route != nullptr && state.route->is_in_doubt();
}

/// Field 1 of a message, a number; 0 is not written.
std::string number_field(char number) {
  return number == 0 ? std::string() : std::string({'\x08', number});
}

/// Texts of fields 1 to `count`; false where there is anything else.
bool read_texts(Bytes message, std::string_view* texts, std::uint32_t count) {
  FieldReader fields(message);
  while (fields.next()) {
    if (fields.type() != WireType::bytes || fields.field() > count) return false;
    texts[fields.field() - 1] = text_of(fields.content());
  }
  return !fields.failed();
}

}  // namespace

void Readiness::tell(std::string_view name, std::string_view version, State state) {
  const std::lock_guard lock(mutex_);
  models_[std::string(name)][std::string(version)] = std::move(state);
}

void Readiness::open() noexcept {
  const std::lock_guard lock(mutex_);
  is_open_ = true;
}

void Readiness::drain() noexcept {
  const std::lock_guard lock(mutex_);
  drains_ = true;
}

std::optional<bool> Readiness::server() const {
  const std::lock_guard lock(mutex_);
  if (drains_) return false;
  if (!is_open_) return std::nullopt;
  bool all = true;
  for (const auto& [name, versions] : models_) {
    bool any = false;
    for (const auto& [version, state] : versions) {
      if (is_in_doubt(state)) return std::nullopt;
      any = any || state.is_ready || state.is_unloaded;
    }
    all = all && any;
  }
  return all;
}

std::optional<bool> Readiness::model(std::string_view name, std::string_view version) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(name);
  if (!is_open_ || found == models_.end()) return std::nullopt;
  const Versions& versions = found->second;
  if (!version.empty()) {
    const auto one = versions.find(version);
    if (one == versions.end() || is_in_doubt(one->second)) return std::nullopt;
    return one->second.is_ready;
  }
  const auto second = [](const auto& pair) -> const State& { return pair.second; };
  if (std::ranges::any_of(versions, is_in_doubt, second)) return std::nullopt;
  return std::ranges::any_of(versions, &State::is_ready, second);
}

std::optional<std::string> server_ready_answer(const Readiness& readiness, Bytes request) {
  if (!request.empty()) return std::nullopt;
  const auto ready = readiness.server();
  return ready ? std::optional(number_field(*ready ? 1 : 0)) : std::nullopt;
}

std::optional<std::string> model_ready_answer(const Readiness& readiness, Bytes request) {
  std::string_view texts[2];
  if (!read_texts(request, texts, 2)) return std::nullopt;
  const auto ready = readiness.model(texts[0], texts[1]);
  return ready ? std::optional(number_field(*ready ? 1 : 0)) : std::nullopt;
}

std::optional<std::string> health_answer(const Readiness& readiness, Bytes request) {
  std::string_view service[1];
  if (!read_texts(request, service, 1)) return std::nullopt;
  if (!service[0].empty() && service[0] != service_name) return std::nullopt;
  const auto ready = readiness.server();
  return ready ? std::optional(number_field(*ready ? serving : not_serving)) : std::nullopt;
}

}  // namespace engine::frontend
