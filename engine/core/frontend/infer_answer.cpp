// What is sent of a query that was answered.
#include <cstring>
#include <limits>

#include "frontend/infer_query.hpp"
#include "ort/types.hpp"
#include "ort/value.hpp"

namespace engine::frontend {

namespace {

/// Fields of ModelInferResponse, and its own in what a stream sends.
namespace of_response {
constexpr std::uint32_t model = 1, version = 2, id = 3, parameters = 4, outputs = 5, raw = 6;
constexpr std::uint32_t in_stream = 2;
}  // namespace of_response

constexpr std::size_t largest_message = std::numeric_limits<std::int32_t>::max();

void put_packed_shape(std::string& to, const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return;
  std::string packed;
  for (const std::int64_t size : shape) put_varint(packed, static_cast<std::uint64_t>(size));
  put_text(to, 3, packed);
}

/// The parameter by which Triton says in a stream that a query has no further answer.
void put_final(std::string& to) {
  constexpr std::string_view is_true("\x08\x01", 2);
  std::string entry;
  put_text(entry, 1, "triton_final_response");
  put_text(entry, 2, is_true);
  put_text(to, of_response::parameters, entry);
}

Status status_of(RegionFault fault) noexcept {
  switch (fault) {
    case RegionFault::unknown:
      return Status::not_found;
    case RegionFault::invalid:
    case RegionFault::shrunk:
      return Status::invalid_argument;
    default:
      return Status::internal;
  }
}

void check_size(std::size_t bytes) {
  if (bytes <= largest_message) return;
  throw DeliveryError(Status::internal,
                      "the answer of " + std::to_string(bytes) + " bytes is more than gRPC sends");
}

}  // namespace

void put_away(const Delivery& delivery, const Port& port, Bytes content, const Regions& regions) {
  if (content.size() > delivery.bytes)
    throw DeliveryError(Status::internal,
                        "shared memory size specified with the request for output '" + port.name +
                            "' (" + std::to_string(delivery.bytes) + " bytes) should be at least " +
                            std::to_string(content.size()) + " bytes to hold the results");
  if (content.empty()) return;
  try {
    regions.write(delivery.region, delivery.offset, content.data(), content.size());
  } catch (const RegionError& error) {
    throw DeliveryError(status_of(error.fault()), error.what());
  }
}

OutPart raw_part(const ValuePtr& value) {
  const auto& tensor = static_cast<const ort::OnnxValue&>(*value);
  OutPart part;
  if (tensor.elem_type() == ort::kString) {
    tensor.for_each_string([&](std::string_view text) {
      const auto length = static_cast<std::uint32_t>(text.size());
      part.own.append(reinterpret_cast<const char*>(&length), sizeof length);
      part.own.append(text);
    });
    return part;
  }
  part.foreign = {static_cast<const std::byte*>(tensor.data()), tensor.bytes()};
  part.owner = value;
  return part;
}

std::vector<OutPart> forwarded_parts(Bytes response, const std::shared_ptr<const void>& owner,
                                     bool in_stream) {
  std::string final, wrapper;
  if (in_stream) {
    put_final(final);
    put_length(wrapper, of_response::in_stream, response.size() + final.size());
  }
  const std::size_t bytes = wrapper.size() + response.size() + final.size();
  check_size(bytes);
  std::vector<OutPart> parts(1);
  put_prefix(parts[0].own, bytes);
  parts[0].own += wrapper;
  if (owner == nullptr)
    parts[0].own.append(text_of(response));
  else
    parts.push_back({.own = {}, .foreign = response, .owner = owner});
  if (!final.empty()) parts.push_back({.own = std::move(final), .foreign = {}, .owner = {}});
  return parts;
}

void put_prefix(std::string& to, std::size_t bytes) {
  to.push_back('\0');
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<char>(bytes >> shift));
}

std::vector<OutPart> answer_parts(const FrontModel& model, const std::string& id,
                                  const std::vector<Delivery>& wanted,
                                  const std::vector<ValuePtr>& outputs, const Regions& regions,
                                  bool in_stream) {
  std::string head;
  put_text(head, of_response::model, model.called->name);
  put_text(head, of_response::version, model.called->version);
  put_text(head, of_response::id, id);
  if (in_stream) put_final(head);
  std::vector<OutPart> raw;
  std::size_t bytes = 0;
  for (const Delivery& delivery : wanted) {
    const std::size_t place = delivery.place;
    const Port& port = model.outputs[place];
    std::string tensor;
    put_text(tensor, 1, port.name);
    put_text(tensor, 2, port.datatype);
    put_packed_shape(tensor, static_cast<const ort::OnnxValue&>(*outputs[place]).shape());
    put_length(head, of_response::outputs, tensor.size());
    head += tensor;
    OutPart& part = raw.emplace_back(raw_part(outputs[place]));
    if (!delivery.region.empty()) {
      put_away(delivery, port, part.bytes(), regions);
      part = {};  // each output has raw contents, so that clients find theirs by its number
    }
    std::string length;
    put_length(length, of_response::raw, part.bytes().size());
    bytes += length.size() + part.bytes().size();
  }
  bytes += head.size();
  std::string wrapper;
  if (in_stream) put_length(wrapper, of_response::in_stream, bytes);
  check_size(bytes + wrapper.size());
  std::vector<OutPart> parts(1);
  put_prefix(parts[0].own, bytes + wrapper.size());
  parts[0].own += wrapper + head;
  for (OutPart& part : raw) {
    std::string* own = &parts.back().own;
    if (parts.back().owner != nullptr) own = &parts.emplace_back().own;
    put_length(*own, of_response::raw, part.bytes().size());
    // Small ones beside their lengths: one piece of an answer costs less than two.
    if (part.bytes().size() <= 1024)
      own->append(text_of(part.bytes()));
    else
      parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace engine::frontend
