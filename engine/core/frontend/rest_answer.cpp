#include "frontend/rest_answer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "files/json_numbers.hpp"
#include "frontend/rest.hpp"
#include "ort/types.hpp"
#include "ort/value.hpp"

namespace engine::frontend {

namespace {

constexpr std::size_t small_bytes = 1024;

/// The elements as numbers of `Wide`, as JSON.
template <typename Element, typename Wide>
std::string joined(const ort::OnnxValue& tensor) {
  const auto* const elements = static_cast<const Element*>(tensor.data());
  const std::vector<Wide> numbers(elements, elements + tensor.bytes() / sizeof(Element));
  return json_of(std::span<const Wide>(numbers));
}

template <typename Element>
std::string reals(const Port& port, const ort::OnnxValue& tensor) {
  const auto* const elements = static_cast<const Element*>(tensor.data());
  if (!std::all_of(elements, elements + tensor.bytes() / sizeof(Element),
                   [](Element element) { return std::isfinite(element); }))
    throw DeliveryError(Status::invalid_argument, "output '" + port.name +
                                                      "': JSON has no infinity or NaN, ask for "
                                                      "binary_data");
  return joined<Element, double>(tensor);
}

std::string bools(const ort::OnnxValue& tensor) {
  const auto* const elements = static_cast<const bool*>(tensor.data());
  std::string text = "[";
  for (std::size_t i = 0; i < tensor.bytes(); ++i) {
    if (i > 0) text += ',';
    text += elements[i] ? "true" : "false";
  }
  return text += ']';
}

std::string texts(const Port& port, const ort::OnnxValue& tensor) {
  std::string text = "[";
  tensor.for_each_string([&](std::string_view one) {
    if (!is_utf8(one))
      throw DeliveryError(Status::invalid_argument, "output '" + port.name +
                                                        "': a string is not UTF-8, ask for "
                                                        "binary_data");
    if (text.size() > 1) text += ',';
    put_json_text(text, one);
  });
  return text += ']';
}

std::string values(const Port& port, const ort::OnnxValue& tensor) {
  switch (tensor.elem_type()) {
    case ort::kFloat:
      return reals<float>(port, tensor);
    case ort::kDouble:
      return reals<double>(port, tensor);
    case ort::kInt8:
      return joined<std::int8_t, std::int64_t>(tensor);
    case ort::kInt16:
      return joined<std::int16_t, std::int64_t>(tensor);
    case ort::kInt32:
      return joined<std::int32_t, std::int64_t>(tensor);
    case ort::kInt64:
      return joined<std::int64_t, std::int64_t>(tensor);
    case ort::kUint8:
      return joined<std::uint8_t, std::uint64_t>(tensor);
    case ort::kUint16:
      return joined<std::uint16_t, std::uint64_t>(tensor);
    case ort::kUint32:
      return joined<std::uint32_t, std::uint64_t>(tensor);
    case ort::kUint64:
      return joined<std::uint64_t, std::uint64_t>(tensor);
    case ort::kBool:
      return bools(tensor);
    default:
      return texts(port, tensor);
  }
}

void put_member(std::string& to, std::string_view name, std::string_view text) {
  to += '"';
  to += name;
  to += "\":";
  put_json_text(to, text);
}

}  // namespace

bool is_written(const Port& port) noexcept {
  switch (port.elem_type) {
    case ort::kFloat:
    case ort::kDouble:
    case ort::kInt8:
    case ort::kInt16:
    case ort::kInt32:
    case ort::kInt64:
    case ort::kUint8:
    case ort::kUint16:
    case ort::kUint32:
    case ort::kUint64:
    case ort::kBool:
    case ort::kString:
      return true;
    default:
      return false;
  }
}

RestAnswer rest_answer(const FrontModel& model, const std::string& id,
                       const std::vector<Delivery>& wanted, const std::vector<ValuePtr>& outputs,
                       const Regions& regions) {
  RestAnswer answer;
  std::vector<OutPart> raw;
  std::string head = "{";
  put_member(head, "model_name", model.called->name);
  put_member(head += ',', "model_version", model.called->version);
  if (!id.empty()) put_member(head += ',', "id", id);
  head += ",\"outputs\":[";
  for (const Delivery& delivery : wanted) {
    const Port& port = model.outputs[delivery.place];
    const ValuePtr& value = outputs[delivery.place];
    const auto& tensor = static_cast<const ort::OnnxValue&>(*value);
    if (&delivery != wanted.data()) head += ',';
    put_member(head += '{', "name", port.name);
    put_member(head += ',', "datatype", port.datatype);
    head += ",\"shape\":" + json_of(std::span<const std::int64_t>(tensor.shape()));
    if (!delivery.region.empty()) {
      put_away(delivery, port, raw_part(value).bytes(), regions);
    } else if (delivery.as_bytes) {
      OutPart& part = raw.emplace_back(raw_part(value));
      head += ",\"parameters\":{\"binary_data_size\":" + std::to_string(part.bytes().size()) + '}';
    } else {
      head += ",\"data\":" + values(port, tensor);
    }
    head += '}';
  }
  head += "]}";
  answer.fields = "Content-Type: application/json\r\n";
  if (!raw.empty())
    answer.fields = "Content-Type: application/octet-stream\r\nInference-Header-Content-Length: " +
                    std::to_string(head.size()) + "\r\n";
  answer.parts.emplace_back().own = std::move(head);
  for (OutPart& part : raw) {
    // Small ones beside the document: one piece of an answer costs less than two.
    if (answer.parts.size() == 1 && part.bytes().size() <= small_bytes)
      answer.parts[0].own += text_of(part.bytes());
    else
      answer.parts.push_back(std::move(part));
  }
  return answer;
}

}  // namespace engine::frontend
