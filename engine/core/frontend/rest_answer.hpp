// REST's answer to a query: a document, and behind it the tensors that are wanted as bytes.
#pragma once

#include <string>
#include <vector>

#include "frontend/infer_query.hpp"

namespace engine::frontend {

/// Whether values of that type are written into documents here.
[[nodiscard]] bool is_written(const Port& port) noexcept;

/// A body, and the lines of its head that tell what it is.
struct RestAnswer {
  std::vector<OutPart> parts;
  std::string fields;
};

/// To the byte what engine/serving/http_infer.py writes. Tensors are sent from where they are, or
/// put into shared memory. Throws DeliveryError.
[[nodiscard]] RestAnswer rest_answer(const FrontModel& model, const std::string& id,
                                     const std::vector<Delivery>& wanted,
                                     const std::vector<ValuePtr>& outputs, const Regions& regions);

}  // namespace engine::frontend
