// What gRPC's statuses say of a server.
#pragma once

#include "types.hpp"

namespace routing {

/// Of a query that ended with that status, which is not 0. That a connection was lost is not said
/// so: who has it knows.
[[nodiscard]] constexpr Failure failure_of(int grpc_status) noexcept {
  switch (grpc_status) {
    case 4:  // DEADLINE_EXCEEDED
      return Failure::late;
    case 5:  // NOT_FOUND
      return Failure::absent;
    case 8:  // RESOURCE_EXHAUSTED
      return Failure::refused;
    case 14:  // UNAVAILABLE
      return Failure::unavailable;
    case 2:   // UNKNOWN
    case 13:  // INTERNAL
    case 15:  // DATA_LOSS
      return Failure::error;
    default:
      return Failure::fault;
  }
}

}  // namespace routing
