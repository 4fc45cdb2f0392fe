#include "frontend/asked_query.hpp"

#include <cstring>
#include <string_view>
#include <utility>

#include "ort/types.hpp"
#include "ort/value.hpp"

namespace engine::frontend {

namespace {

TensorView view_of(const Port& port, const ValuePtr& value, const OutPart& content) {
  return {port.name, port.datatype, static_cast<const ort::OnnxValue&>(*value).shape(),
          content.bytes()};
}

/// As raw_part() has put them behind each other.
std::vector<std::string_view> texts_of(Bytes content) {
  std::vector<std::string_view> texts;
  while (!content.empty()) {
    std::uint32_t length = 0;
    std::memcpy(&length, content.data(), sizeof length);
    texts.push_back(text_of(content.subspan(sizeof length, length)));
    content = content.subspan(sizeof length + length);
  }
  return texts;
}

void let_go_of_answer(void* held) { delete static_cast<KeptAnswerPtr*>(held); }

ValuePtr value_of(const KeptTensor& tensor, const Port& port, const KeptAnswerPtr& kept) {
  if (port.elem_type == ort::kString)
    return ort::make_strings(texts_of(tensor.content), tensor.shape);
  ort::Owner owner(new KeptAnswerPtr(kept), let_go_of_answer);
  auto* const data = const_cast<std::byte*>(tensor.content.data());  // outputs are only read
  return ort::wrap_tensor(data, tensor.content.size(), port.elem_type, tensor.shape,
                          std::move(owner));
}

}  // namespace

AskedQuery::AskedQuery(const FrontModel& model, const std::vector<ValuePtr>& inputs,
                       const std::vector<Delivery>& wanted) {
  contents.reserve(inputs.size());  // which stay where they are
  std::vector<TensorView> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    tensors.push_back(
        view_of(model.inputs[i], inputs[i], contents.emplace_back(raw_part(inputs[i]))));
  std::vector<std::string_view> names;
  for (const Delivery& delivery : wanted) names.push_back(model.outputs[delivery.place].name);
  key = key_of(model.load, std::move(tensors), std::move(names));
}

void keep_answer(AnswerCache& cache, const AskedQuery& query, const FrontModel& model,
                 const std::vector<Delivery>& wanted, const std::vector<ValuePtr>& outputs) {
  std::vector<OutPart> contents;
  contents.reserve(wanted.size());  // which stay where they are
  std::vector<TensorView> answer;
  for (const Delivery& delivery : wanted) {
    const ValuePtr& value = outputs[delivery.place];
    const OutPart& content = contents.emplace_back(raw_part(value));
    answer.push_back(view_of(model.outputs[delivery.place], value, content));
  }
  cache.keep(query.key, answer);
}

std::vector<ValuePtr> kept_outputs(const FrontModel& model, KeptAnswerPtr kept) {
  std::vector<ValuePtr> outputs(model.outputs.size());
  for (const KeptTensor& tensor : *kept)
    if (const auto place = FrontModel::find(model.outputs, tensor.name))
      outputs[*place] = value_of(tensor, model.outputs[*place], kept);
  return outputs;
}

}  // namespace engine::frontend
