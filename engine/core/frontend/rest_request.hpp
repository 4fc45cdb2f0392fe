// A query of REST, read in place as a ModelInferRequest is.
#pragma once

#include <cstddef>
#include <optional>

#include "frontend/infer_request.hpp"
#include "frontend/rest.hpp"

namespace engine::frontend {

/// A document of more is parsed by Python, beside its event loop: meanwhile nobody would be
/// answered here.
inline constexpr std::size_t most_document_bytes = 64 * 1024;

/// How long the document at the front of a body is, as its head says; nothing where that is not
/// plain: the body is packed, or its document is longer than it.
[[nodiscard]] std::optional<std::size_t> document_bytes(const Rest& rest, Bytes body) noexcept;

/// Reads the query of a request's head and body; false where it is not plain. `request` holds views
/// into both, and is used anew.
[[nodiscard]] bool read_rest_request(const Rest& rest, Bytes body, InferRequest& request);

}  // namespace engine::frontend
