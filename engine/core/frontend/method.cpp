#include "frontend/method.hpp"

namespace engine::frontend {

Method method_of(std::string_view path) noexcept {
  constexpr std::string_view service = "/inference.GRPCInferenceService/";
  if (!path.starts_with(service)) return Method::other;
  const std::string_view name = path.substr(service.size());
  if (name == "ModelInfer") return Method::infer;
  if (name == "ModelStreamInfer") return Method::stream_infer;
  if (name == "ServerLive") return Method::live;
  return Method::other;
}

}  // namespace engine::frontend
