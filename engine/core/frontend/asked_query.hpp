// A query of a model whose answers are kept: between tensors and what keeps them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "frontend/answer_cache.hpp"
#include "frontend/answer_key.hpp"
#include "frontend/front_model.hpp"
#include "frontend/infer_query.hpp"
#include "frontend/out_queue.hpp"

namespace engine::frontend {

/// Whether its answer is there is told by its key, which keeps the inputs' memory. Not to be moved:
/// the key has views of it.
struct AskedQuery {
  /// Of inputs and outputs in the model's order.
  AskedQuery(const FrontModel& model, const std::vector<ValuePtr>& inputs,
             const std::vector<Delivery>& wanted);
  AskedQuery(const AskedQuery&) = delete;
  AskedQuery& operator=(const AskedQuery&) = delete;

  std::vector<OutPart> contents;
  AnswerKey key;
  std::int64_t looked_ns = 0;  ///< how long that took
};

/// Keeps the outputs that are wanted, of all that the model has.
void keep_answer(AnswerCache& cache, const AskedQuery& query, const FrontModel& model,
                 const std::vector<Delivery>& wanted, const std::vector<ValuePtr>& outputs);

/// What was kept as outputs of the model, those null that are not wanted. Numbers lie over what is
/// kept.
[[nodiscard]] std::vector<ValuePtr> kept_outputs(const FrontModel& model, KeptAnswerPtr kept);

}  // namespace engine::frontend
