#include "frontend/method.hpp"

namespace engine::frontend {

Method method_of(std::string_view path) noexcept {
  constexpr std::string_view service = "/inference.GRPCInferenceService/";
  if (path == "/grpc.health.v1.Health/Check") return Method::health;
  if (!path.starts_with(service)) return Method::other;
  const std::string_view name = path.substr(service.size());
  if (name == "ModelInfer") return Method::infer;
  if (name == "ModelStreamInfer") return Method::stream_infer;
  if (name == "ServerLive") return Method::live;
  if (name == "ServerReady") return Method::server_ready;
  if (name == "ModelReady") return Method::model_ready;
  return Method::other;
}

}  // namespace engine::frontend
