#include "grpc_status.hpp"

#include <array>
#include <cstddef>

namespace loadgen {

namespace {

constexpr std::array<std::string_view, 17> names{
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

}  // namespace

std::string_view grpc_status_name(int code) noexcept {
  const auto place = static_cast<std::size_t>(code);
  return code < 0 || place >= names.size() ? "UNKNOWN" : names[place];
}

std::string_view grpc_status_of_http(int status) noexcept {
  switch (status) {
    case 400:
      return "INTERNAL";
    case 401:
      return "UNAUTHENTICATED";
    case 403:
      return "PERMISSION_DENIED";
    case 404:
      return "UNIMPLEMENTED";
    case 429:
    case 502:
    case 503:
    case 504:
      return unavailable;
    default:
      return "UNKNOWN";
  }
}

std::string_view grpc_status_of_reset(std::uint32_t error) noexcept {
  switch (error) {
    case 7:  // REFUSED_STREAM
      return unavailable;
    case 8:  // CANCEL
      return "CANCELLED";
    case 11:  // ENHANCE_YOUR_CALM
      return "RESOURCE_EXHAUSTED";
    case 12:  // INADEQUATE_SECURITY
      return "PERMISSION_DENIED";
    default:
      return "INTERNAL";
  }
}

}  // namespace loadgen
