// Who asks: what is answered here is answered to whoever may ask for it; of the rest Python knows.
#include <optional>
#include <utility>

#include "frontend/frontend.hpp"

namespace engine::frontend {

namespace {

/// What a call needs, as far as its method tells; nothing where Python knows.
std::optional<Right> right_of(Method method) noexcept {
  switch (method) {
    case Method::infer:
    case Method::stream_infer:
      return Right::infer;
    case Method::live:
    case Method::server_ready:
    case Method::model_ready:
    case Method::health:
      return Right::health;
    case Method::other:
      break;
  }
  return std::nullopt;
}

}  // namespace

void Frontend::set_access(std::shared_ptr<const Access> access) {
  const std::lock_guard lock(access_mutex_);
  access_ = std::move(access);
}

Access::Verdict Frontend::verdict_on(const Call& call, Right right,
                                     std::optional<std::string_view> model) const {
  std::shared_ptr<const Access> access;
  {
    const std::lock_guard lock(access_mutex_);
    access = access_;
  }
  if (access == nullptr) return {};
  return access->check(right, {call.authorization, call.certificate_names}, model);
}

/// Ends a call whose caller may not make it, before its message comes. Which model it is about is
/// known later.
void Frontend::look_at_caller(Connection& connection, Call& call) {
  if (call.rest != nullptr) call.authorization = call.rest->head.field("authorization");
  call.certificate_names = connection.certificate_names();
  const auto right = right_of(call.method);
  if (!right) return;
  Access::Verdict verdict = verdict_on(call, *right, std::nullopt);
  if (!verdict.is_yes()) call.end(verdict.status, std::move(verdict.why));
}

}  // namespace engine::frontend
