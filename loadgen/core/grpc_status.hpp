// gRPC's status codes by name, and what stands for them where a server says none.
#pragma once

#include <cstdint>
#include <string_view>

namespace loadgen {

/// What a query fails as that no server answered.
constexpr std::string_view unavailable = "UNAVAILABLE";

/// "OK" for 0; "UNKNOWN" for numbers that gRPC does not have.
[[nodiscard]] std::string_view grpc_status_name(int code) noexcept;

/// Of an answer without a grpc-status: by its HTTP status (gRPC, http-grpc-status-mapping.md).
[[nodiscard]] std::string_view grpc_status_of_http(int status) noexcept;

/// Of a stream that was reset: by HTTP/2's error code (gRPC, PROTOCOL-HTTP2.md, "Errors").
[[nodiscard]] std::string_view grpc_status_of_reset(std::uint32_t error) noexcept;

}  // namespace loadgen
