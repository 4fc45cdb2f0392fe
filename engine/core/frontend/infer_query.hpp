// A query of a model made of a request, and its answer as parts to be sent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/front_model.hpp"
#include "frontend/infer_request.hpp"
#include "frontend/message.hpp"
#include "frontend/out_queue.hpp"
#include "scheduler/run.hpp"

namespace engine::frontend {

/// The values of a request for that model, in its order; tensors lie over the message where they
/// are aligned. False where something does not fit: Python says what.
[[nodiscard]] bool collect(const InferRequest& request, const Message& message,
                           const FrontModel& model, std::vector<ValuePtr>& values);

/// Which outputs a request wants, in its order; nothing where one is unknown or named twice.
[[nodiscard]] std::optional<std::vector<std::size_t>> wanted_outputs(const InferRequest& request,
                                                                     const FrontModel& model);

/// What the core takes for the protocol's priority (engine/serving/model_executor.py).
[[nodiscard]] std::optional<int> priority_of(std::int64_t level) noexcept;

/// A ModelInferResponse, behind gRPC's prefix. `in_stream`: within a ModelStreamInferResponse.
/// Tensors are sent from where they are. Throws std::runtime_error where it would be too large.
[[nodiscard]] std::vector<OutPart> answer_parts(const FrontModel& model, const std::string& id,
                                                const std::vector<std::size_t>& wanted,
                                                const std::vector<ValuePtr>& outputs,
                                                bool in_stream);

/// gRPC's prefix of a message of that length.
void put_prefix(std::string& to, std::size_t bytes);

}  // namespace engine::frontend
