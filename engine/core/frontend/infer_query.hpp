// A query of a model made of a request, and its answer as parts to be sent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/call.hpp"
#include "frontend/front_model.hpp"
#include "frontend/grpc.hpp"
#include "frontend/infer_request.hpp"
#include "frontend/message.hpp"
#include "frontend/out_queue.hpp"
#include "scheduler/run.hpp"
#include "shared_memory/regions.hpp"

namespace engine::frontend {

/// What the front end's thread copies of one tensor, at most: others wait for it. Python does more.
constexpr std::size_t most_copied = 16U << 20;

/// An output that a request wants, by its place among the model's; where, if in shared memory.
struct Delivery {
  std::size_t place = 0;
  std::string region = {};
  std::uint64_t offset = 0, bytes = 0;
  bool as_bytes = true;  ///< else within REST's document
};

/// An output that cannot be delivered as it is wanted.
class DeliveryError : public std::runtime_error {
 public:
  DeliveryError(Status status, const std::string& what)
      : std::runtime_error(what), status_(status) {}
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// The values of a request for that model, in its order; tensors lie over the message where they
/// are aligned. False where something does not fit, or one in shared memory is larger than a
/// message may be, `most_bytes`: Python says what. Throws what reading a region does.
[[nodiscard]] bool collect(const InferRequest& request, const Message& message,
                           const FrontModel& model, const Regions& regions, std::size_t most_bytes,
                           std::vector<ValuePtr>& values);

/// Which outputs a request wants, in its order; nothing where one is unknown or named twice.
/// Throws RegionError where one is to go where no region is.
[[nodiscard]] std::optional<std::vector<Delivery>> wanted_outputs(const InferRequest& request,
                                                                  const FrontModel& model,
                                                                  const Regions& regions);

/// When a query is due, by its call's deadline and its own timeout; 0: never.
[[nodiscard]] std::int64_t due_ns_of(const Call& call, const InferRequest& request) noexcept;

/// What the core takes for the protocol's priority (engine/serving/model_executor.py).
[[nodiscard]] std::optional<int> priority_of(std::int64_t level) noexcept;

/// A ModelInferResponse, behind gRPC's prefix. `in_stream`: within a ModelStreamInferResponse.
/// Tensors are sent from where they are, or put into shared memory. Throws DeliveryError.
[[nodiscard]] std::vector<OutPart> answer_parts(const FrontModel& model, const std::string& id,
                                                const std::vector<Delivery>& wanted,
                                                const std::vector<ValuePtr>& outputs,
                                                const Regions& regions, bool in_stream);

/// The same of a ModelInferResponse that another process has written; kept by its owner, if it has
/// one, else copied. Throws DeliveryError.
[[nodiscard]] std::vector<OutPart> forwarded_parts(Bytes response,
                                                   const std::shared_ptr<const void>& owner,
                                                   bool in_stream);

/// Writes an output into shared memory. Throws DeliveryError.
void put_away(const Delivery& delivery, const Port& port, Bytes content, const Regions& regions);

/// Bytes of a tensor as they are sent.
[[nodiscard]] OutPart raw_part(const ValuePtr& value);

/// gRPC's prefix of a message of that length.
void put_prefix(std::string& to, std::size_t bytes);

}  // namespace engine::frontend
