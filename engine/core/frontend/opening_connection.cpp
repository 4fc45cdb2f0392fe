#include "frontend/opening_connection.hpp"

namespace engine::frontend {

namespace {

/// Of "PRI * HTTP/2.0"; no method of HTTP/1.1 begins so.
constexpr std::string_view preface = "PRI ";

}  // namespace

bool OpeningConnection::take(Bytes data) {
  first_ += text_of(data);
  return true;
}

std::optional<Speaks> OpeningConnection::speaks() const noexcept {
  if (first_.starts_with(preface)) return Speaks::grpc;
  if (preface.starts_with(first_)) return std::nullopt;
  return Speaks::rest;
}

}  // namespace engine::frontend
